"""Runs `dlc-run launch` with a program in mpirun's place that says whose it is and prints its arguments, and prints these as one line, or
what launch says instead. The ranks' program is called dlc-run.

usage: mpirun_line.py FOLDER WHOSE FLAGS...
    FOLDER   for the programs
    WHOSE    openmpi4, openmpi5, mpich, intel, other or none, in mpirun's place; mpich+openrte4: both, as Debian has them
"""
import os
import re
import shlex
import subprocess
import sys

VERSIONS = {
    "openmpi4": "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "openrte4": "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "openmpi5": "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n",
    "mpich": "HYDRA build details:\n    Version:                                 4.0.2\n    CC:                              gcc\n",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e19c2f3e)\n",
    "other": "mpirun 1.0 of another MPI\n",
}


def write(path, version):
    with open(path, "w") as file:
        file.write(f"#!/bin/bash\nif [[ $1 == --version ]]; then printf %s {shlex.quote(version)}; else printf '%s\\n' \"$@\"; fi\n")
    os.chmod(path, 0o755)


def main():
    folder, whose, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    for name in ("mpirun", "mpirun.openmpi"):
        if os.path.exists(f"{folder}/{name}"):
            os.remove(f"{folder}/{name}")
    first, _, second = whose.partition("+")
    if first != "none":
        write(f"{folder}/mpirun", VERSIONS[first])
    if second:
        write(f"{folder}/mpirun.openmpi", VERSIONS[second])
    # Nothing but these, the shell and dlc-run: other machines have an mpirun.openmpi of their own.
    for program in ("sh", "bash", "dlc-run"):
        link = f"{folder}/{program}"
        if not os.path.lexists(link):
            os.symlink(subprocess.check_output(["which", program], text=True).strip(), link)
    done = subprocess.run(["dlc-run", "launch", *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "PATH": folder})
    words = [word if not word.endswith("/dlc-run") else "dlc-run" for word in done.stdout.splitlines()]
    # That depends on who runs the test, on the words that are the same each time.
    line = " ".join(shlex.quote(word) if done.returncode == 0 else word for word in words if word != "--allow-run-as-root")
    print(re.sub(r" (--mca|--prtemca) odls_base_sigkill_timeout 2", r" \1...", line))
    sys.exit(done.returncode)


main()
