"""Reads and writes safetensors files of f32, f64, f16, i32, i64 and u8, and reads bf16, for the scripts beside it."""
import json
import struct

KINDS = {"F32": "f", "F64": "d", "F16": "e", "I32": "i", "I64": "q", "U8": "B"}


def load(path):
    """Each tensor of the file by name, as a tuple of its numbers; those of other dtypes are left out."""
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    found = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        if info["dtype"] == "BF16":  # the upper half of an f32
            halves = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            found[name] = struct.unpack(f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves)))
        if info["dtype"] in KINDS:
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
