"""The batch that the program in docs/runtime.md makes, for counted.dl.

usage: write_batch.py FILE | compare A B    compare: all of A's tensors are in B, with the same numbers
"""
import json
import struct
import sys


def load(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    return {name: data[slice(*info["data_offsets"])] for name, info in header.items() if name != "__metadata__"}


def main():
    if sys.argv[1] == "compare":
        first, second = map(load, sys.argv[2:])
        assert first and all(second[name] == numbers for name, numbers in first.items()), (first.keys(), second.keys())
        return
    image = struct.pack("<320f", *(i % 7 / 8 for i in range(320)))
    label = struct.pack("<16i", *(i % 10 for i in range(16)))
    header = json.dumps({"image": {"dtype": "F32", "shape": [16, 20], "data_offsets": [0, 1280]},
                         "label": {"dtype": "I32", "shape": [16], "data_offsets": [1280, 1344]}}).encode()
    open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header + image + label)


main()
