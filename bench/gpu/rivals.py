#!/usr/bin/env python3
"""Times PyTorch's training step of LeNet beside dlc's, on this machine's GPU. Needs torch alone.

usage: rivals.py [--device cuda] [--modes eager,compile,reduce-overhead] [--steps 200]
Prints one JSON object a line: mode, precision, median / min / max ms of a step. A step is forward, loss, backward, SGD with
momentum and weight decay (fused), strict float32, channels_last, cudnn.benchmark on; as dlc-run bench, each step is waited for.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def measure(mode, device, steps):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    net = lenet().to(device).train().to(memory_format=torch.channels_last)
    image = torch.rand(BATCH, 1, 28, 28, device=device).contiguous(memory_format=torch.channels_last)
    label = torch.randint(0, 10, (BATCH,), device=device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, fused=True)
    run = net if mode == "eager" else torch.compile(net, mode=None if mode == "compile" else mode)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def step():
        F.cross_entropy(run(image), label).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(20):
        step()
    times = []
    for _ in range(steps):
        wait()
        start = time.perf_counter()
        step()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return {"rival": "pytorch", "version": torch.__version__, "mode": mode, "precision": "f32", "batch": BATCH,
            "median_ms": round(statistics.median(times), 4), "min_ms": round(min(times), 4), "max_ms": round(max(times), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--modes", default="eager,compile,reduce-overhead")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    for mode in options.modes.split(","):
        try:
            result = measure(mode, options.device, options.steps)
        except Exception as error:  # a mode that this PyTorch cannot run is a line of the record
            result = {"rival": "pytorch", "mode": mode, "error": (str(error) or repr(error)).splitlines()[0][:200]}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
