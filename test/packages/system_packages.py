"""Sees on any Debian machine what a bare one would lack: what the build reads and what tests call has to come from the packages
that scripts/install-deps.sh installs, from those that they depend on (recommended ones are not installed), or from the ones that
every Debian has.

usage: system_packages.py files ROOT BUILD [--besides FOLDER] [--without PACKAGE]
           every file of the system that BUILD read, links or runs, from ninja's log and rules; prints those that no such package
           has, and that are not in the folder of --besides, and exits 1
       system_packages.py programs ROOT FOLDER [--without PACKAGE]
           makes FOLDER, with links to the programs of these packages and nothing else: a PATH to run tests with
--without leaves a package out of the list. Exits 3 with one line where it cannot tell: no dpkg, or packages of the list are not
installed.
"""
import argparse
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys

DPKG = "/var/lib/dpkg"
# The first that has a program wins.
PROGRAM_FOLDERS = ("/usr/lib/llvm-22/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


class CannotTell(Exception):
    pass


def installed_packages():
    """name -> its fields, of every installed package; a virtual package's name -> the fields of all that provide it."""
    packages, providers = {}, {}
    for paragraph in open(f"{DPKG}/status", encoding="utf-8").read().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): *(.*)", paragraph, re.M))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        packages.setdefault(fields["Package"], fields)
        for name in names_in(fields.get("Provides", "")):
            providers.setdefault(name[0], []).append(fields["Package"])
    return packages, providers


def names_in(relation):
    """[[alternative names]...] of a field such as `a (>= 1), b | c:any`."""
    return [[re.split(r"[\s(:\[]", a.strip(), maxsplit=1)[0] for a in part.split("|")] for part in relation.split(",") if part.strip()]


def closure(wanted, packages, providers):
    """All packages that apt installs for `wanted` on a bare Debian, without recommended ones."""
    bare = [p for p, f in packages.items() if f.get("Essential") == "yes" or f.get("Priority") == "required"]
    found, work = set(), [*wanted, *bare, "apt"]
    while work:
        name = work.pop()
        if name in found or name not in packages:
            continue
        found.add(name)
        for field in ("Depends", "Pre-Depends"):
            for alternatives in names_in(packages[name].get(field, "")):
                real = [r for a in alternatives for r in ([a] if a in packages else providers.get(a, []))]
                work += real[:1]
    return found


def files_of(names, packages):
    files = set()
    for name in names:
        for list_name in (name, f"{name}:{packages[name]['Architecture']}"):
            path = f"{DPKG}/info/{list_name}.list"
            if os.path.exists(path):
                files.update(open(path, encoding="utf-8").read().splitlines())
    return files


def spellings(path):
    """The names that a package may know a file by: /lib is /usr/lib, and links lead on."""
    folder, name = os.path.split(path)
    for spelling in (path, os.path.join(os.path.realpath(folder), name), os.path.realpath(path)):
        yield spelling
        yield spelling.removeprefix("/usr") if spelling.startswith("/usr/") else "/usr" + spelling


class System:
    def __init__(self, root, without):
        if not os.path.exists(f"{DPKG}/status"):
            raise CannotTell("no dpkg here")
        listed = subprocess.run([f"{root}/scripts/install-deps.sh", "--list"], capture_output=True, text=True, check=True).stdout.split()
        self.packages, providers = installed_packages()
        if missing := [p for p in listed if p not in self.packages]:
            raise CannotTell(f"scripts/install-deps.sh would install {' '.join(missing)}")
        self.closure = closure([p for p in listed if p != without], self.packages, providers)
        self.files = files_of(self.closure, self.packages)

    def has(self, path):
        return any(s in self.files for s in spellings(path))

    @functools.cached_property
    def other_owners(self):
        return {file: name for name in self.packages if name not in self.closure for file in files_of([name], self.packages)}

    def verdict(self, *paths):
        owner = next((self.other_owners[s] for path in paths for s in spellings(path) if s in self.other_owners), None)
        return f"scripts/install-deps.sh does not install {owner}" if owner else "it belongs to no Debian package"

    @functools.cached_property
    def programs(self):
        """name -> path of each program of the closure."""
        found = {}
        for folder in PROGRAM_FOLDERS:
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                path = f"{folder}/{name}"
                candidates = [path, *(alternatives(name) if os.path.islink(path) else ())]
                program = next((c for c in candidates if self.has(c) and os.access(c, os.X_OK)), None)
                if program:
                    found.setdefault(name, program)
        return found


def programs_run(rules):
    """The programs that commands in ninja's rules name without a folder, and the linker that -fuse-ld= names."""
    for command in re.findall(r"^ *command = (.*)", rules, re.M | re.I):
        for part in command.split("&&"):
            words = part.split()
            while words and (words[0] == "env" or "=" in words[0]):
                words.pop(0)
            if words and re.fullmatch(r"[\w.+-]+", words[0]) and words[0] != "cd":
                yield words[0]
    for linker in re.findall(r"-fuse-ld=(\S+)", rules):
        yield f"ld.{linker}"


def files_used(root, build, rules):
    """The files outside of the project that ninja's dependency log and its rules name."""
    log = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    paths = {line.strip() for line in log.splitlines() if line.startswith(" ")}
    if not paths:
        raise CannotTell(f"nothing is built in {build}")
    paths.update(re.findall(r"(?<![^\s=\"])/[^\s:;,|\"'$&]+", rules))
    paths = {os.path.normpath(p) for p in paths if os.path.isabs(p) and os.path.isfile(p)}
    own = (os.path.realpath(root) + "/", os.path.realpath(build) + "/")
    return sorted(p for p in paths if not os.path.realpath(p).startswith(own))


def check_files(system, arguments):
    rules = "".join(open(f"{arguments.folder}/{name}", encoding="utf-8").read() for name in ("build.ninja", "CMakeFiles/rules.ninja"))
    besides = os.path.realpath(arguments.besides) + "/" if arguments.besides else None
    paths = files_used(arguments.root, arguments.folder, rules)
    missing = [p for p in paths if not system.has(p) and not (besides and os.path.realpath(p).startswith(besides))]
    for path in missing:
        print(f"{path}: the build uses it, but {system.verdict(path)}")
    absent = sorted(set(programs_run(rules)) - system.programs.keys())
    for name in absent:
        print(f"{name}: the build runs it, but {system.verdict(*(f'{folder}/{name}' for folder in PROGRAM_FOLDERS))}")
    print(f"{len(paths)} files of the system, {len(system.closure)} packages")
    return 1 if missing or absent else 0


def alternatives(name):
    """The programs that update-alternatives knows for a name."""
    try:
        return [line for line in open(f"{DPKG}/alternatives/{name}", encoding="utf-8").read().splitlines()[2:] if os.path.isfile(line)]
    except OSError:
        return []


def link_programs(system, arguments):
    with open(f"{arguments.folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be at it
        made = {e.name: os.readlink(e) for e in os.scandir(arguments.folder)} if os.path.isdir(arguments.folder) else {}
        if made == system.programs:
            return 0  # tests may be running with it
        shutil.rmtree(arguments.folder, ignore_errors=True)
        os.makedirs(arguments.folder)
        for name, program in system.programs.items():
            os.symlink(program, f"{arguments.folder}/{name}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("files", "programs"))
    parser.add_argument("root")
    parser.add_argument("folder")
    parser.add_argument("--besides")
    parser.add_argument("--without")
    arguments = parser.parse_args()
    try:
        system = System(arguments.root, arguments.without)
        return (check_files if arguments.what == "files" else link_programs)(system, arguments)
    except CannotTell as reason:
        print(reason)
        return 3


if __name__ == "__main__":
    sys.exit(main())
