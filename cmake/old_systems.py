#!/usr/bin/env python3
"""Makes shared libraries to link against in place of this system's: they have the names of its C library and of libstdc++, and of
their symbols the versions that an older system knows, too. What is linked with them runs there, and a function that an older system
lacks is an error of the linker.

usage: old_systems.py COMPILER OBJDUMP FLAGS OUT
    FLAGS are the compiler's, for linking. Into OUT go libc.ld and libstdc++.ld, for the linker's command line. What the older
    libstdc++ lacks comes out of libstdc++.a, what libgcc_s lacks out of libgcc.a.
"""
import collections
import os
import re
import shlex
import subprocess
import sys

# Debian 11 has glibc 2.31 and the libstdc++ of GCC 10; glibc 2.28 and GCC 8 are those of RHEL 8, and what wheels are built for.
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
# What has moved to libc in this version was elsewhere before; what is in none of these libraries is left out.
MERGED = "GLIBC_2.34"
BEFORE = {r"(__)?pthread_|sem_": "libpthread.so.0", r"dl": "libdl.so.2", r"shm_": "librt.so.1", r"__libc_start_main$": "libc.so.6"}

Symbol = collections.namedtuple("Symbol", "address kind size name version")


def number(version):
    return tuple(int(part) for part in version.partition("_")[2].split("."))


def symbols_of(objdump, library):
    """What a library defines, in all versions."""
    text = subprocess.run([objdump, "-T", library], check=True, capture_output=True, text=True).stdout
    pattern = r"^([0-9a-f]+) .....D(.) (\S+)\t([0-9a-f]+) +\(?([A-Z]+_[0-9.]+)\)? +(\S+)$"
    for address, kind, section, size, version, name in re.findall(pattern, text, re.M):
        if section not in ("*UND*", "*ABS*"):
            kind = "tls_object" if section in (".tbss", ".tdata") else "object" if kind == "O" else "function"
            yield Symbol(int(address, 16), kind, int(size, 16), name, version)


def choose(library, symbols):
    """library's name -> the newest allowed version of each symbol."""
    chosen, merged = {}, set()
    for symbol in symbols:
        if symbol.version == MERGED:
            merged.add(symbol.name)
        limit = LIMITS.get(symbol.version.partition("_")[0])
        if limit and number(symbol.version) <= limit:
            known = chosen.get(symbol.name)
            if not known or number(known.version) < number(symbol.version):
                chosen[symbol.name] = symbol
    homes = collections.defaultdict(list)
    for symbol in chosen.values():
        home = library
        if symbol.name in merged:
            home = next((where for prefix, where in BEFORE.items() if re.match(prefix, symbol.name)), None)
        homes[home].append(symbol)
    homes.pop(None, None)
    return homes


def assembly(symbols):
    """Data has the size and the other names that it has in the system's library, for a program that gets a copy of it."""
    sections = {"function": ".text", "object": ".data", "tls_object": '.section .tbss,"awT",@nobits'}
    lines, places = ['.section .note.GNU-stack,"",@progbits'], collections.defaultdict(list)
    for symbol in symbols:
        place = symbol.name if symbol.kind == "function" else symbol.address
        places[symbol.kind, place].append(symbol)
    for (kind, _), names in places.items():
        lines += [sections[kind], ".balign 16"]
        for symbol in names:
            lines += [f".globl {symbol.name}", f".type {symbol.name},@{kind}", f".size {symbol.name},{symbol.size}", f"{symbol.name}:"]
        lines.append(f".zero {max(16, *(symbol.size for symbol in names))}" if kind != "function" else ".byte 0")
    return "\n".join(lines) + "\n"


def version_script(symbols):
    versions = collections.defaultdict(list)
    for symbol in symbols:
        versions[symbol.version].append(symbol.name)
    return "".join(f"{version} {{ {' '.join(name + ';' for name in sorted(names))} }};\n" for version, names in sorted(versions.items()))


def main():
    compiler, objdump, flags, out = sys.argv[1:]
    find = lambda name: subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    os.makedirs(out, exist_ok=True)
    for library in ("libc.so.6", "libm.so.6", "libstdc++.so.6"):
        for name, symbols in choose(library, symbols_of(objdump, find(library))).items():
            with open(f"{out}/{name}.s", "w") as file:
                file.write(assembly(symbols))
            with open(f"{out}/{name}.map", "w") as file:
                file.write(version_script(symbols))
            subprocess.run([compiler, "-shared", "-nostdlib", *shlex.split(flags), f"-Wl,-soname,{name}",
                            f"-Wl,--version-script={out}/{name}.map", f"{out}/{name}.s", "-o", f"{out}/{name}"], check=True)
    # An older libstdc++ starts no threads where nothing has brought libpthread.
    with open(f"{out}/libc.ld", "w") as file:
        file.write(f"INPUT({out}/libc.so.6 {out}/libpthread.so.0 AS_NEEDED({out}/libm.so.6 {out}/libdl.so.2 {out}/librt.so.1) "
                   f"{find('libgcc.a')})\n")
    with open(f"{out}/libstdc++.ld", "w") as file:
        file.write(f"INPUT({out}/libstdc++.so.6 {find('libstdc++.a')})\n")


if __name__ == "__main__":
    main()
