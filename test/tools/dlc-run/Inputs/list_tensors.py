"""Lists the tensors of a safetensors file by name; of a scalar also the value, of others a checksum.

usage: list_tensors.py FILE
"""
import json
import struct
import sys
import zlib

content = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", content[:8])[0]
header = json.loads(content[8:8 + size])
for name in sorted(k for k in header if k != "__metadata__"):
    tensor = header[name]
    at, end = (8 + size + offset for offset in tensor["data_offsets"])
    value = f"crc {zlib.crc32(content[at:end]):08x}"
    if not tensor["shape"]:
        value = struct.unpack("<f" if tensor["dtype"] == "F32" else "<i", content[at:at + 4])[0]
    print(name, tensor["dtype"], tensor["shape"], value)
