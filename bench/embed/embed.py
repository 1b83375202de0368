"""Times what Python pays for a step and for an inference of one sample. Zeros are what it trains on; bench-embed times the same step from
C++ and C. With --beside, in turns with the same entries as `dlc-run bench` times them.

usage: embed.py [--beside DLC_RUN] MODULE.so [STEPS [ROUNDS]]     a line of JSON
"""
import argparse
import json
import statistics
import subprocess
import time

import numpy

import dlc


def microseconds(function, arrays, steps):
    """The median, as that of `dlc-run bench` is one."""
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        function(arrays)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def bench(tool, module, kind, steps):
    """The median of the module's first entry of this kind, in microseconds."""
    def ask(*command):
        return json.loads(subprocess.run([tool, *command, "--json"], check=True, capture_output=True, text=True).stdout.splitlines()[-1])

    entry = next(entry["name"] for entry in ask("inspect", module)["entries"] if entry["kind"] == kind)
    return ask("bench", module, "--entry", entry, "--steps", str(steps))["median_ms"] * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside")
    parser.add_argument("module")
    parser.add_argument("steps", nargs="?", type=int, default=100)
    parser.add_argument("rounds", nargs="?", type=int, default=7)
    given = parser.parse_args()
    batch = {}

    def zeros(epoch, number, inputs):
        batch.update({name: numpy.zeros_like(array) for name, array in inputs.items()})
        return batch

    start = time.perf_counter()
    run = dlc.Run(given.module, zeros, batches_per_epoch=1_000_000, steps=1)
    run.train(progress=False)
    figures = {"module": given.module, "first_step_ms": round((time.perf_counter() - start) * 1e3, 3)}
    sample = {name: array[:1] for name, array in batch.items() if array.dtype.kind == "f"}
    for name, kind, function, arrays in [("step", "train", run.step, batch), ("predict", "infer", run.predict, sample)]:
        own, tool = [], []
        for _ in range(given.rounds):
            own.append(microseconds(function, arrays, given.steps))
            if given.beside:
                tool.append(bench(given.beside, given.module, kind, given.steps))
        figures[f"{name}_us"] = round(statistics.median(own), 3)
        if tool:
            figures[f"{name}_tool_us"] = round(statistics.median(tool), 3)
            figures[f"{name}_beyond_us"] = round(statistics.median(mine - its for mine, its in zip(own, tool)), 3)
    print(json.dumps({**figures, "steps": given.steps, "rounds": given.rounds}))


if __name__ == "__main__":
    main()
