"""Times what Python pays for a step and for an inference of one sample. Zeros are what it trains on; bench-embed times the same step from
C++.

usage: embed.py MODULE.so [STEPS [ROUNDS]]     a line of JSON
"""
import json
import statistics
import sys
import time

import numpy

import dlc


def median_us(function, arrays, steps, rounds):
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(steps):
            function(arrays)
        seconds.append((time.perf_counter() - start) / steps)
    return statistics.median(seconds) * 1e6


def main():
    module, steps, rounds = sys.argv[1], *map(int, [*sys.argv[2:], *(100, 7)[len(sys.argv) - 2:]])
    batch = {}

    def zeros(epoch, number, inputs):
        batch.update({name: numpy.zeros_like(array) for name, array in inputs.items()})
        return batch

    start = time.perf_counter()
    run = dlc.Run(module, zeros, batches_per_epoch=1_000_000, steps=1)
    run.train(progress=False)
    first = time.perf_counter() - start
    sample = {name: array[:1] for name, array in batch.items() if array.dtype.kind == "f"}
    print(json.dumps({"module": module, "first_step_ms": round(first * 1e3, 3),
                      "step_us": round(median_us(run.step, batch, steps, rounds), 3),
                      "predict_us": round(median_us(run.predict, sample, steps, rounds), 3), "steps": steps, "rounds": rounds}))


if __name__ == "__main__":
    main()
