"""Compares what infer prints with --top and --json with the scores that it saves.

usage: check_softmax.py LINES SCORES
"""
import json
import math
import struct
import sys

data = open(sys.argv[2], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
(output,) = (value for name, value in header.items() if name != "__metadata__")
rows, classes = output["shape"]
scores = struct.unpack(f"<{rows * classes}f", data[8 + length:][slice(*output["data_offsets"])])
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
assert lines[-1]["summary"] and len(lines) == rows + 1
for line in lines[:-1]:
    row = scores[line["sample"] * classes:][:classes]
    exponentials = [math.exp(score) for score in row]
    order = sorted(range(classes), key=lambda number: (-row[number], number))
    assert [each["class"] for each in line["top"]] == order and line["prediction"] == order[0]
    for each in line["top"]:
        assert abs(each["probability"] - exponentials[each["class"]] / sum(exponentials)) < 1e-12
        assert each["name"]
print(f"{rows} samples of {classes} classes")
