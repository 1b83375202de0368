#!/usr/bin/env python3
"""Times a training step of dlc beside PyTorch eager on the CPU: same network, same numbers, interleaved in one run.

usage: compare.py [--tools build/release/bin] [--nets lenet,mlp] [--threads 2] [--rounds 9] [--steps 30] [--json]
Needs torch, numpy and safetensors (from PyPI); nothing else in the project does.

First it gives both the same parameters and the same batch and compares the loss and every gradient of one step: a difference of
more than LIMIT in the norm ends the run. Then it alternates rounds of steps; each round yields a median for both and their ratio.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.numpy import load_file, save_file

LIMIT = 1e-4  # two float32 programs with different summation orders; their errors against float64 are about 1e-6
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


# name: (source, constructor, shape of one sample, names of the layers in order)
NETS = {
    "lenet": ("examples/lenet/lenet.dl", lenet, (1, 28, 28), ["conv1", "conv2", "linear1", "linear2"]),
    "mlp": ("examples/mlp/mlp.dl", lambda: mlp(784, 2048, 4096, 1024, 10), (784,), ["linear1", "linear2", "linear3", "linear4"]),
}
BATCH = 64


class Rival:
    """PyTorch eager: forward, loss, backward, SGD with momentum and weight decay."""

    def __init__(self, make, shape):
        torch.manual_seed(0)
        self.net = make()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
        self.image, self.label = torch.rand(BATCH, *shape), torch.randint(0, 10, (BATCH,))

    def backward(self):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(self.image), self.label)
        loss.backward()
        return float(loss.detach())

    def times(self, steps):
        out = []
        for _ in range(steps):
            start = time.perf_counter()
            self.backward()
            self.optimizer.step()
            out.append((time.perf_counter() - start) * 1e3)
        return out


def check(rival, layers, run, module, folder):
    """The same step in both; returns the largest difference of a gradient, relative to its norm."""
    keys = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
    parameters = list(rival.net.parameters())
    save_file({k: p.detach().numpy() for k, p in zip(keys, parameters)}, f"{folder}/parameters.safetensors")
    save_file({"image": rival.image.numpy(), "label": rival.label.numpy().astype(np.int32)}, f"{folder}/inputs.safetensors")
    subprocess.run([run, "step", module, "--entry", "train_step", "--parameters", f"{folder}/parameters.safetensors", "--inputs",
                    f"{folder}/inputs.safetensors", "--save", f"{folder}/out.safetensors"], check=True, stdout=subprocess.DEVNULL)
    ours, loss = load_file(f"{folder}/out.safetensors"), rival.backward()
    worst = abs(float(ours["loss"]) - loss) / abs(loss)
    for key, p in zip(keys, parameters):
        g = p.grad.numpy()
        worst = max(worst, float(np.linalg.norm(ours[f"gradient.{key}"] - g) / np.linalg.norm(g)))
    if not worst <= LIMIT:
        sys.exit(f"compare: {module}: loss or gradients differ by {worst:.1e}, more than {LIMIT:.0e}: not timed")
    return worst


def compare(name, arguments, folder):
    source, make, shape, layers = NETS[name]
    module, run = f"{folder}/{name}.so", os.path.join(arguments.tools, "dlc-run")
    subprocess.run([os.path.join(arguments.tools, "dlc"), os.path.join(ROOT, source), "-o", module, "-D", f"N={BATCH}"], check=True)
    rival = Rival(make, shape)
    worst = check(rival, layers, run, module, folder)
    rival.times(10)
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        out = subprocess.run([run, "bench", module, "--steps", str(arguments.steps), "--threads", str(arguments.threads), "--json"],
                             check=True, capture_output=True, text=True).stdout
        ours.append(json.loads(out.strip().splitlines()[-1])["median_ms"])
        theirs.append(statistics.median(rival.times(arguments.steps)))
    ratios = [t / o for o, t in zip(ours, theirs)]
    return dict(net=name, batch=BATCH, threads=arguments.threads, rounds=arguments.rounds, steps=arguments.steps,
                dlc_ms=statistics.median(ours), pytorch_ms=statistics.median(theirs), speedup=statistics.median(ratios),
                speedup_min=min(ratios), speedup_max=max(ratios), difference=worst, pytorch=torch.__version__)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--nets", default="lenet,mlp")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if not arguments.json:
        print(f"{'net':8} {'batch':>5} {'threads':>7} {'dlc ms':>8} {'PyTorch ms':>10} {'speed-up':>8} {'range':>13} {'difference':>10}")
    for name in arguments.nets.split(","):
        with tempfile.TemporaryDirectory() as folder:
            r = compare(name, arguments, folder)
        print(json.dumps(r) if arguments.json else
              f"{r['net']:8} {r['batch']:5} {r['threads']:7} {r['dlc_ms']:8.2f} {r['pytorch_ms']:10.2f} {r['speedup']:8.2f} "
              f"{r['speedup_min']:5.2f} - {r['speedup_max']:5.2f} {r['difference']:10.1e}", flush=True)


if __name__ == "__main__":
    main()
