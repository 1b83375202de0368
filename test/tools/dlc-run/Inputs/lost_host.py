"""Trains on two machines, each a network namespace, and takes the second away behind the first checkpoint: its processes, or with `silent` its
network, so that nobody hears of an end. What must hold: `dlc-run launch --restarts` says that it does not answer, and goes on without it to the
last step.

usage: lost_host.py ROOT FOLDER ended|silent      FOLDER is what make-small-module FOLDER wrote
"""
import json
import os
import re
import struct
import subprocess
import sys
import time

ROOT, FOLDER, HOW = sys.argv[1:]
sys.path.insert(0, f"{ROOT}/bench/scaling")
import cluster  # noqa: E402

STEPS = 3000


def step_of(checkpoint):
    with open(checkpoint, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return int(json.loads(file.read(size))["__metadata__"]["step"])


def take_away(machines):
    """The second machine: nothing starts there any more."""
    open(f"{machines.folder}/gone", "w").close()
    name = machines.name(1)
    if HOW == "silent":
        cluster.run("ip", "netns", "exec", name, "ip", "link", "set", "eth0", "down")
        return
    for process in subprocess.check_output(["ip", "netns", "pids", name], text=True).split():
        subprocess.run(["kill", "-9", process], stderr=subprocess.DEVNULL)


def main():
    checkpoint = f"{FOLDER}/{HOW}.safetensors"
    with cluster.Cluster(2, "1gbit") as machines:
        agent, gone = f"{machines.folder}/agent", machines.address(1)
        with open(agent, "w") as file:
            file.write(f"#!/bin/sh\n[ -e {machines.folder}/gone ] && [ \"$1\" = {gone} ] && exit 255\nexec {machines.agent} \"$@\"\n")
        os.chmod(agent, 0o755)
        network = f"{machines.subnet}.0/24"
        words = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": network, "btl": "tcp,self",
                 "btl_tcp_if_include": network}
        process = subprocess.Popen(
            ["dlc-run", "launch", "-n", "2", "--hosts", f"{machines.address(0)}:1,{gone}:1", "--restarts", "1", "--min-ranks", "1", "--",
             *(word for pair in words.items() for word in ("--mca", *pair)), "--", "train", f"{FOLDER}/parallel.so", "--data", f"idx:{FOLDER}/data",
             "--epochs", "1000000", "--steps", str(STEPS), "--checkpoint", checkpoint, "--checkpoint-every", "100", "--timeout", "1", "--json"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **cluster.AS_ROOT})
        while not os.path.exists(checkpoint) and process.poll() is None:
            time.sleep(0.01)
        take_away(machines)
        said = process.communicate()[1]
    assert process.returncode == 0, said
    assert f"note: left out, as they do not answer: {gone}\n" in said, said
    assert re.search(r"note: restart 1 of 1, with 1 rank\n", said), said
    assert step_of(checkpoint) == STEPS, f"ended at step {step_of(checkpoint)}: {said}"
    print(f"{HOW}: left out, and went on to the last step")


main()
