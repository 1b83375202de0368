"""Writes inputs of the small model: a training batch, or the given number of images, alone or with labels.

usage: make_inputs.py FILE [IMAGES [LABEL,LABEL,...]]
"""
import json
import struct
import sys

images = int(sys.argv[2]) if len(sys.argv) > 2 else 8
image = struct.pack(f"<{images * 16}f", *((i * 37 % 101) / 101 for i in range(images * 16)))
header = {"image": {"dtype": "F32", "shape": [images, 1, 4, 4], "data_offsets": [0, len(image)]}}
labels = [i % 4 for i in range(8)] if len(sys.argv) == 2 else [int(n) for n in sys.argv[3].split(",")] if len(sys.argv) > 3 else []
label = struct.pack(f"<{len(labels)}i", *labels)
if labels:
    header["label"] = {"dtype": "I32", "shape": [len(labels)], "data_offsets": [len(image), len(image) + len(label)]}
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + image + label)
