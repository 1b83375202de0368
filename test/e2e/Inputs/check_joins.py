"""A step of joins.dl: its results, and the gradient of `shift` by going back through the steps.

usage: check_joins.py write INPUTS PARAMETERS | check INPUTS PARAMETERS STEP
"""
import math
import random
import sys

from tensor_file import load, save

N, T, W = 6, 20, 8
# Twenty roundings of numbers up to 1 in a row, and tanh's own error, damped by a half a step.
ERROR = 2e-6


def main():
    if sys.argv[1] == "write":
        draw = random.Random(5)
        save(sys.argv[2], {"x": ([N, T, W], [draw.uniform(-1, 1) for _ in range(N * T * W)])})
        return save(sys.argv[3], {"shift": ([T, W], [draw.uniform(-1, 1) for _ in range(T * W)])})
    x, shift, found = load(sys.argv[2])["x"], load(sys.argv[3])["shift"], load(sys.argv[4])

    def same(name, expected):
        for a, b in zip(found[name], expected, strict=True):
            assert abs(a - b) <= ERROR, f"{name}: {a}, expected {b}"

    h = [[[0.0] * W for _ in range(N)]]
    for t in range(T):
        h.append([[math.tanh(x[(n * T + t) * W + i] + h[t][n][i] / 2 + shift[t * W + i]) for i in range(W)] for n in range(N)])
    steps = h[1:]
    same("first", [v for step in steps for row in step for v in row])
    same("second", [v * v for n in range(N) for step in steps for v in step[n]])
    same("third", [sum(step[n]) / W for n in range(N) for step in steps])
    same("fourth", [v for step in steps for row in step for v in row[:3]])
    gradient = [0.0] * (T * W)
    for n in range(N):
        for i in range(W):
            behind = 0.0
            for t in reversed(range(T)):
                v = steps[t][n][i]
                own = 2 * v / (N * T * W) + 1 / (N * T * W) + 1 / (N * T) / W + (1 / (N * T * 3) if i < 3 else 0)
                behind = (own + behind / 2) * (1 - v * v)
                gradient[t * W + i] += behind
    same("shift", [b - g for b, g in zip(shift, gradient)])
    print("the joins")


main()
