"""Checks that training made a loss smaller: its mean over the last 20 of at least 200 steps is below that over the first 20.

usage: dlc-run train ... --json | check_falling.py [LOSS]    LOSS: its name, "loss" if not given
"""
import json
import statistics
import sys

name = sys.argv[1] if len(sys.argv) > 1 else "loss"
losses = [line[name] for line in map(json.loads, sys.stdin) if "seconds" in line and "summary" not in line]
first, last = statistics.mean(losses[:20]), statistics.mean(losses[-20:])
print(f"{name} {first:.4f} -> {last:.4f} in {len(losses)} steps")
if len(losses) < 200 or not last < first:
    sys.exit("did not fall")
