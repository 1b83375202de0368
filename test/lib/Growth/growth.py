"""Fails where a command takes more than three times as long for a problem of twice the size, or longer than a limit.

usage: growth.py SECONDS SIZE COMMAND...      SIZE in the command is replaced by the size, then by twice as much
       growth.py memory TIMES SIZE COMMAND... fails where twice the size takes more than so many times the memory

Counted is the processors' time, of the fastest of up to seven runs. What grows in proportion takes twice
the time or less, what grows with the square four times. The limit is for the larger problem.
Memory needs no clock.
"""
import os
import subprocess
import sys


def run(command, size):
    """The processors' seconds, and the most KiB."""
    command = [word.replace("SIZE", str(size)) for word in command]
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def check_time(limit, size, command):
    small = large = float("inf")
    for _ in range(7):
        small = min(small, run(command, size)[0])
        large = min(large, run(command, 2 * size)[0])
        print(f"{size}: {small:.2f} s, {2 * size}: {large:.2f} s, {large / small:.2f} times as long, of 3; limit {limit:g} s")
        if large <= min(3 * small, limit):
            return
    sys.exit("it takes too long")


def check_memory(limit, size, command):
    small, large = run(command, size)[1], run(command, 2 * size)[1]
    print(f"{size}: {small} KiB, {2 * size}: {large} KiB, {large / small:.2f} times as much; limit {limit:g}")
    if large > limit * small:
        sys.exit("it takes too much memory")


if sys.argv[1] == "memory":
    check_memory(float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
else:
    check_time(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
