"""Writes arrays as NumPy and safetensors do, without them.

usage: write_arrays.py FILE NAME:TYPE:SHAPE[:MODULUS[:SCALE[:FIRST]]]...     FILE is .npz, .npy (one array, whose name is left out) or .safetensors
TYPE is NumPy's (f4, f8, f2, i1, i2, i4, i8, u1, u2, u4, b1, or any descr such as <U3), SHAPE its extents (512x3x32x32). Element i is
FIRST + (i % MODULUS) * SCALE; by default 0, 7 and 1, of floats 1/8.
"""
import io
import json
import struct
import sys
import zipfile

CODES = {"f4": "f", "f8": "d", "f2": "e", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "b1": "?"}
STORED = {"f4": "F32", "f8": "F64", "f2": "F16", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "b1": "BOOL"}


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def main():
    file, arrays = sys.argv[1], []
    for text in sys.argv[2:]:
        name, kind, extents, *numbers = text.split(":")
        shape = tuple(int(extent) for extent in extents.split("x") if extent)
        modulus = int(numbers[0]) if numbers else 7
        scale = float(numbers[1]) if len(numbers) > 1 else 1 / 8 if kind[0] == "f" else 1
        first = float(numbers[2]) if len(numbers) > 2 else 0
        count = 1
        for extent in shape:
            count *= extent
        values = [first + i % modulus * scale for i in range(count)]
        if kind in CODES:
            values = values if kind[0] == "f" else [int(value) for value in values]
            data = struct.pack(f"<{count}{CODES[kind]}", *values)
        else:
            data = bytes(4 * int(kind[2:] or 1) * count)
        arrays.append((name, kind, shape, data))
    if file.endswith(".safetensors"):
        header, at = {}, 0
        for name, kind, shape, data in arrays:
            header[name] = {"dtype": STORED[kind], "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        text = json.dumps(header).encode()
        content = struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in arrays)
    else:
        stored = {name: npy(kind if kind not in CODES else ("|" if kind[1] == "1" else "<") + kind, shape, data) for name, kind, shape, data in arrays}
        content = next(iter(stored.values())) if file.endswith(".npy") else None
        if content is None:
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                for name, data in stored.items():
                    archive.writestr(f"{name}.npy", data)
            content = buffer.getvalue()
    with open(file, "wb") as out:
        out.write(content)


if __name__ == "__main__":
    main()
