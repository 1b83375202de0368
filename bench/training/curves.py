#!/usr/bin/env python3
"""Trains networks with direct convolutions and with Winograd's, which err more, and compares how they learn.

usage: curves.py --data idx:FOLDER [--tools build/release/bin] [--nets lenet,residual] [--seeds 1,2,3] [--threads N] [--json]
"""
import runs

NETS = {"lenet": "examples/lenet/lenet.dl", "residual": "bench/training/residual.dl"}


def rows(bench, net, seed):
    threads = ["--threads", str(bench.arguments.threads)] if bench.arguments.threads else []
    for algorithm in ("direct", "winograd"):
        module = bench.compile(f"{net}-{algorithm}.so", NETS[net], f"--conv-algorithm={algorithm}")
        summary, loss = bench.train(module, seed, *threads)
        yield {"net": net, "algorithm": algorithm, "seed": seed, "epochs": summary["epoch"], "train_loss": loss,
               "test_loss": summary["test_loss"], "test_accuracy": summary["test_accuracy"]}


if __name__ == "__main__":
    runs.main(__doc__.split("\n")[0], NETS, "--nets", "network", "1,2,3", lambda parser: parser.add_argument("--threads", type=int), rows,
              lambda row: f"{row['net']:10} {row['algorithm']:9} seed {row['seed']}")
