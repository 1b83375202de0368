#!/usr/bin/env python3
"""Trains networks in f32, bf16 and f16, the last with its dynamic loss scale, and compares how they learn.

usage: precision.py --data idx:FOLDER [--tools build/release/bin] [--nets lenet,residual] [--seeds 1,2,3] [--threads N] [--without-masters] [--json]
       precision.py --data cifar:FOLDER --nets resnet20,resnet56,alexnet_r,dcgan ...
       precision.py --data text:FILE --nets char-rnn,gpt ...
       precision.py --data words:FILE --nets lstm_ptb ...
`curve` has the mean loss of each fortieth of the steps, which `bench/plot.py precision` draws; a GAN's two losses are two rows.
With --without-masters also in bf16 with weights of 16 bits alone (`masters = false`).
"""
import os
import re

import runs

PRECISIONS = ("f32", "bf16", "f16")
# name: (model, flags of dlc, flags of dlc-run train)
NETS = {
    "lenet": ("examples/lenet/lenet.dl", [], ["--epochs", "3"]),
    "residual": ("bench/training/residual.dl", [], []),
    "resnet20": ("examples/cifar/resnet_cifar.dl", ["-D", "blocks=3"], ["--epochs", "2"]),
    "alexnet_r": ("examples/cifar/alexnet_r.dl", [],
                  "--epochs 4 --augment normalise:mean=0.4/0.4/0.4:std=0.2/0.2/0.2 --override optimizer.learning_rate=0.01".split()),
    "resnet56": ("examples/cifar/resnet_cifar.dl", [], "--epochs 1 --override optimizer.learning_rate=0.02".split()),
    "dcgan": ("examples/dcgan/dcgan.dl", ["-D", "width=16", "-D", "N=32"], ["--augment", "resize:64x64", "--epochs", "1"]),
    "lstm_ptb": ("examples/lstm_ptb/lstm_ptb.dl", ["-D", "N=32"], ["--epochs", "2"]),
    "char-rnn": ("examples/char-rnn/char-rnn.dl", [], ["--epochs", "1"]),
    "gpt": ("examples/gpt/gpt.dl", "-D vocabulary=65 -D context=64 -D width=128 -D layers=2 -D heads=4 -D joined=1 -D warm=50 -D N=16 -D T=64".split(),
            ["--steps", "600"]),
}


def curve(losses, points=40):
    parts = [losses[len(losses) * i // points:len(losses) * (i + 1) // points] for i in range(points)]
    return [round(sum(part) / len(part), 5) for part in parts if part]


def without_masters(bench, model):
    """The model with `masters = false` in its train section."""
    with open(os.path.join(runs.ROOT, model)) as file:
        text, found = re.subn(r"^train \w+ \{$", r"\g<0>\n  masters = false", file.read(), flags=re.MULTILINE)
    assert found == 1, model
    path = bench.path(os.path.basename(model))
    with open(path, "w") as file:
        file.write(text)
    return path


def rows(bench, net, seed):
    threads = ["--threads", str(bench.arguments.threads)] if bench.arguments.threads else []
    model, compiling, training = NETS[net]
    variants = [(precision, model, precision) for precision in PRECISIONS]
    if bench.arguments.without_masters:
        variants.append(("alone", without_masters(bench, model), "bf16"))
    for precision, source, flag in variants:
        module = bench.compile(f"{net}-{precision}.so", source, *compiling, f"--precision={flag}")
        summary, _ = bench.train(module, seed, *training, *threads)
        tested = {name: summary[name] for name in ("test_loss", "test_accuracy", "test_perplexity") if name in summary}
        for name, losses in bench.losses.items():
            yield {"net": " ".join([net, *name.split(".")[:-1]]), "precision": precision, "seed": seed, "steps": summary["steps"],
                   "train_loss": runs.last(losses), **tested, "curve": curve(losses)}


def options(parser):
    parser.add_argument("--threads", type=int)
    parser.add_argument("--without-masters", action="store_true", help="in bf16 with weights of 16 bits alone as well")


if __name__ == "__main__":
    runs.main(__doc__.split("\n")[0], NETS, ["lenet", "residual"], "--nets", "network", "1,2,3", options, rows,
              lambda row: f"{row['net']:10} {row['precision']:5} seed {row['seed']}")
