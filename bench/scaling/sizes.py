#!/usr/bin/env python3
"""Simulates jobs of 64 to 4,096 ranks: steps, what their ranks do together before the first one, checkpoints and the watch.

usage: sizes.py [--tools build/release/bin] [--cases lenet/256,alexnet/64,resnet50/16] [--ranks 1,64,256,1024,4096] [--json]

A case is a network and the batch of one rank. Each is compiled for each link, and its kernels take what they take here: `dlc-run simulate`
adds what a ring takes. LINKS are those of nodes: a message takes 50, 25 and 2.5 us, and 95% of the rate are reached.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from scaling import MODELS, output

LINKS = {"1gbit": "1e-4,8.4e-9", "10gbit": "5e-5,8.4e-10", "100gbit": "5e-6,8.4e-11"}


def simulate(tools, case, rate, ranks):
    """A figure for each number of ranks."""
    net, batch = case.split("/")
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "model.so")
        output(os.path.join(tools, "dlc"), os.path.join(ROOT, MODELS[net]), "-D", f"N={batch}", "--data-parallel", f"--link={LINKS[rate]}", "-o", module)
        text = output(os.path.join(tools, "dlc-run"), "simulate", module, "--ranks", ranks, "--link", LINKS[rate], "--json")
    for line in text.splitlines():
        yield {"simulated": case, "rate": rate, **json.loads(line)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--cases", default="lenet/256,alexnet/64,resnet50/16")
    parser.add_argument("--ranks", default="1,64,256,1024,4096")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    for case in arguments.cases.split(","):
        for rate in LINKS:
            for it in simulate(arguments.tools, case, rate, arguments.ranks):
                print(json.dumps(it) if arguments.json else
                      f"{case} {rate} ranks {it['ranks']} step {it['step_ms']:.2f} ms, {100 * it['efficiency']:.1f}%, start {it['start_ms']:.1f} ms", flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"sizes: {error.cmd[0]} ended with status {error.returncode}")
