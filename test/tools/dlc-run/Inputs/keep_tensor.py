"""Writes one tensor of a safetensors file into another, without metadata, as another program would.

usage: keep_tensor.py FROM TO NAME
"""
import json
import struct
import sys

source, target, name = sys.argv[1:]
content = open(source, "rb").read()
size = struct.unpack("<Q", content[:8])[0]
tensor = json.loads(content[8:8 + size])[name]
begin, end = tensor["data_offsets"]
header = json.dumps({name: {**tensor, "data_offsets": [0, end - begin]}}).encode()
open(target, "wb").write(struct.pack("<Q", len(header)) + header + content[8 + size + begin:8 + size + end])
