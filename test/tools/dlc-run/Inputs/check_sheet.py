"""Compares a sheet of images with the images of an IDX folder, pixel by pixel, and counts the gaps.

usage: dlc-run data idx:FOLDER --sheet FILE --json | check_sheet.py FOLDER
"""
import json
import struct
import sys

from read_png import read_png

line = json.loads(sys.stdin.read())
name = "train" if line["split"] == "train" else "t10k"
images = open(f"{sys.argv[1]}/{name}-images-idx3-ubyte", "rb").read()
_, count, height, width = struct.unpack(">IIII", images[:16])
rows, gap = read_png(line["sheet"]), line["gap"]
assert (line["height"], line["width"]) == (height, width)
assert len(rows) == line["rows"] * (height + gap) + gap and len(rows[0]) == line["columns"] * (width + gap) + gap
for place, sample in enumerate(line["samples"]):
    top, left = (gap + k * (side + gap) for k, side in zip(divmod(place, line["columns"]), (height, width)))
    for y in range(height):
        begin = 16 + (sample * height + y) * width
        assert rows[top + y][left:left + width] == images[begin:begin + width], f"image {place}, row {y}"
assert all(set(rows[y]) == {255} for y in range(len(rows)) if y % (height + gap) < gap)
print(f"{len(line['samples'])} images are alike, of {len(set(line['samples']))} samples")
