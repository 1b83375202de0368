"""Gradients of slopes.dl, and gradients of them, against central differences in float64: the first sample is x, the others have one
element moved up or down.

usage: check_slopes.py write FILE | check OUTPUTS

Truncation is a sixth of the squared step times the third derivative, rounding 1e-16 by the step: both stay below 1e-8 here.
"""
import math
import sys

from tensor_file import load, save

SIZE, STEP = 12, 1e-5
WEIGHTS = [math.cos(1 + 3 * i) for i in range(48)]
# No two are equal, none is within a step of 0 or another place where a formula has a corner.
X = [0.31, -1.72, 2.45, -0.64, 1.13, -2.91, 0.87, 1.94, -1.18, -0.27, 3.07, 0.56]


def write(path):
    samples = [list(X)]
    for i in range(SIZE):
        for step in (STEP, -STEP):
            samples.append([x + step * (i == j) for j, x in enumerate(X)])
    save(path, {"x": ([len(samples), SIZE], sum(samples, []), "F64"),
                "w": ([len(samples), len(WEIGHTS)], WEIGHTS * len(samples), "F64")})


def compare(what, found, values):
    """`found`, a gradient at x, with the differences of `values`, one a sample."""
    expected = [(values[1 + 2 * i] - values[2 + 2 * i]) / (2 * STEP) for i in range(SIZE)]
    limit = 1e-6 * max(1e-3, *map(abs, expected))
    for i in range(SIZE):
        assert abs(found[i] - expected[i]) <= limit, f"{what}, element {i}: the gradient is {found[i]}, central differences give {expected[i]}"
    assert any(found), f"{what}: no gradient"


def check(path):
    found = load(path)
    samples = 2 * SIZE + 1
    count = len(found["value"]) // samples
    for k in range(count):
        slopes = [found["slope"][(n * count + k) * SIZE:][:SIZE] for n in range(samples)]
        compare(f"result {k}", slopes[0], [found["value"][n * count + k] for n in range(samples)])
        weighted = [sum(s * w for s, w in zip(slope, WEIGHTS[-SIZE:])) for slope in slopes]
        compare(f"result {k}, of its gradient", found["curve"][k * SIZE:(k + 1) * SIZE], weighted)
    print(count, "gradients agree, and gradients of them")


check(sys.argv[2]) if sys.argv[1] == "check" else write(sys.argv[2])
