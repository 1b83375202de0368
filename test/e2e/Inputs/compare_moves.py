"""How far a tensor moved from FROM to B, over how far from FROM to A. usage: compare_moves.py FROM A B NAME"""
import math
import sys

from tensor_file import load

start, a, b = (load(path)[sys.argv[4]] for path in sys.argv[1:4])
length = lambda to: math.sqrt(sum((x - y) ** 2 for x, y in zip(to, start, strict=True)))
print(f"{length(b) / length(a):.4f}")
