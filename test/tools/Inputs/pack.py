"""Packs a folder of classes of pictures: the same samples in the same order as images: has them, for each of its splits.

usage: pack.py FOLDER OUT       makes OUT/tar, OUT/tfrecord and OUT/recordio
"""
import io
import os
import struct
import sys
import tarfile


def samples(folder):
    """(key, ending, bytes, class)"""
    for number, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(f"{folder}/{name}")):
            with open(f"{folder}/{name}/{file}", "rb") as content:
                yield f"{name}/{file.replace('.', '_')}", file.rsplit(".", 1)[1], content.read(), number


def write_tar(path, split):
    with tarfile.open(path, "w") as tar:
        for key, ending, content, label in split:
            for name, part in ((f"{key}.{ending}", content), (f"{key}.cls", b"%d" % label)):
                info = tarfile.TarInfo(name)
                info.size = len(part)
                tar.addfile(info, io.BytesIO(part))


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(content):
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def message(field, content):
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([field << 3 | 2]) + length + bytes([size]) + content


def write_tfrecord(path, split):
    with open(path, "wb") as file:
        for _, _, content, label in split:
            features = ((b"image/encoded", message(1, message(1, content))), (b"image/class/label", message(3, message(1, bytes([label])))))
            example = message(1, b"".join(message(1, message(1, key) + message(2, value)) for key, value in features))
            length = struct.pack("<Q", len(example))
            file.write(length + masked(length) + example + masked(example))


def write_recordio(path, split):
    with open(path, "wb") as file:
        for number, (_, _, content, label) in enumerate(split):
            record = struct.pack("<IfQQ", 0, label, number, 0) + content
            file.write(struct.pack("<II", 0xCED7230A, len(record)) + record + b"\0" * (-len(record) % 4))


def main():
    folder, out = sys.argv[1:]
    for name, ending, write in (("tar", "tar", write_tar), ("tfrecord", "tfrecord", write_tfrecord), ("recordio", "rec", write_recordio)):
        os.makedirs(f"{out}/{name}")
        for split in ("train", "val"):
            write(f"{out}/{name}/{split}.{ending}", samples(f"{folder}/{split}"))


if __name__ == "__main__":
    main()
