#!/usr/bin/env python3
"""Trains LeNet on two ranks with gradients as they are, and compressed in each way that dlc has, and compares how it learns.

usage: compression.py --data idx:FOLDER [--tools build/release/bin] [--ways none,bf16,f16,1bit,top-k] [--seeds 1,2] [--steps N] [--json]
`sent_bytes` is what a rank sends of its gradients in a step, by the report.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = {"none": [], **{way: [f"--compress={way}"] for way in ("bf16", "f16", "1bit", "top-k")}}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(arguments, way, seed, folder):
    dlc_run, module = os.path.join(arguments.tools, "dlc-run"), os.path.join(folder, f"{way}.so")
    if not os.path.exists(module):
        run(os.path.join(arguments.tools, "dlc"), os.path.join(ROOT, "examples/lenet/lenet.dl"), "-D", "N=32", "--data-parallel", *WAYS[way],
            "-o", module)
    trace = os.path.join(folder, "trace.json")
    run(dlc_run, "simulate", module, "--ranks", "2", "--trace", trace)
    sent = sum(event["args"]["bytes"] for event in json.load(open(trace))["traceEvents"] if event.get("cat") == "collective")
    steps = ["--steps", str(arguments.steps)] if arguments.steps else []
    lines = [json.loads(line) for line in run(dlc_run, "launch", "-n", "2", "--", "train", module, "--data", arguments.data, "--seed", str(seed),
                                              "--json", *steps).splitlines()]
    summary = lines[-1]
    # Mean loss of the last hundred steps: what training went down to before evaluation.
    losses = [line["loss"] for line in lines if "seconds" in line and "summary" not in line]
    row = {"net": "lenet", "way": way, "ranks": 2, "batch": 32, "seed": seed, "steps": summary["steps"], "sent_bytes": sent,
           "train_loss": sum(losses[-100:]) / len(losses[-100:])}
    return {**row, **{name: summary[name] for name in ("test_loss", "test_accuracy") if name in summary}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--steps", type=int, help="at most; default: the model's epochs")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    unknown = [way for way in arguments.ways.split(",") if way not in WAYS]
    if unknown:
        sys.exit(f"compression: unknown way {unknown[0]}: expected one of {', '.join(WAYS)}")
    with tempfile.TemporaryDirectory() as folder:
        for seed in arguments.seeds.split(","):
            for way in arguments.ways.split(","):
                row = train(arguments, way, int(seed), folder)
                tested = f"  test loss {row['test_loss']:.4f}  accuracy {100 * row['test_accuracy']:.2f} %" if "test_loss" in row else ""
                print(json.dumps(row) if arguments.json else
                      f"{way:6} seed {seed}  {row['sent_bytes']:8} bytes a step  last 100 steps {row['train_loss']:.4f}" + tested, flush=True)


if __name__ == "__main__":
    main()
