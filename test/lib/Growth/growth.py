"""Fails where a command takes more than three times as long for a problem of twice the size, or longer than a limit.

usage: growth.py SECONDS SIZE COMMAND...      SIZE in the command is replaced by the size, then by twice as much

Counted is the processors' time, of the fastest of up to three runs. What grows in proportion takes twice
the time or less, what grows with the square four times. The limit is for the larger problem.
"""
import os
import subprocess
import sys


def seconds(command):
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


limit, size, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
small = large = float("inf")
for _ in range(3):
    small = min(small, seconds([word.replace("SIZE", str(size)) for word in command]))
    large = min(large, seconds([word.replace("SIZE", str(2 * size)) for word in command]))
    print(f"{size}: {small:.2f} s, {2 * size}: {large:.2f} s, {large / small:.2f} times as long, of 3; limit {limit:g} s")
    if large <= min(3 * small, limit):
        sys.exit()
sys.exit("it takes too long")
