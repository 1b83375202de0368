#!/usr/bin/env python3
"""Which of cuDNN's engines each convolution of the networks gets on a GPU that need not be here, and in how much workspace.

usage: engines.py DLC DEVICE.json [--precision f32|bf16|f16|tf32] [--summary]     DEVICE.json: what `dlc-run device` prints of the GPU
Prints one JSON object a line for each convolution of a training step, in the order of the step: network, layer, stage, engine with
its knobs, bytes of workspace; an engine of null is a kernel of dlc. --summary prints, for each network, the engines of each direction
and how many convolutions have them.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess

root = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = {"alexnet": root / "bench/gpu/alexnet.dl", "vgg16": root / "bench/gpu/vgg16.dl",
            "resnet50": root / "examples/resnet50/resnet50.dl"}
STAGES = ("forward", "backward_data", "backward_filter")


def convolutions(report):
    """Layer, stage and schedule of each convolution of the training step, from dlc's report."""
    schedules = dict(re.findall(r"^  (\S*conv\d\S*) +((?:library|cuda)\S*: .*)$", report, re.M))
    step = report.split("\ntrain_step, ")[1].split("\n\n")[0]
    for layer, stage, kernel in re.findall(r"^  (\S+) +(\S+) .* (\S+)$", step, re.M):
        if kernel in schedules and stage in STAGES:
            yield layer, stage, schedules[kernel]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dlc")
    parser.add_argument("device")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    for network, source in NETWORKS.items():
        command = [options.dlc, source, "--target=cuda:simt", "--conv-algorithm=library", f"--precision={options.precision}", f"--cudnn-device={options.device}", "--emit=report"]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        counts, most = {stage: collections.Counter() for stage in STAGES}, 0
        for layer, stage, schedule in convolutions(report):
            found = re.search(r"engine (\d+)([ \d]*), workspace (\d+)", schedule)
            row = {"network": network, "layer": layer, "stage": stage, "engine": int(found[1]) if found else None,
                   "knobs": found[2].strip() if found else "", "workspace": int(found[3]) if found else 0}
            counts[stage][row["engine"]] += 1
            most = max(most, row["workspace"])
            if not options.summary:
                print(json.dumps(row))
        if options.summary:
            for stage in STAGES:
                print(network, stage, *(f"{engine}:{count}" for engine, count in sorted(counts[stage].items(), key=str)))
            print(network, "most workspace", most)


if __name__ == "__main__":
    main()
