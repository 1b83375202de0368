"""A step of two_rates.dl from 0: what the rates take of the inputs, which both are exact.

usage: check_rates.py write FILE | check STEP
"""
import sys

from tensor_file import load, save

X, Y = [3.0], [float(i % 1024 + 1) for i in range(20000)]

if sys.argv[1] == "write":
    save(sys.argv[2], {"x": ([1, 1], X), "y": ([1, 20000], Y)})
else:
    found = load(sys.argv[2])
    assert list(found["p"]) == [-v for v in X], found["p"]
    assert list(found["q"]) == [-v / 2 for v in Y], found["q"]
    print("updated")
