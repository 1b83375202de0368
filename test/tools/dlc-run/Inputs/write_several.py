"""Writes samples of two inputs and two targets, which several.dl takes, in each format that has names: the same numbers in all.

usage: write_several.py FOLDER
    several.h5 is written where there is h5py; tests have it among their inputs
"""
import csv
import json
import random
import struct
import sys
import zipfile

folder = sys.argv[1]
draw = random.Random(5)


def sample():
    # Numbers that are the same in text, f32 and f64.
    size, kind = [draw.randrange(-64, 65) / 64 for _ in range(2)], draw.randrange(5)
    return {"size": size, "kind": [kind], "mass": [size[0] * 0.5 + kind * 0.25], "label": [int(size[1] > 0) + int(kind > 2)]}


KINDS = {"size": ("f", "F32"), "kind": ("i", "I32"), "mass": ("f", "F32"), "label": ("i", "I32")}
splits = {"": [sample() for _ in range(96)], "test.": [sample() for _ in range(20)]}
arrays = {}
for prefix, samples in splits.items():
    for name, (kind, dtype) in KINDS.items():
        numbers = [number for each in samples for number in each[name]]
        shape = (len(samples), 2) if name == "size" else (len(samples),)
        arrays[prefix + name] = (shape, dtype, kind, numbers, struct.pack(f"<{len(numbers)}{kind}", *numbers))

header, data = {}, b""
for name, (shape, dtype, _, _, content) in arrays.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
    data += content
text = json.dumps(header).encode()
with open(f"{folder}/several.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)

with zipfile.ZipFile(f"{folder}/several.npz", "w", zipfile.ZIP_DEFLATED) as file:
    for name, (shape, _, kind, _, content) in arrays.items():
        head = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        file.writestr(f"{name}.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + content)

for name, samples in (("train", splits[""]), ("test", splits["test."])):
    with open(f"{folder}/{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([["label", "size.0", "size.1", "mass", "kind"],
                                    *([s["label"][0], *s["size"], s["mass"][0], s["kind"][0]] for s in samples)])

try:
    import h5py
except ImportError:
    sys.exit(0)
with h5py.File(f"{folder}/several.h5", "w") as file:
    for name, (shape, _, kind, numbers, _) in arrays.items():
        made = file.create_dataset(name, shape, dtype=">f8" if kind == "f" else "i1", chunks=(16, *shape[1:]), compression="gzip")
        made[...] = [numbers[i:i + 2] for i in range(0, len(numbers), 2)] if name.endswith("size") else numbers
