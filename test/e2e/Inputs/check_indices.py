"""A step of indices.dl on numbers of which most have no row and no class, against the formulas in float64.

usage: check_indices.py write START INPUTS | check START INPUTS STEP        START: the parameters before
"""
import math
import sys

from tensor_file import load, save

N, C, W = 8, 5, 3
# Just outside, far outside, and beside the ends of i32, one of them by wrapping around.
NUMBERS = [2, 5, -1, 0, 4, 1 << 30, -(1 << 31), (1 << 31) - 1]
ADDED = [0, -1, 2, 4, 1, 1 << 30, -1, 1]
# Sums of a few roundings of f32 of numbers below 4.
ROUNDING = 2e-6


def wrap(number):
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def main():
    if sys.argv[1] == "write":
        x = [0.25 * ((7 * n) % 11 - 5) for n in range(N * C)]
        save(sys.argv[2], {"table": ([C, W], [0.125 * (n - 7) for n in range(C * W)]), "scale": ([C], [0.5, -1.0, 1.5, 0.25, -0.75])})
        return save(sys.argv[3], {"x": ([N, C], x), "i": ([N, 2], [each for pair in zip(ADDED, NUMBERS) for each in pair], "I32")})
    start, inputs, found = map(load, sys.argv[2:])
    table, scale, x = start["table"], start["scale"], inputs["x"]

    def same(name, values, expected):
        for a, b in zip(values, expected, strict=True):
            assert abs(a - b) <= ROUNDING, f"{name}: {values}, expected {expected}"

    def row(number):
        return table[W * number:W * number + W] if 0 <= number < C else [0.0] * W

    others = [wrap(a + b) for a, b in zip(ADDED, NUMBERS)]
    same("rows", found["rows"], [each for number in NUMBERS for each in row(number)])
    same("words", found["words"], [each for number in others for each in row(number)])
    same("hot", found["hot"], [float(c == number) for number in NUMBERS for c in range(C)])
    moved, slopes, loss = list(table), [0.0] * C, 0.0
    for n in range(N):
        logits = [x[C * n + c] * scale[c] for c in range(C)]
        total = sum(map(math.exp, logits))
        if 0 <= NUMBERS[n] < C:
            loss += (math.log(total) - logits[NUMBERS[n]]) / N + 1 / (N * C)
            for c in range(C):
                slopes[c] += (math.exp(logits[c]) / total - (c == NUMBERS[n])) * x[C * n + c] / N
        for w in range(W):
            if 0 <= NUMBERS[n] < C:
                moved[W * NUMBERS[n] + w] -= 2 * table[W * NUMBERS[n] + w] / (N * W)
            if 0 <= others[n] < C:
                moved[W * others[n] + w] -= 1 / (N * W)
        loss += sum(value * value for value in row(NUMBERS[n])) / (N * W) + sum(row(others[n])) / (N * W)
    same("loss", found["loss"], [loss])
    same("table", found["table"], moved)
    same("scale", found["scale"], [before - slope for before, slope in zip(scale, slopes)])
    print("numbers without a row read nothing")


main()
