"""Runs a program again and again, each time with another of its allocations failing.

usage: fail_allocations.py [--stride N] [--report FILE] [--paths] LIBRARY COMMAND...

Each run must end with exit code 1 and one line on standard error that begins with "error: ", or make
do without the memory: exit code 0 and nothing there. A signal, a second line or ten seconds without
an end is wrong. With --stride every N-th allocation fails, else each of them. With --paths the
program is run once, and each of its call paths that allocates fails in a child forked there.
"""
import argparse
import os
import subprocess
import sys
import tempfile


def run(arguments, report, **settings):
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(arguments.library), FAIL_REPORT=report,
                       **{name: str(value) for name, value in settings.items()})
    return subprocess.run(arguments.command, env=environment, capture_output=True, timeout=settings and 10800 if
                          "FAIL_PATHS" in settings else 10, errors="replace", text=True)


def complain(number, ended):
    print(f"allocation {number}: exit {ended.returncode}: {ended.stderr[:2000]}")


def fail_each(arguments, report, count):
    failed = ends = wrong = 0
    for number in range(1 + (arguments.stride - 1) // 2, count + 1, arguments.stride):
        failed += 1
        try:
            ended = run(arguments, report, FAIL_ALLOCATION=number)
        except subprocess.TimeoutExpired:
            print(f"allocation {number}: no end")
            wrong += 1
            continue
        one_line = ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1 and ended.stderr.endswith("\n")
        if ended.returncode == 1 and one_line:
            ends += 1
        elif ended.returncode != 0 or ended.stderr:
            complain(number, ended)
            wrong += 1
    print(f"{failed} of {count} allocations failed: {ends} ended in one line, {failed - ends - wrong} made do, "
          f"{wrong} wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--paths", action="store_true")
    parser.add_argument("library")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        ended = run(arguments, report, **({"FAIL_PATHS": 1} if arguments.paths else {"FAIL_ALLOCATION": 0}))
        if ended.returncode != 0:
            complain(0, ended)
            return 1
        with open(report) as file:
            lines = file.read().splitlines()
    if arguments.paths:
        print("\n".join(lines))
        return 0 if lines[-2].endswith(" 0 wrong") else 1
    return 1 if fail_each(arguments, os.devnull, int(lines[-1].split()[0])) else 0


if __name__ == "__main__":
    sys.exit(main())
