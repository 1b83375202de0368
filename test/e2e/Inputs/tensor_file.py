"""Reads and writes safetensors files of f32, f64, i32, i64 and u8 for the scripts beside it."""
import json
import struct

KINDS = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "U8": "B"}


def load(path):
    """Each tensor of the file by name, as a tuple of its numbers; those of other dtypes are left out."""
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    found = {}
    for name, info in header.items():
        if name != "__metadata__" and info["dtype"] in KINDS:
            begin, end = info["data_offsets"]
            kind = KINDS[info["dtype"]]
            found[name] = struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", data[begin:end])
    return found


def save(path, tensors):
    """name: (shape, numbers), or (shape, numbers, "I32"), in the order given."""
    header, data = {}, b""
    for name, (shape, numbers, *dtype) in tensors.items():
        dtype = dtype[0] if dtype else "F32"
        part = struct.pack(f"<{len(numbers)}{KINDS[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
