"""Packs some of ../pictures as tar shards, TFRecord, RecordIO and LMDB, for test/runtime/Data/PackedPicturesTest.cpp, by code that shares
nothing with dlc's: Python's tarfile, google-crc32c, lmdb, and the layouts of the formats' documents.

usage: python3 make.py        in this folder, with lmdb and google-crc32c of PyPI; this is what 1.4.1 and 1.9.0 made
"""
import io
import json
import os
import shutil
import struct
import tarfile

import google_crc32c
import lmdb

PICTURES = ["colours.jpg", "grey.png", "lossy.webp", "palette.png", "progressive.jpg"]
LABELS = [3, 0, 7, 999, 1]


def samples():
    for name, label in zip(PICTURES, LABELS):
        with open("../pictures/" + name, "rb") as file:
            yield name, file.read(), label


# WebDataset: keys up to the first dot of the last part of a path.

def add(tar, name, content, **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    tar.addfile(info, io.BytesIO(content))


def write_tar(path, form, folder):
    with tarfile.open(path, "w", format=form) as tar:
        add(tar, folder, b"", type=tarfile.DIRTYPE)
        add(tar, "README", b"no sample\n")
        add(tar, folder + "/._hidden.jpg", b"no picture")
        for i, (name, content, label) in enumerate(samples()):
            base, ending = name.split(".")
            add(tar, f"{folder}/{base}.{ending.upper() if i == 0 else ending}", content, mtime=1700000000.25, uname="somebody")
            if i == 1:
                add(tar, f"{folder}/{base}.json", json.dumps({"name": "a", "label": label}).encode())
            elif i == 2:
                add(tar, f"{folder}/{base}.json", str(label).encode())
            elif i == 3:
                add(tar, f"{folder}/{base}.json", b'{"width": 3}')
                add(tar, f"{folder}/{base}.cls", f" {label}\n".encode())
            else:
                add(tar, f"{folder}/{base}.cls", str(label).encode())
            add(tar, f"{folder}/{base}.seg.png", b"a mask")
            add(tar, f"{folder}/link-{i}.jpg", b"", type=tarfile.SYMTYPE, linkname=name)


# Protocol buffers.

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


# TensorFlow: tf.train.Example in TFRecord.

def masked(content):
    crc = google_crc32c.value(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(content):
    length = struct.pack("<Q", len(content))
    return length + masked(length) + content + masked(content)


def feature(key, value):
    return message(1, message(1, key.encode()) + message(2, value))


def example(name, content, label, packed):
    numbers = message(1, varint(label)) if packed else number(1, label)
    return message(1, feature("image/class/text", message(1, message(1, name.encode()))) + feature("image/height", message(3, message(1, varint(37)))) +
                   feature("image/encoded", message(1, message(1, content))) + feature("image/class/label", message(3, numbers)) +
                   feature("image/object/bbox/xmin", message(2, message(1, struct.pack("<2f", 0.25, 0.5)))))


# MXNet: IRHeader in RecordIO. A record in which the magic number stands at a multiple of 4 is cut there.

MAGIC = struct.pack("<I", 0xCED7230A)


def part(kind, content):
    return MAGIC + struct.pack("<I", kind << 29 | len(content)) + content + b"\0" * (-len(content) % 4)


def recordio(content):
    pieces, begin = [], 0
    for at in range(0, len(content) // 4 * 4, 4):
        if content[at:at + 4] == MAGIC:
            pieces.append(content[begin:at])
            begin = at + 4
    pieces.append(content[begin:])
    if len(pieces) == 1:
        return part(0, content)
    return b"".join(part(1 if i == 0 else 3 if i + 1 == len(pieces) else 2, piece) for i, piece in enumerate(pieces))


def image_record(labels, number, content):
    if len(labels) == 1:
        return struct.pack("<IfQQ", 0, labels[0], number, 0) + content
    return struct.pack(f"<IfQQ{len(labels)}f", len(labels), 0, number, 0, *labels) + content


def write_recordio(name, records):
    with open(name + ".rec", "wb") as rec, open(name + ".idx", "w") as idx:
        for i, record in enumerate(records):
            idx.write(f"{i}\t{rec.tell()}\n")
            rec.write(recordio(record))


# Caffe: Datum in LMDB.

def datum(shape=(), data=None, label=None, floats=None, encoded=None, packed=True):
    out = b"".join(number(i + 1, extent) for i, extent in enumerate(shape))
    if data is not None:
        out += message(4, data)
    if label is not None:
        out += number(5, label)
    if floats is not None:
        values = [struct.pack("<f", value) for value in floats]
        out += message(6, b"".join(values)) if packed else b"".join(varint(6 << 3 | 5) + value for value in values)
    return out if encoded is None else out + number(7, encoded)


def write_lmdb(path, values):
    shutil.rmtree(path, ignore_errors=True)
    with lmdb.open(path, map_size=1 << 20, subdir=True) as env:
        with env.begin(write=True) as transaction:
            for i, (key, value) in enumerate(values):
                transaction.put(f"{i:08}_{key}".encode(), value)
    os.remove(path + "/lock.mdb")


def main():
    write_tar("ustar.tar", tarfile.USTAR_FORMAT, "a folder")
    write_tar("gnu.tar", tarfile.GNU_FORMAT, "a/" + "long" * 30)
    write_tar("pax.tar", tarfile.PAX_FORMAT, "ä/" + "long" * 70)
    with open("pictures.tfrecord", "wb") as file:
        for i, (name, content, label) in enumerate(samples()):
            file.write(tfrecord(example(name, content, label, packed=i % 2 == 0)))
    tail = b"\0" * 12 + MAGIC + b"1234" + MAGIC + MAGIC + b"end"
    contents = [(label, content + (b"\0" * (-len(content) % 4) + tail if i == 0 else b"")) for i, (_, content, label) in enumerate(samples())]
    write_recordio("pictures", [image_record([label], i, content) for i, (label, content) in enumerate(contents)])
    write_recordio("several", [image_record([label, i], i, content) for i, (label, content) in enumerate(contents)])
    write_lmdb("encoded.lmdb", [(name, datum(data=content, label=label, encoded=True)) for name, content, label in samples()])
    raw = [bytes((7 * i + j) % 256 for j in range(2 * 3 * 5)) for i in range(4)]
    write_lmdb("raw.lmdb", [("x", datum((2, 3, 5), content, i, encoded=False if i else None)) for i, content in enumerate(raw)])
    write_lmdb("floats.lmdb", [("x", datum((1, 2, 2), None, i, [i, 0.5, -1, 1e9], packed=i % 2 == 0)) for i in range(3)])


if __name__ == "__main__":
    main()
