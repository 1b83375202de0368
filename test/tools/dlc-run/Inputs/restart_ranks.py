"""Kills a rank behind the first checkpoint of a run that `dlc-run launch --restarts` watches. What must hold: it goes on from the checkpoint with
one rank fewer, and ends after as many steps as were asked for. Few steps are soon done: where they were before the kill, more are asked for.

usage: restart_ranks.py FOLDER      FOLDER is what make-small-module FOLDER wrote
"""
import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

import attack_ranks

STEPS = 3000, 30000


def step_of(checkpoint):
    with open(checkpoint, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return int(json.loads(file.read(size))["__metadata__"]["step"])


def kill_one(folder, checkpoint, steps):
    """The exit code of the run, and what it said."""
    if os.path.exists(checkpoint):
        os.remove(checkpoint)
    process = subprocess.Popen(
        ["dlc-run", "launch", "-n", "3", "--restarts", "2", "--min-ranks", "2", "--", "train", f"{folder}/parallel.so", "--data",
         f"idx:{folder}/data", "--epochs", "1000000", "--steps", str(steps), "--checkpoint", checkpoint, "--checkpoint-every", "100", "--json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not os.path.exists(checkpoint) and process.poll() is None:
        time.sleep(0.01)
    with contextlib.suppress(KeyError, ProcessLookupError):
        os.kill(attack_ranks.ranks_of(process.pid)[1], signal.SIGKILL)
    said = process.communicate()[1].decode()
    return process.returncode, said


def main():
    folder = sys.argv[1]
    checkpoint = f"{folder}/restarted.safetensors"
    for steps in STEPS:
        code, said = kill_one(folder, checkpoint, steps)
        if "note: restart" in said:
            break
        assert code == 0 or "all steps were done and saved" in said, said
    assert code == 0, said
    assert re.search(r"note: restart 1 of 2, with 2 ranks", said), said
    assert re.search(r"trained by 3 ranks before, now 2", said), said
    assert step_of(checkpoint) == steps, f"ended at step {step_of(checkpoint)}: {said}"
    print("killed, and went on to the last step")


main()
