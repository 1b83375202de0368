"""The weights of masters.dl: each the neighbour in 16 bits that its draw chooses, as dl.stochastic_round and dl.random state it.

usage: check_masters.py write FILE DATA | check OUTPUTS PROGRAM DIGITS SEED STEP STEPS    PROGRAM: what dlc --emit=dl-train printed
"""
import re
import sys

from check_random import philox
from tensor_file import load, save

ELEMENTS, STEP = 64 * 40, 2.0 ** -12


def draw(number, key):
    bits = number + key & 0xFFFFFFFF
    bits = (bits ^ bits >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    bits = (bits ^ bits >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return ((bits ^ bits >> 16) >> 8) / 2 ** 24


def main():
    if sys.argv[1] == "write":
        save(sys.argv[2], {"x": ([4, 64], [1.0] * 4 * 64)})
        return save(sys.argv[3], {"train/x": ([64, 64], [1.0] * 64 * 64)})
    found, program = load(sys.argv[2]), open(sys.argv[3]).read()
    digits, seed, first, steps = (int(number) for number in sys.argv[4:])
    (name,) = re.findall(r"dl.constant dense<(-?\d+)> : tensor<1xi32>", program)
    (path,) = set(re.findall(r"dl.random bits .* path = (-?\d+)", program))
    unit, expected = 2.0 ** -digits, [1.0] * ELEMENTS
    for step in range(first, first + steps):
        key = philox(seed, (0, int(name) & 0xFFFFFFFF, step, int(path) & 0xFFFFFFFF))[0]
        for i, value in enumerate(expected):
            parts, rest = divmod(value + STEP, unit)
            expected[i] = (parts + (draw(i, key) < rest / unit)) * unit
    assert list(found["w"]) == expected, [(i, *pair) for i, pair in enumerate(zip(found["w"], expected)) if pair[0] != pair[1]][:5]
    # All of them together move by what one of f32 would, within four standard deviations of what chance does.
    moved = sum(expected) / ELEMENTS - 1
    deviation = (steps * STEP * unit / ELEMENTS) ** 0.5
    assert abs(moved - steps * STEP) < 4 * deviation, (moved, steps * STEP, deviation)
    if "w.ema" in found:
        assert list(found["w.ema"]) != expected and max(abs(a - b) for a, b in zip(found["w.ema"], expected)) < steps * unit
    print(f"{ELEMENTS} weights agree, {len(set(expected))} values")


main()
