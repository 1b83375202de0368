"""Runs a program again and again, each time with another of its allocations failing.

usage: fail_allocations.py [--samples N | --paths] [--from K] [--jobs J] LIBRARY COMMAND...

Each run must end with exit code 1 and one line on standard error that begins with "error: ", or make
do without the memory: exit code 0 and none there. Warnings may stand before, as of a checkpoint that
could not be written. A signal, a second line or two minutes without an end is wrong. Each allocation
fails, or with --samples N of them, evenly spread; --from goes on where an earlier run was stopped,
--jobs runs several at once. On a terminal it says how far it is. With --paths the program is run once, and each of
its call paths that allocates fails in a child forked there: for programs of one thread whose
temporary files a child cannot remove, as dlc check.
"""
import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time


def run(arguments, report, **settings):
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(arguments.library), FAIL_REPORT=report,
                       **{name: str(value) for name, value in settings.items()})
    timeout = None if "FAIL_PATHS" in settings else 120
    return subprocess.run(arguments.command, env=environment, capture_output=True, timeout=timeout, errors="replace",
                          text=True)


def complain(number, ended):
    print(f"allocation {number}: exit {ended.returncode}: {ended.stderr[:2000]}", flush=True)


def fail_one(arguments, report, number):
    """Fails allocation `number`: "ended" in one line, "made do" or "wrong"."""
    try:
        ended = run(arguments, report, FAIL_ALLOCATION=number)
    except subprocess.TimeoutExpired:
        print(f"allocation {number}: no end", flush=True)
        return "wrong"
    others = [line for line in ended.stderr.splitlines() if not line.startswith(("warning: ", "note: "))]
    if ended.returncode == 1 and len(others) == 1 and others[0].startswith("error: "):
        return "ended"
    if ended.returncode == 0 and not others:
        return "made do"
    complain(number, ended)
    return "wrong"


def fail_each(arguments, report, count):
    first = getattr(arguments, "from")
    stride = max(1, count // arguments.samples) if arguments.samples else 1
    numbers = range(first + stride // 2, count + 1, stride)
    outcomes = collections.Counter()
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda number: fail_one(arguments, report, number), numbers):
            outcomes[outcome] += 1
            if sys.stderr.isatty():
                done = outcomes.total()
                left = (time.monotonic() - start) / done * (len(numbers) - done)
                print(f"\r{done} of {len(numbers)}, {outcomes['wrong']} wrong, {left:.0f} s left ", end="",
                      file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"{len(numbers)} of {count} allocations failed: {outcomes['ended']} ended in one line, "
          f"{outcomes['made do']} made do, {outcomes['wrong']} wrong")
    return outcomes["wrong"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int)
    parser.add_argument("--paths", action="store_true")
    parser.add_argument("--from", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
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
