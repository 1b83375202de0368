"""Clipped gradients by their definition, PyTorch's, in float64.

usage: check_clip.py write FILE [SCALE] | check KIND LIMIT STEP [SCALE [ROUNDING]] | check-f64 STEP
The gradients are SCALE times X and Y; what is compared may be off by ROUNDING of itself.
"""
import math
import struct
import sys

from tensor_file import load, save

X = [0.0227, 0.6891, -0.9808, -0.5759, -0.4110]
Y = [0.8201, -0.4612, -0.0284, -0.1597, 0.7680, 0.1200, -0.6423]
# Of f32: of the input, of the limit, and of the product. Norms and factors are of f64.
ROUNDING = 2e-7
# What LARS is given, with no epsilon: the parameters' first value, its rate and the trust coefficient.
START, RATE, TRUST = 0.5, 0.1, 0.01


def norm(values):
    largest = max(abs(v) for v in values)
    return largest * math.sqrt(sum((v / largest) ** 2 for v in values))


def clipped(kind, limit, scale):
    x, y = ([v * scale for v in part] for part in (X, Y))
    if kind == "value":
        return [[max(-limit, min(limit, v)) for v in part] for part in (x, y)]
    parts = [norm(x), norm(y)] if kind == "parameter_norm" else [norm(x + y)] * 2
    return [[v * min(1, limit / (size + 1e-6)) for v in part] for part, size in zip((x, y), parts)]


def lars(scale):
    """What is subtracted: the direction of the gradient, as long as a share of the parameter is."""
    steps = []
    for part in (X, Y):
        length = norm([v * scale for v in part])
        steps.append([START - RATE * (v * scale) * (TRUST * norm([START] * len(part)) / length) for v in part])
    return [[-v for v in part] for part in steps]


def check_f64(found):
    """Gradients in f64 are multiplied by one factor in f64."""
    given = struct.unpack(f"<{len(Y)}f", struct.pack(f"<{len(Y)}f", *Y))
    factors = [-q / y for q, y in zip(found["q"], given, strict=True)]
    assert max(factors) - min(factors) <= 4e-16, f"not one factor: {factors}"


def main():
    what, *rest = sys.argv[1:]
    if what == "write":
        scale = float(rest[1]) if len(rest) > 1 else 1
        return save(rest[0], {"x": ([1, 5], [v * scale for v in X]), "y": ([1, 7], [v * scale for v in Y])})
    if what == "check-f64":
        return check_f64(load(rest[0]))
    kind, limit, file, *numbers = rest
    scale, rounding = [*map(float, numbers), *[1, ROUNDING][len(numbers):]]
    found = load(file)
    expected = lars(scale) if kind == "lars" else clipped(kind, float(limit), scale)
    for name, wanted in zip("pq", expected):
        for a, b in zip(found[name], wanted, strict=True):
            assert abs(-a - b) <= rounding * abs(b), f"{name}: {found[name]}, expected {wanted} negated"
    print("clipped as", kind)


main()
