"""Clipped gradients by their definition, PyTorch's, in float64.

usage: check_clip.py write FILE | check KIND LIMIT STEP
"""
import json
import math
import struct
import sys

X = [0.0227, 0.6891, -0.9808, -0.5759, -0.4110]
Y = [0.8201, -0.4612, -0.0284, -0.1597, 0.7680, 0.1200, -0.6423]
# One rounding of f32 for each of: the sum of squares, its root, the division, the product.
ROUNDING = 1e-6


def save(path):
    data = struct.pack("<12f", *X, *Y)
    text = json.dumps({"x": {"dtype": "F32", "shape": [1, 5], "data_offsets": [0, 20]},
                       "y": {"dtype": "F32", "shape": [1, 7], "data_offsets": [20, 48]}}).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def tensors(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    return {name: struct.unpack(f"<{(info['data_offsets'][1] - info['data_offsets'][0]) // 4}f", data[slice(*info["data_offsets"])])
            for name, info in header.items() if name != "__metadata__" and info["dtype"] == "F32"}


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def clipped(kind, limit):
    if kind == "value":
        return [[max(-limit, min(limit, v)) for v in part] for part in (X, Y)]
    parts = [norm(X), norm(Y)] if kind == "parameter_norm" else [norm(X + Y)] * 2
    return [[v * min(1, limit / (size + 1e-6)) for v in part] for part, size in zip((X, Y), parts)]


def main():
    if sys.argv[1] == "write":
        return save(sys.argv[2])
    found = tensors(sys.argv[4])
    for name, wanted in zip("pq", clipped(sys.argv[2], float(sys.argv[3]))):
        for a, b in zip(found[name], wanted, strict=True):
            assert abs(-a - b) <= ROUNDING, f"{name}: {found[name]}, expected {wanted} negated"
    print("clipped as", sys.argv[2])


main()
