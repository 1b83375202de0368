"""Writes pillow.txt: what Pillow makes of pictures, for ResampleTest. Debian's python3-pil is enough.

usage: /usr/bin/python3 make_pillow.py > pillow.txt

A line: filter, channels, rows and columns of the picture; the top, left, bottom and right of the part that is resized; rows and columns of
what it becomes; and of these the part that is kept, as top, left, bottom and right; then its bytes, the channels of a pixel together.
"""
import sys

import PIL
from PIL import Image

FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def byte(y, x, c):
    """A picture of which nothing is smooth, as the test makes it too."""
    mixed = (y * 73856093 ^ x * 19349663 ^ c * 83492791) * 2654435761 & 0xffffffff
    return mixed >> 24


def picture(height, width, channels):
    content = bytes(byte(y, x, c) for y in range(height) for x in range(width) for c in range(channels))
    return Image.frombytes({1: "L", 3: "RGB"}[channels], (width, height), content)


CASES = [
    # picture, part, made, kept
    ((23, 31), (0, 0, 23, 31), (9, 12), None),
    ((23, 31), (0, 0, 23, 31), (40, 37), None),
    ((23, 31), (0, 0, 23, 31), (23, 12), None),
    ((23, 31), (0, 0, 23, 31), (11, 31), None),
    ((23, 31), (0, 0, 23, 31), (23, 31), None),
    ((23, 31), (3, 5, 20, 18), (8, 8), None),
    ((23, 31), (3, 5, 20, 18), (33, 20), None),
    ((60, 45), (0, 0, 60, 45), (21, 16), (4, 2, 16, 14)),
    ((37, 50), (0, 0, 37, 50), (7, 3), None),
    ((5, 7), (0, 0, 5, 7), (1, 1), None),
    ((1, 1), (0, 0, 1, 1), (3, 4), None),
]

if __name__ == "__main__":
    print("# Pillow", PIL.__version__)
    for name, how in FILTERS.items():
        for channels in (1, 3):
            for (height, width), (top, left, bottom, right), (rows, columns), kept in CASES:
                made = picture(height, width, channels).crop((left, top, right, bottom)).resize((columns, rows), how)
                kept = kept or (0, 0, rows, columns)
                made = made.crop((kept[1], kept[0], kept[3], kept[2]))
                print(name, channels, height, width, top, left, bottom, right, rows, columns, *kept, made.tobytes().hex())
