"""Makes random samples for a compiled model, to try it without data of its own: it can learn them by heart.

usage: random_data.py MODULE.so SAMPLES FILE.safetensors

Each input of the training steps gets SAMPLES samples, the same in each run: floats from 0 to 1, bytes, or classes. The module is asked
through `dlc-run inspect`. Samples lie along an array's first axis, whichever axis of the input counts them. Prints the arrays; exits 1
if an input has no samples of numbers.
"""
import array
import json
import math
import random
import struct
import subprocess
import sys

NAMES = {"f32": "F32", "f64": "F64", "i32": "I32", "i64": "I64", "u8": "U8"}


def values(dtype, classes, count):
    """`count` random values of a type, as little-endian bytes."""
    if dtype == "u8":
        return random.randbytes(count)
    if dtype in ("f32", "f64"):
        return array.array("f" if dtype == "f32" else "d", (random.random() for _ in range(count))).tobytes()
    return array.array("i" if dtype == "i32" else "q", (random.randrange(classes) for _ in range(count))).tobytes()


def main():
    module, samples, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    random.seed(1)
    inspected = subprocess.run(["dlc-run", "inspect", module, "--json"], check=True, capture_output=True, text=True).stdout
    header, data = {}, b""
    for entry in json.loads(inspected)["entries"]:
        for each in entry["inputs"] if entry["kind"] == "train" else []:
            name, dtype, shape = each["name"], each["dtype"], each["shape"]
            if name in header:
                continue
            if "batch_axis" not in each or dtype not in NAMES:
                sys.exit(f"random_data.py: input '{name}', {dtype}{shape}, has no samples of numbers")
            del shape[each["batch_axis"]]
            made = values(dtype, each.get("classes", 2), samples * math.prod(shape))
            header[name] = {"dtype": NAMES[dtype], "shape": [samples, *shape], "data_offsets": [len(data), len(data) + len(made)]}
            data += made
            print(f"{name}: {dtype}{[samples, *shape]}")
    text = json.dumps(header).encode()
    with open(file, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
