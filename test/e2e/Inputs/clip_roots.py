"""Data of clip_root.dl.

usage: clip_roots.py FILE       sixteen samples, one of which is 0
       clip_roots.py kept FILE  the checkpoint is of a step before that one, and finite
"""
import json
import math
import struct
import sys

from tensor_file import load, save

if sys.argv[1] == "kept":
    values = [v for numbers in load(sys.argv[2]).values() for v in numbers]
    assert values and all(map(math.isfinite, values)), values
    raw = open(sys.argv[2], "rb").read()
    step = int(json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"]["step"])
    assert 0 < step < 16, step
else:
    save(sys.argv[1], {"c": ([16], [1] * 15 + [0])})
