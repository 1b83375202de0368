"""Fails if the step that dlc chooses by itself is estimated to take longer than one in a forced layout.

usage: never_dearer.py DLC MODEL.dl OPTIONS...
Copies that it saves may cost a thousandth. What is joined behind the choice, reductions to the kernels of convolutions, is no part of it.
"""
import re
import subprocess
import sys

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def estimate(layout):
    command = sys.argv[1:] + [f"--layout={layout}", "--disable-pass=dl-join-reductions", "--emit=report"]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    entries = re.findall(r"^(\w+), batch.*?estimated ([0-9.e+]+) (\w+) on one core", report, re.S | re.M)
    assert entries, report
    return {name: float(number) * UNITS[unit] for name, number, unit in entries}


chosen = estimate("heuristic")
for layout in "row-major", "nchw16c":
    forced = estimate(layout)
    # What is prepared, in training and for inference, is spread over entries; three digits are printed, which adds 0.2%.
    if sum(chosen.values()) > 1.003 * sum(forced.values()):
        sys.exit(f"{chosen} takes longer than {forced} in {layout}")
    print(f"{sum(chosen.values()):.3g} s, {sum(forced.values()):.3g} s in {layout}")
