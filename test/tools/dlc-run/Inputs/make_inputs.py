"""Writes inputs of the small model: a training batch, or the given number of images alone.

usage: make_inputs.py FILE [IMAGES]
"""
import json
import struct
import sys

images = int(sys.argv[2]) if len(sys.argv) > 2 else 8
image = struct.pack(f"<{images * 16}f", *((i * 37 % 101) / 101 for i in range(images * 16)))
header = {"image": {"dtype": "F32", "shape": [images, 1, 4, 4], "data_offsets": [0, len(image)]}}
label = b""
if len(sys.argv) == 2:
    label = struct.pack("<8i", *(i % 4 for i in range(8)))
    header["label"] = {"dtype": "I32", "shape": [8], "data_offsets": [len(image), len(image) + len(label)]}
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + image + label)
