"""Clipped gradients by their definition, PyTorch's, in float64.

usage: check_clip.py write FILE | check KIND LIMIT STEP | check-f64 STEP
"""
import math
import struct
import sys

from tensor_file import load, save

X = [0.0227, 0.6891, -0.9808, -0.5759, -0.4110]
Y = [0.8201, -0.4612, -0.0284, -0.1597, 0.7680, 0.1200, -0.6423]
# One rounding of f32 for each of: the sum of squares, its root, the division, the product.
ROUNDING = 1e-6


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def clipped(kind, limit):
    if kind == "value":
        return [[max(-limit, min(limit, v)) for v in part] for part in (X, Y)]
    parts = [norm(X), norm(Y)] if kind == "parameter_norm" else [norm(X + Y)] * 2
    return [[v * min(1, limit / (size + 1e-6)) for v in part] for part, size in zip((X, Y), parts)]


def check_f64(found):
    """Gradients in f64 are multiplied by one factor in f64, an f32 itself."""
    given = struct.unpack(f"<{len(Y)}f", struct.pack(f"<{len(Y)}f", *Y))
    factors = [-q / y for q, y in zip(found["q"], given, strict=True)]
    assert max(factors) - min(factors) <= 4e-16, f"not one factor: {factors}"


def main():
    if sys.argv[1] == "write":
        return save(sys.argv[2], {"x": ([1, 5], X), "y": ([1, 7], Y)})
    if sys.argv[1] == "check-f64":
        return check_f64(load(sys.argv[2]))
    found = load(sys.argv[4])
    for name, wanted in zip("pq", clipped(sys.argv[2], float(sys.argv[3]))):
        for a, b in zip(found[name], wanted, strict=True):
            assert abs(-a - b) <= ROUNDING, f"{name}: {found[name]}, expected {wanted} negated"
    print("clipped as", sys.argv[2])


main()
