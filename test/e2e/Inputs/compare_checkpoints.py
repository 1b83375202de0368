"""Are two checkpoints the same up to rounding? Tensors that one alone has are named.

usage: compare_checkpoints.py A B LIMIT
"""
import json
import math
import struct
import sys


def tensors(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    return {name: struct.unpack(f"<{(info['data_offsets'][1] - info['data_offsets'][0]) // 4}f", data[slice(*info["data_offsets"])])
            for name, info in header.items() if name != "__metadata__"}


def main():
    a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
    for name in sorted(set(a) | set(b)):
        if name not in a or name not in b:
            values = a.get(name) or b.get(name)
            print("alone", name, "zero" if not any(values) else "not zero")
            continue
        distance = math.sqrt(sum((x - y) ** 2 for x, y in zip(a[name], b[name], strict=True)))
        error = distance / math.sqrt(sum(y * y for y in b[name]))
        if not error <= float(sys.argv[3]):
            sys.exit(f"{name} differs: error {error:.2e}")
        print("same", name)


main()
