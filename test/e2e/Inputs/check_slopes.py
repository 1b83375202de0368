"""Gradients of slopes.dl against central differences in float64: the first sample is x, the others have one element moved up or down.

usage: check_slopes.py write FILE | check OUTPUTS

Truncation is a sixth of the squared step times the third derivative, rounding 1e-16 by the step: both stay below 1e-8 here.
"""
import math
import sys

from tensor_file import load, save

SIZE, STEP, WEIGHTS = 12, 1e-5, 48
# No two are equal, none is within a step of 0 or another place where a formula has a corner.
X = [0.31, -1.72, 2.45, -0.64, 1.13, -2.91, 0.87, 1.94, -1.18, -0.27, 3.07, 0.56]


def write(path):
    samples = [list(X)]
    for i in range(SIZE):
        for step in (STEP, -STEP):
            samples.append([x + step * (i == j) for j, x in enumerate(X)])
    weights = [math.cos(1 + 3 * i) for i in range(WEIGHTS)]
    save(path, {"x": ([len(samples), SIZE], sum(samples, []), "F64"), "w": ([len(samples), WEIGHTS], weights * len(samples), "F64")})


def check(path):
    found = load(path)
    count = len(found["value"]) // (2 * SIZE + 1)
    for k in range(count):
        value = [found["value"][n * count + k] for n in range(2 * SIZE + 1)]
        slope = found["slope"][k * SIZE:(k + 1) * SIZE]
        expected = [(value[1 + 2 * i] - value[2 + 2 * i]) / (2 * STEP) for i in range(SIZE)]
        limit = 1e-6 * max(1e-3, *map(abs, expected))
        for i in range(SIZE):
            assert abs(slope[i] - expected[i]) <= limit, f"result {k}, element {i}: the gradient is {slope[i]}, central differences give {expected[i]}"
        assert any(slope), f"result {k}: no gradient"
    print(count, "gradients agree")


check(sys.argv[2]) if sys.argv[1] == "check" else write(sys.argv[2])
