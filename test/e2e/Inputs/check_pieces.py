"""A step of pieces.dl on inputs whose results are the pieces before it, and whose gradients are known.

usage: check_pieces.py write FILE | check STEP
"""
import sys

from tensor_file import load, save

N = 3
# One rounding of each of: the mean's factor, its sum over samples, the update, all of numbers below 4.
ROUNDING = 1e-6


def main():
    if sys.argv[1] == "write":
        units = [float(i == n) for n in range(N) for i in range(4)]
        return save(sys.argv[2], {"x": ([N, 2, 16], [1.0] * N * 32), "z": ([N, 5], [1.0] * N * 5), "q": ([N, 4], units)})
    found = load(sys.argv[2])

    def same(name, after, before, gradient):
        for a, b in zip(after, before, strict=True):
            assert abs(a - (b - gradient)) <= ROUNDING, f"{name}: {after}, expected {before} less {gradient}"

    same("table", found["table"][32:64], found["y"][:32], 1 / 32)
    same("narrow", found["narrow"][5:10], found["w"][:5], 1 / 5)
    for n in range(N):
        same("square", found["square"][64 + n:80:4], found["product"][4 * n:4 * n + 4], 1 / 12)
    print("the pieces")


main()
