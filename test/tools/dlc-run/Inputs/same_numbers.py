"""Checks that two files of JSON have the same numbers, to rounding. usage: same_numbers.py FILE FILE NAME..."""
import json
import sys

a, b = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for name in sys.argv[3:]:
    assert abs(a[name] - b[name]) <= 1e-5 * abs(b[name]), f"{name}: {a[name]} and {b[name]}"
