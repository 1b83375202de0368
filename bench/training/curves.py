#!/usr/bin/env python3
"""Trains networks with direct convolutions and with Winograd's, which err more, and compares how they learn.

usage: curves.py --data idx:FOLDER [--tools build/release/bin] [--nets lenet,residual] [--seeds 1,2,3] [--threads N] [--json]
       curves.py --data cifar:FOLDER --nets resnet20 ...
"""
import runs

# name: (model, flags of dlc, flags of dlc-run train)
NETS = {
    "lenet": ("examples/lenet/lenet.dl", [], []),
    "residual": ("bench/training/residual.dl", [], []),
    "resnet20": ("examples/cifar/resnet_cifar.dl", ["-D", "blocks=3"], ["--epochs", "5"]),
}


def rows(bench, net, seed):
    threads = ["--threads", str(bench.arguments.threads)] if bench.arguments.threads else []
    model, compiling, training = NETS[net]
    for algorithm in ("direct", "winograd"):
        module = bench.compile(f"{net}-{algorithm}.so", model, *compiling, f"--conv-algorithm={algorithm}")
        summary, loss = bench.train(module, seed, *training, *threads)
        yield {"net": net, "algorithm": algorithm, "seed": seed, "epochs": summary["epoch"], "train_loss": loss,
               "test_loss": summary["test_loss"], "test_accuracy": summary["test_accuracy"]}


if __name__ == "__main__":
    runs.main(__doc__.split("\n")[0], NETS, ["lenet", "residual"], "--nets", "network", "1,2,3", lambda parser: parser.add_argument("--threads", type=int), rows,
              lambda row: f"{row['net']:10} {row['algorithm']:9} seed {row['seed']}")
