"""Runs commands that are to fail, four at a time: most of their time mpirun gives ranks that have ended already to end.

usage: fail_together.py FOLDER NAME COMMAND ...     what a command writes goes to FOLDER/NAME
Exits 1 with what it wrote if one of them succeeds, is ended by a signal or cannot be started.
"""
import concurrent.futures
import os
import shlex
import subprocess
import sys


def run(folder, name, command):
    with open(f"{folder}/{name}", "w") as file:
        code = subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode
    if not 0 < code < 126:
        print(f"{name}: exit code {code}: {command}\n{open(f'{folder}/{name}').read()}", file=sys.stderr)
    return 0 < code < 126


def main():
    folder, names, commands = sys.argv[1], sys.argv[2::2], sys.argv[3::2]
    assert len(names) == len(set(names)) == len(commands) > 0, names
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        sys.exit(not all(list(pool.map(run, [folder] * len(names), names, commands))))


if __name__ == "__main__":
    main()
