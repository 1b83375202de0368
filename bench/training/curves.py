#!/usr/bin/env python3
"""Trains networks with direct convolutions and with Winograd's, which err more, and compares how they learn.

usage: curves.py --data idx:FOLDER [--tools build/release/bin] [--nets lenet,residual] [--seeds 1,2,3] [--threads N] [--json]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NETS = {"lenet": "examples/lenet/lenet.dl", "residual": "bench/training/residual.dl"}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(arguments, net, algorithm, seed, folder):
    module = os.path.join(folder, f"{net}-{algorithm}.so")
    if not os.path.exists(module):
        run(os.path.join(arguments.tools, "dlc"), os.path.join(ROOT, NETS[net]), f"--conv-algorithm={algorithm}", "-o", module)
    command = [os.path.join(arguments.tools, "dlc-run"), "train", module, "--data", arguments.data, "--seed", str(seed), "--json",
               "--checkpoint", os.path.join(folder, f"{net}-{algorithm}-{seed}")]
    if arguments.threads:
        command += ["--threads", str(arguments.threads)]
    lines = [json.loads(line) for line in run(*command).splitlines()]
    summary = lines[-1]
    # Mean loss of the last hundred steps: what training went down to before evaluation.
    steps = [line["loss"] for line in lines if "test_loss" not in line and "summary" not in line]
    return {"net": net, "algorithm": algorithm, "seed": seed, "epochs": summary["epoch"],
            "train_loss": sum(steps[-100:]) / len(steps[-100:]), "test_loss": summary["test_loss"],
            "test_accuracy": summary["test_accuracy"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    unknown = [net for net in arguments.nets.split(",") if net not in NETS]
    if unknown:
        sys.exit(f"curves: unknown network {unknown[0]}: expected one of {', '.join(NETS)}")
    with tempfile.TemporaryDirectory() as folder:
        for net in arguments.nets.split(","):
            for seed in arguments.seeds.split(","):
                for algorithm in ["direct", "winograd"]:
                    row = train(arguments, net, algorithm, int(seed), folder)
                    print(json.dumps(row) if arguments.json else
                          f"{net:10} {algorithm:9} seed {seed}  last 100 steps {row['train_loss']:.4f}  test loss {row['test_loss']:.4f}  "
                          f"accuracy {100 * row['test_accuracy']:.2f} %", flush=True)


if __name__ == "__main__":
    main()
