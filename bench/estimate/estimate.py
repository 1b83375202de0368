#!/usr/bin/env python3
"""Compares the compiler's estimate of a training step on the CPU with the clock: what dl-choose decides by.

usage: estimate.py [--tools build/release/bin] [--nets lenet,alexnet,vgg16,resnet50] [--threads N] [--steps N] [--json]
The estimate is for one core; beside N threads it is divided by N. The compiler's figure stands in the module's report.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# name: (source, batch, steps)
NETS = {
    "lenet": ("examples/lenet/lenet.dl", 64, 100),
    "alexnet": ("bench/gpu/alexnet.dl", 64, 5),
    "vgg16": ("bench/gpu/vgg16.dl", 16, 3),
    "resnet50": ("examples/resnet50/resnet50.dl", 16, 5),
}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def measure(tools, net, threads, steps, folder):
    source, batch, usual = NETS[net]
    module = os.path.join(folder, net + ".so")
    run(os.path.join(tools, "dlc"), os.path.join(ROOT, source), "-D", f"N={batch}", "-o", module)
    report = json.loads(run(os.path.join(tools, "dlc-run"), "inspect", module, "--json"))["report"]
    entry = next(entry for entry in report["entries"] if entry["name"] == "train_step")
    summary = run(os.path.join(tools, "dlc-run"), "bench", module, "--threads", str(threads), "--steps", str(steps or usual), "--json")
    measured = json.loads(summary.splitlines()[-1])["median_ms"]
    estimated = 1000 * entry["estimated_seconds"] / threads
    return {"net": net, "batch": batch, "threads": threads, "estimated_ms": estimated, "measured_ms": measured, "ratio": estimated / measured}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, help="default: each network's own")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    unknown = [net for net in arguments.nets.split(",") if net not in NETS]
    if unknown:
        sys.exit(f"estimate: unknown network {unknown[0]}: expected one of {', '.join(NETS)}")
    with tempfile.TemporaryDirectory() as folder:
        for net in arguments.nets.split(","):
            row = measure(arguments.tools, net, arguments.threads, arguments.steps, folder)
            print(json.dumps(row) if arguments.json else
                  f"{net:10} batch {row['batch']:3}  estimated {row['estimated_ms']:9.2f} ms  measured {row['measured_ms']:9.2f} ms  "
                  f"ratio {row['ratio']:.2f}", flush=True)


if __name__ == "__main__":
    main()
