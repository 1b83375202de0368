"""Writes tables of three numbers and a class, each under other names of columns, and the same numbers as arrays.

usage: write_table.py FOLDER
"""
import array
import csv
import json
import random
import struct
import sys

folder = sys.argv[1]
draw = random.Random(7)


def row():
    numbers = [draw.uniform(-1, 1) for _ in range(3)]
    return numbers, (numbers[0] > 0) * 2 + (numbers[1] + numbers[2] > 0)


def write(name, header, rows):
    with open(f"{folder}/{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


train, test = [row() for _ in range(96)], [row() for _ in range(20)]
write("train", ["x.0", "x.1", "x.2", "y"], [[*x, y] for x, y in train])
write("left", ["", "a", "b", "c, \"d\"", "y"], [[i, *x, y] for i, (x, y) in enumerate(train)])
write("other", ["note", "kind", "length", "width", "depth"], [["a, b\nc", y, *x] for x, y in train])
write("broken", ["x0", "x1", "x2", "y"], [[1, 2, 3, 0], [1, "four", 3, 0]])
# Under whatever names: each of the others is tested with it.
write("test", ["y", "x.0", "x.1", "x.2", "kind", "length", "width", "depth"], [[y, *x, y, *x] for x, y in test])

header, data = {}, b""
for prefix, rows in (("", train), ("test.", test)):
    for name, kind, shape, content in (("x", "F32", [len(rows), 3], array.array("f", [n for x, _ in rows for n in x])),
                                       ("y", "I32", [len(rows)], array.array("i", [int(y) for _, y in rows]))):
        header[prefix + name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(content)]}
        data += content.tobytes()
text = json.dumps(header).encode()
with open(f"{folder}/arrays.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
