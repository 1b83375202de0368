"""Makes data that a small model can learn, in the formats that --data takes besides IDX.

usage: make_data.py FOLDER    digits.safetensors, digits.npz (stored) and cifar/: pictures of 3 x 32 x 32 bytes, bright where their label says
"""
import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.dirname(__file__))
import tensor_file

folder = sys.argv[1]
random.seed(1)


def samples(count):
    """Labels, and pictures of which the stripe of the label is bright."""
    labels = [random.randrange(10) for _ in range(count)]
    pictures = [bytes(random.randrange(40) + (200 if pixel // 3 % 10 == label else 0) for pixel in range(3 * 32 * 32)) for label in labels]
    return labels, pictures


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


os.makedirs(f"{folder}/cifar", exist_ok=True)
arrays = {}
with zipfile.ZipFile(f"{folder}/digits.npz", "w") as archive:
    for prefix, count, files in (("", 256, [f"data_batch_{number}.bin" for number in range(1, 6)]), ("test.", 64, ["test_batch.bin"])):
        labels, pictures = samples(count)
        records = [bytes([label]) + picture for label, picture in zip(labels, pictures)]
        for number, file in enumerate(files):
            with open(f"{folder}/cifar/{file}", "wb") as out:
                out.write(b"".join(records[count * number // len(files):count * (number + 1) // len(files)]))
        wide = struct.pack(f"<{count}q", *labels)
        archive.writestr(f"{prefix}picture.npy", npy("|u1", (count, 3, 32, 32), b"".join(pictures)))
        archive.writestr(f"{prefix}class.npy", npy("<i8", (count,), wide))
        arrays[f"{prefix}picture"] = ([count, 3, 32, 32], b"".join(pictures), "U8")
        arrays[f"{prefix}class"] = ([count], labels, "I64")
tensor_file.save(f"{folder}/digits.safetensors", arrays)
