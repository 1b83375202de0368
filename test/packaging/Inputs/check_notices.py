"""Compares the notices that a package of dlc has with what is in its objects, by symbols that they define, and prints for each package
the parts that it names. Exits 1 where one is missing, or is not in them, or has no text.

usage: check_notices.py ROOT BUILD
    ROOT is where all packages were unpacked, BUILD has the objects before they were stripped
"""
import os
import re
import subprocess
import sys

# A symbol of each part, and words of its notice.
PARTS = {
    "CLI11": ("_ZN3CLI", "Henry Schreiner"),
    "nlohmann-json": ("8nlohmann", "Niels Lohmann"),
    "xxHash": ("XXH3_", "Yann Collet"),
    "zlib": (" inflateInit2_$", "Jean-loup Gailly"),
    "minizip": (" unzOpen64$", "Gilles Vollant"),
    "libjpeg-turbo": (" jpeg_read_header$", "libjpeg-turbo"),
    "libpng": (" png_read_info$", "libpng"),
    "libwebp": (" WebPDecode$", "Google"),
    "LMDB": (" mdb_env_open$", "OpenLDAP"),
    "HDF5": (" H5Fopen$", "The HDF Group"),
    "libaec": (" aec_decode$", "Rosenhauer"),
    "protozero": ("9protozero", "protozero"),
    "libstdc++": (" _ZSt17__throw_bad_allocv$", "GCC RUNTIME LIBRARY EXCEPTION"),
    "LLD": ("_ZN3lld3elf", "LLVM Exceptions"),
    "cudart": (" cudaGetErrorString$", "NVIDIA"),
}
OBJECTS = {
    "dlc": ["bin/dlc", "bin/make-digits"], "dlc-run": ["bin/dlc-run"], "libdlc0": ["lib/libdlc.so"], "libdlc-dev": ["lib/libdlc.a"],
    "libdlc-images": ["lib/libdlc_images.so"], "libdlc-lmdb": ["lib/libdlc_lmdb.so"],
    "libdlc-hdf5": ["lib/libdlc_hdf5.so"], "libdlc-mpi": ["lib/libdlc_mpi.so"], "libdlc-cuda": ["lib/libdlc_cuda.so"],
}
HEADING = re.compile(r"^(\S+), parts of which are in this package$", re.M)


def main():
    root, build = sys.argv[1:]
    wrong = []
    for package in sorted(os.listdir(f"{root}/usr/share/doc")):
        with open(f"{root}/usr/share/doc/{package}/copyright", encoding="utf-8") as file:
            own, *others = HEADING.split(file.read())
        notices = dict(zip(others[::2], others[1::2]))
        symbols = "".join(subprocess.run(["nm", "--defined-only", f"{build}/{name}"], check=True, capture_output=True, text=True).stdout
                          for name in OBJECTS[package])
        inside = {part for part, (symbol, _) in PARTS.items() if re.search(symbol, symbols, re.M)}
        print(f"{package}: {' '.join(notices)}")
        if "TERMS AND CONDITIONS FOR USE" not in own:
            wrong.append(f"{package} lacks dlc's licence")
        wrong += [f"{package} has {part} in it, and not its notice" for part in inside - notices.keys()]
        wrong += [f"{package} has the notice of {part}, and nothing else of it" for part in notices.keys() - inside]
        wrong += [f"{package}: the notice of {part} is none" for part in notices if part in PARTS and PARTS[part][1] not in notices[part]]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
