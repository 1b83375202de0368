"""A batch for examples/gan: 64 images of one grey ramp and numbers as noise. usage: gan_inputs.py FILE"""
import json
import struct
import sys

image = struct.pack("<50176f", *((i % 784) / 392 - 1 for i in range(64 * 784)))
noise = struct.pack("<2048f", *(((i * 37) % 101) / 50 - 1 for i in range(64 * 32)))
header = {"image": {"dtype": "F32", "shape": [64, 1, 28, 28], "data_offsets": [0, len(image)]},
          "noise": {"dtype": "F32", "shape": [64, 32], "data_offsets": [len(image), len(image) + len(noise)]}}
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + image + noise)
