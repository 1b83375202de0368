"""Checks that every include respects the borders between the parts of dlc, that files are written by one piece of code, and that scripts can be run.

usage: check_borders.py ROOT      prints one line a violation, exits 1 if there is one
"""
import os
import re
import sys

COMPILER_LIBRARIES = ("mlir/", "llvm/", "llvm-c/", "lld/", "clang/")
CUDA = ("cuda", "cudnn", "cublas", "nccl", "nvrtc", "nvJitLink")
MPI = ("mpi.h", "mpi-ext.h")
LMDB = ("lmdb.h",)
HDF5 = ("hdf5.h", "H5FDdevelop.h")
PICTURES = ("jpeglib.h", "jerror.h", "png.h", "webp/")

# All files are read in one way, and written in one, and NVIDIA's libraries are looked for in one way.
CODEGEN = ("dialects", "passes", "runtime/include/dlc/abi.h", "runtime/include/dlc/status.h", "runtime/include/dlc/version.h",
           "runtime/Core/File.h", "runtime/Core/FileWriter.h", "runtime/Core/Json.h", "runtime/Core/NearestName.h",
           "runtime/Core/Processors.h", "runtime/Device/CUDA/Toolkit.h")

# part -> folders of the project that it may include from (itself always); None: anything.
MAY_INCLUDE = {
    "dialects/Program": (),
    "dialects/DL": ("dialects/Program",),
    "dialects/Exec": ("dialects/Program",),
    # All files are read in one way and called by one kind of names; near names are found in one way.
    "frontend": ("dialects/DL", "dialects/Program", "runtime/include/dlc/status.h", "runtime/Core/File.h", "runtime/Core/FileKind.h",
                 "runtime/Core/NearestName.h", "runtime/Data/ArrayFile.h"),
    "passes/DL": ("dialects/DL", "dialects/Program", "passes"),
    "passes/Exec": ("dialects/Exec", "dialects/Program", "passes"),
    "passes": ("dialects", "passes"),
    # What a kernel is knows no target, and what chooses and compiles it knows them as one interface.
    "codegen/Machine": CODEGEN,
    "codegen/Kernel": CODEGEN,
    "codegen/Compile": (*CODEGEN, "codegen/Kernel"),
    "codegen/CPU": (*CODEGEN, "codegen/Kernel", "codegen/Compile", "codegen/Machine"),
    "codegen/CUDA": (*CODEGEN, "codegen/Kernel", "codegen/Compile", "codegen/Machine"),
    # What is native in a module beside kernels is some processor's.
    "codegen/Plan": (*CODEGEN, "codegen/Kernel", "codegen/Compile", "codegen/Targets.h", "codegen/CPU/Architecture.h"),
    "codegen/Tune": (*CODEGEN, "codegen/Kernel", "codegen/Compile", "codegen/Plan"),
    "codegen": (*CODEGEN, "codegen"),
    "runtime": ("runtime",),
    "examples": ("runtime/include/dlc",),
    "python": ("runtime/include/dlc",),
    "tools": None,
    "test": None,
    "bench": None,
}
OURS = ("dialects/", "frontend/", "passes/", "codegen/", "runtime/", "tools/", "test/", "bench/", "examples/", "python/")
SOURCE = re.compile(r"\.(h|hpp|cpp|c|cu|cuh)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def part_of(path):
    return max((p for p in MAY_INCLUDE if path.startswith(p + "/")), key=len, default=None)


def allowed(part, path, include):
    if include.startswith("dlc/"):  # installed headers, found through runtime/include
        include = "runtime/include/" + include
    name = os.path.basename(include)
    if include.startswith(COMPILER_LIBRARIES):
        return part not in ("runtime", "examples", "python")
    if name.startswith(CUDA) and not include.startswith(OURS):
        return path.startswith(("runtime/Device/CUDA/", "codegen/CUDA/")) or part in ("bench", "test")
    if name in MPI:
        return path.startswith("runtime/Collectives/") or part in ("bench", "test")
    if include in LMDB:
        return path.startswith("runtime/Data/Lmdb/") or part in ("bench", "test")
    if include in HDF5:
        return path.startswith("runtime/Data/Hdf5/") or part in ("bench", "test")
    if include.startswith(PICTURES):
        return path.startswith("runtime/Data/Pictures/") or part in ("bench", "test")
    if not include.startswith(OURS) or MAY_INCLUDE[part] is None:
        return True
    return any(include == p or include.startswith(p + "/") for p in (part, *MAY_INCLUDE[part]))


# Files are written by FileWriter.cpp alone; the others open /dev/null.
WRITER = re.compile(r"\b(raw_fd_ostream|ofstream|fopen|TempFile|writeToOutput|ToolOutputFile|openOutputFile|openFileForWrite|"
                    r"createUnique\w+|mkd?o?s?temps?|O_CREAT|O_WRONLY|O_RDWR)\b|[\s:](creat|rename)\(")
MAY_WRITE = ("runtime/Core/FileWriter.cpp", "tools/CommandLine/StandardStreams.cpp", "tools/dlc-run/Hosts.cpp")


def writes_files(part, path, line):
    return part not in ("test", "bench") and path not in MAY_WRITE and not line.lstrip().startswith("//") and WRITER.search(line)


def is_script(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def has_main_or_flags(part, line):
    return part in ("dialects", "frontend", "passes", "codegen", "runtime") and re.match(r"^(int main\(|.*\bcl::opt<)", line)


def main():
    root, bad = sys.argv[1], 0
    for folder, folders, files in os.walk(root):
        folders[:] = [d for d in folders if d not in (".git", "build", ".cache")]
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), root)
            if is_script(os.path.join(root, path)) and not os.access(os.path.join(root, path), os.X_OK):
                print(f"{path}:1: a file that begins with #! must be executable")
                bad += 1
            part = part_of(path)
            if part is None or not SOURCE.search(file):
                continue
            for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
                match = INCLUDE.match(line)
                if match and not allowed(part, path, match.group(1)):
                    print(f"{path}:{number}: {part} may not include {match.group(1)}")
                    bad += 1
                elif has_main_or_flags(part.split("/")[0], line):
                    print(f"{path}:{number}: main() and flags belong in tools/")
                    bad += 1
                if writes_files(part, path, line):
                    print(f"{path}:{number}: files are written by runtime/Core/FileWriter.h")
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
