#!/usr/bin/env python3
"""Compares training steps of two builds of dlc: each compiles and runs its own module, in turns.

usage: builds.py BEFORE/bin AFTER/bin [--cases lenet/64,resnet50/16] [--flags=--precision=bf16] [--rounds 7] [--seconds 1] [--json]
`--flags` are the second's, so that one build can be compared beside itself.
A round's figure is the median of the steps that take the given seconds, three at least; the ratio is the median over the rounds of before
beside after: above 1 where the second is faster. That both compute the same is what the goldens of both say.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from compare import MODELS as NETWORKS
from compare import ROOT

MODELS = {**NETWORKS, "resnet56": "examples/cifar/resnet_cifar.dl", "alexnet_r": "examples/cifar/alexnet_r.dl", "dcgan": "examples/dcgan/dcgan.dl",
          "autoencoder": "examples/autoencoder/autoencoder.dl"}
CASES = "lenet/64,alexnet/64,vgg16/16,resnet50/16,resnet50/1"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def milliseconds(tools, module, steps):
    return json.loads(output(os.path.join(tools, "dlc-run"), "bench", module, "--steps", str(steps), "--json").splitlines()[-1])["median_ms"]


def model_of(tools, net):
    """Of the checkout that the build is of, as the language may have changed; else of this one."""
    own = os.path.join(tools, "..", "..", "..", MODELS[net])
    return own if os.path.exists(own) else os.path.join(ROOT, MODELS[net])


def compare(arguments, net, batch, folder):
    modules = []
    for number, tools in enumerate(arguments.builds):
        modules.append(os.path.join(folder, f"{net}-{batch}-{number}.so"))
        output(os.path.join(tools, "dlc"), model_of(tools, net), "-D", f"N={batch}", "-o", modules[-1], *(arguments.flags.split() if number else []))
    steps = max(3, int(1000 * arguments.seconds / milliseconds(arguments.builds[1], modules[1], 3)))
    times = [[], []]
    for turn in range(arguments.rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            times[which].append(milliseconds(arguments.builds[which], modules[which], steps))
    ratios = [before / after for before, after in zip(*times)]
    return {"case": f"{net}/{batch}", "flags": arguments.flags, "steps": steps, "before_ms": statistics.median(times[0]), "after_ms": statistics.median(times[1]),
            "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("builds", nargs=2, metavar="BIN", help="folders of dlc and dlc-run")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--flags", default="", help="of the second build's dlc")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for case in arguments.cases.split(","):
            net, _, batch = case.partition("/")
            if net not in MODELS or not batch.isdigit():
                sys.exit(f"builds: no case {case}: expected NET/BATCH, NET one of {', '.join(MODELS)}")
            row = compare(arguments, net, batch, folder)
            print(json.dumps(row) if arguments.json else
                  f"{case:12} {row['before_ms']:9.2f} ms  {row['after_ms']:9.2f} ms  ratio {row['ratio']:.3f} ({row['least']:.3f} - {row['most']:.3f})",
                  flush=True)


if __name__ == "__main__":
    main()
