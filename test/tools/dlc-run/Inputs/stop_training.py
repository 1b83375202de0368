"""Asks a training run to end and shows what it says of that, and the step that the checkpoint holds.

usage: stop_training.py FOLDER      FOLDER: what make-small-module wrote
"""
import json
import os
import signal
import struct
import subprocess
import sys

for ignored in (signal.SIGINT, signal.SIGTERM):  # by whoever started us; dlc-run would follow
    signal.signal(ignored, signal.SIG_DFL)
os.chdir(sys.argv[1])


def stop(number, *flags):
    process = subprocess.Popen(["dlc-run", "train", "small.so", "--data", "idx:data", "--epochs", "1000000", "--json", *flags],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()  # a step has been done
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    return "; ".join(said.splitlines()), process.returncode


for number in (signal.SIGINT, signal.SIGTERM):
    said, code = stop(number, "--checkpoint", "stopped", "--overwrite")
    with open("stopped", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    print(f"{number.name}: {said}; the file holds {header['__metadata__']['step']}; {code}")
said, code = stop(signal.SIGINT)
print(f"SIGINT without a checkpoint: {said}; {code}")
