#!/usr/bin/env python3
"""Trains LeNet on two ranks with gradients as they are, and compressed in each way that dlc has, and compares how it learns.

usage: compression.py --data idx:FOLDER [--tools build/release/bin] [--ways none,bf16,f16,1bit,top-k] [--seeds 1,2] [--steps N]
                      [--learning-rate 0.01] [--json]
`sent_bytes` is what a rank sends of its gradients in a step, by the report. At the example's rate of 0.03, top-k's training does not stay finite:
an element of a gradient waits about a hundred steps, and comes with all that has gathered.
"""
import json

import runs

WAYS = {"none": [], **{way: [f"--compress={way}"] for way in ("bf16", "f16", "1bit", "top-k")}}


def sent_bytes(bench, module):
    trace = bench.path("trace.json")
    runs.output(bench.dlc_run, "simulate", module, "--ranks", "2", "--trace", trace)
    return sum(event["args"]["bytes"] for event in json.load(open(trace))["traceEvents"] if event.get("cat") == "collective")


def rows(bench, way, seed):
    module = bench.compile(f"{way}.so", "examples/lenet/lenet.dl", "-D", "N=32", "--data-parallel", *WAYS[way])
    steps = ["--steps", str(bench.arguments.steps)] if bench.arguments.steps else []
    rate = bench.arguments.learning_rate
    summary, loss = bench.train(module, seed, "--override", f"optimizer.learning_rate={rate}", *steps, launcher=("launch", "-n", "2", "--"))
    row = {"net": "lenet", "way": way, "ranks": 2, "batch": 32, "learning_rate": rate, "seed": seed, "steps": summary["steps"],
           "sent_bytes": sent_bytes(bench, module), "train_loss": loss}
    yield {**row, **{name: summary[name] for name in ("test_loss", "test_accuracy") if name in summary}}


def add_flags(parser):
    parser.add_argument("--steps", type=int, help="at most; default: the model's epochs")
    parser.add_argument("--learning-rate", type=float, default=0.01)


if __name__ == "__main__":
    runs.main(__doc__.split("\n")[0], WAYS, WAYS, "--ways", "way", "1,2", add_flags, rows,
              lambda row: f"{row['way']:6} seed {row['seed']}  {row['sent_bytes']:8} bytes a step")
