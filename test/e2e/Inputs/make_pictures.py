"""Writes pictures of several sizes that a line could tell apart, as PNG: FOLDER/{train,val}/{blue,red}/NUMBER.png, and lists of them in the
order of their names, FOLDER/{train,val}.txt.

usage: make_pictures.py FOLDER
"""
import os
import random
import struct
import sys
import zlib


def write_png(path, rows):
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)),
              (b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))), (b"IEND", b"")]
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, content in chunks:
            file.write(struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content)))


def main():
    folder = sys.argv[1]
    rng = random.Random(1)
    for split, count in (("train", 48), ("val", 16)):
        with open(f"{folder}/{split}.txt", "w") as lines:
            for number, (name, colour) in enumerate({"blue": (40, 60, 200), "red": (200, 60, 40)}.items()):
                os.makedirs(f"{folder}/{split}/{name}")
                for i in range(count):
                    height, width = rng.randint(33, 70), rng.randint(33, 70)
                    rows = [[c + rng.randint(-40, 40) for _ in range(width) for c in colour] for _ in range(height)]
                    write_png(f"{folder}/{split}/{name}/{i:02}.png", rows)
                    lines.write(f"{split}/{name}/{i:02}.png {number}\n")


if __name__ == "__main__":
    main()
