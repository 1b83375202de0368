"""Fails unless the build's hashes are those of all sources, and a change of a file's contents or name gives another hash.

usage: check_source_hash.py ROOT BUILD SCRATCH
"""
import pathlib
import subprocess
import sys

root, build, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
script = root / "codegen/HashSources.cmake"


def run(folder, files):
    output = scratch / "hash.inc"
    subprocess.run(["cmake", f"-DOUTPUT={output}", f"-DROOT={folder}", "-DFILES=" + "|".join(map(str, files)), "-P", script],
                   check=True)
    return output.read_text()


scratch.mkdir(parents=True, exist_ok=True)
for target in "CPU", "CUDA":
    folders = ["codegen/Kernel", "codegen/Compile", f"codegen/{target}", "dialects/DL"]
    files = sorted(path for folder in folders for path in (root / folder).rglob("*")
                   if path.suffix in (".cpp", ".h", ".td", ".in", ".cuh"))
    if run(root, [*files, root / "runtime/include/dlc/abi.h"]) != (build / f"codegen/{target}/SourceHash.inc").read_text():
        sys.exit(f"the hash of {target}'s sources is not the build's: is it up to date?")
    print(f"{target}: {len(files)} files")

hashes = set()
one, two = scratch / "one.h", scratch / "two.h"
for path, text in ((one, "a"), (one, "b"), (two, "a")):
    path.write_text(text)
    hashes.add(run(scratch, [path]))
one.write_text("a")
hashes.add(run(scratch, [one, two]))
print("other contents, other name, other file:", len(hashes), "hashes")
