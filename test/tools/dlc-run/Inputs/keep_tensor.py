"""Writes tensors of a safetensors file into another, without metadata, as another program would.

usage: keep_tensor.py FROM TO NAME[=NEW]...    under the name NEW if one is given
"""
import json
import struct
import sys

source, target, *names = sys.argv[1:]
content = open(source, "rb").read()
size = struct.unpack("<Q", content[:8])[0]
tensors, header, data = json.loads(content[8:8 + size]), {}, b""
for name in names:
    old, _, new = name.partition("=")
    begin, end = tensors[old]["data_offsets"]
    header[new or old] = {**tensors[old], "data_offsets": [len(data), len(data) + end - begin]}
    data += content[8 + size + begin:8 + size + end]
text = json.dumps(header).encode()
open(target, "wb").write(struct.pack("<Q", len(text)) + text + data)
