"""Asks a training run for a checkpoint by SIGUSR1, twice, and then to end. Each is there, and behind it the run goes on.

usage: save_on_signal.py FOLDER MODULE [WORDS...]      FOLDER: what make-small-module wrote; WORDS come before dlc-run's command
"""
import json
import os
import signal
import struct
import subprocess
import sys

signal.signal(signal.SIGTERM, signal.SIG_DFL)  # where whoever started us ignores it; dlc-run would follow
os.chdir(sys.argv[1])
module, words = sys.argv[2], sys.argv[3:]
epoch = 50 if module == "small.so" else 25
process = subprocess.Popen(["dlc-run", *words, "train", module, "--data", "idx:data", "--epochs", "1000000", "--checkpoint", "c", "--keep",
                            "1000000", "--json"], stdout=subprocess.PIPE, text=True)


def read_step():
    while "seconds" not in (report := json.loads(process.stdout.readline())):
        pass
    return report["step"]


def stored_step():
    with open("c", "rb") as file:
        return int(json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["__metadata__"]["step"])


def on_demand():
    """The steps of checkpoints that are not of an epoch's end, where there is one by itself."""
    kept = [stored_step()] if os.path.exists("c") else []
    return {step for step in kept + [int(name[7:]) for name in os.listdir() if name.startswith("c.step-")] if step % epoch != 0}


step = read_step()
for asked in (1, 2):
    waited = 0
    while len(on_demand()) < asked:
        if waited % 100 == 0:  # again, as it may have come in an epoch's last step
            process.send_signal(signal.SIGUSR1)
        waited += 1
        step = read_step()
while step <= max(on_demand()):
    step = read_step()
process.send_signal(signal.SIGTERM)
for _ in process.stdout:
    pass
print("saved, trained on, and stopped:", process.wait(timeout=300), stored_step() >= step)
