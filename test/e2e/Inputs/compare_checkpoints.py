"""Are two checkpoints the same up to rounding? Tensors that one alone has are named.

usage: compare_checkpoints.py A B LIMIT
"""
import math
import sys

from tensor_file import load


def main():
    a, b = load(sys.argv[1]), load(sys.argv[2])
    for name in sorted(set(a) | set(b)):
        if name not in a or name not in b:
            values = a.get(name) or b.get(name)
            print("alone", name, "zero" if not any(values) else "not zero")
            continue
        distance = math.sqrt(sum((x - y) ** 2 for x, y in zip(a[name], b[name], strict=True)))
        norm = math.sqrt(sum(y * y for y in b[name]))
        error = distance / norm if norm else distance
        if not error <= float(sys.argv[3]):
            sys.exit(f"{name} differs: error {error:.2e}")
        print("same", name)


main()
