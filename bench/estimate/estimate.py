#!/usr/bin/env python3
"""Compares the compiler's estimate of a training step on the CPU with the clock: what dl-choose decides by.

usage: estimate.py [--tools build/release/bin] [--nets lenet,alexnet,vgg16,resnet50] [--machine FILE] [--threads N] [--rounds N] [--seconds S] [--json]
The estimate is for one core; beside N threads it is divided by N. The compiler's figure stands in the module's report.
Networks take turns, each time in a process of its own, for as many steps as take S seconds and at least 3: how memory comes to lie, and
what else runs on the machine, differ from process to process. What counts is the median of the rounds' medians; beside it stand the
fastest and the slowest round.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# name: (source, batch)
NETS = {
    "lenet": ("examples/lenet/lenet.dl", 64),
    "alexnet": ("bench/gpu/alexnet.dl", 64),
    "vgg16": ("bench/gpu/vgg16.dl", 16),
    "resnet50": ("examples/resnet50/resnet50.dl", 16),
}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_net(tools, net, machine, folder):
    """The module, and the milliseconds that one core is estimated to take."""
    source, batch = NETS[net]
    module = os.path.join(folder, net + ".so")
    run(os.path.join(tools, "dlc"), os.path.join(ROOT, source), "-D", f"N={batch}", "-o", module, *(["--machine", machine] if machine else []))
    report = json.loads(run(os.path.join(tools, "dlc-run"), "inspect", module, "--json"))["report"]
    entry = next(entry for entry in report["entries"] if entry["name"] == "train_step")
    return module, 1000 * entry["estimated_seconds"]


def measure(tools, module, threads, steps):
    """Milliseconds of a step, the median of one process."""
    summary = run(os.path.join(tools, "dlc-run"), "bench", module, "--threads", str(threads), "--steps", str(steps), "--json")
    return json.loads(summary.splitlines()[-1])["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--machine", help="how fast it is, from dlc tune --measure; default: as dlc knows its processor")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of steps in a round")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    nets = arguments.nets.split(",")
    unknown = [net for net in nets if net not in NETS]
    if unknown:
        sys.exit(f"estimate: unknown network {unknown[0]}: expected one of {', '.join(NETS)}")
    with tempfile.TemporaryDirectory() as folder:
        modules = {net: compile_net(arguments.tools, net, arguments.machine, folder) for net in nets}
        rounds = {net: [] for net in nets}
        for _ in range(arguments.rounds):
            for net, (module, estimate) in modules.items():
                steps = max(3, round(1000 * arguments.seconds * arguments.threads / estimate))
                rounds[net].append(measure(arguments.tools, module, arguments.threads, steps))
    for net in nets:
        estimated, measured = modules[net][1] / arguments.threads, statistics.median(rounds[net])
        row = {"net": net, "batch": NETS[net][1], "threads": arguments.threads, "estimated_ms": estimated, "measured_ms": measured,
               "least_ms": min(rounds[net]), "most_ms": max(rounds[net]), "rounds": arguments.rounds, "ratio": estimated / measured}
        print(json.dumps(row) if arguments.json else
              f"{net:10} batch {row['batch']:3}  estimated {estimated:9.2f} ms  measured {measured:9.2f} ms "
              f"({row['least_ms']:.2f} - {row['most_ms']:.2f})  ratio {row['ratio']:.2f}", flush=True)


if __name__ == "__main__":
    main()
