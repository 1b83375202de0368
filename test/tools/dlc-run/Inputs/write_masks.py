"""Writes pictures of a bright box on dark ground, a mask of each, once as indices of a palette and once as grey values, with a border of
255 that counts for nothing; where the box is, as numbers; lists of them, and the same pixels as arrays.

usage: write_masks.py FOLDER
"""
import json
import os
import random
import struct
import sys
import zlib

folder = sys.argv[1]
draw = random.Random(3)
SIDE = 16


def png(path, rows, colour, palette=b""):
    """Rows of bytes; `colour` as IHDR has it."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    width = len(rows[0]) // (3 if colour == 2 else 1)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, colour, 0, 0, 0))
                   + (chunk(b"PLTE", palette) if palette else b"")
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def sample():
    """A box of class 1 or 2, red or green, with the border of nothing about it: pixels, classes, and what the box is."""
    kind, top, left, side = draw.randrange(1, 3), draw.randrange(1, 7), draw.randrange(1, 7), draw.randrange(4, 9)
    pixels, classes = bytearray(), bytearray()
    for y in range(SIDE):
        for x in range(SIDE):
            inside = top <= y < top + side and left <= x < left + side
            edge = not inside and top - 1 <= y <= top + side and left - 1 <= x <= left + side
            noise = [draw.randrange(40) for _ in range(3)]
            noise[kind - 1] += 200 if inside else 0
            pixels += bytes(noise)
            classes.append(kind if inside else 255 if edge else 0)
    return bytes(pixels), bytes(classes), (top / SIDE, left / SIDE, side / SIDE), kind, (draw.randrange(9) / 8, draw.randrange(9) / 8)


def rows(content, width):
    return [content[y * width:(y + 1) * width] for y in range(SIDE)]


for below in ("masks", "named"):
    os.makedirs(f"{folder}/{below}", exist_ok=True)
samples = {"train": [sample() for _ in range(48)], "val": [sample() for _ in range(12)]}
for split, of in samples.items():
    with open(f"{folder}/{split}.txt", "w") as plain, open(f"{folder}/named/{split}.txt", "w") as named, \
            open(f"{folder}/{split}-flags.txt", "w") as flags:
        print("# picture box.0 box.1 box.2 kind hint.0 hint.1 target", file=named)
        for number, (pixels, classes, box, kind, hint) in enumerate(of):
            name = f"{split}{number}.png"
            png(f"{folder}/{name}", rows(pixels, 3 * SIDE), 2)
            if number % 2 == 0:
                png(f"{folder}/masks/{name}", rows(classes, SIDE), 3, bytes(768))
            else:
                png(f"{folder}/masks/{name}", rows(classes, SIDE), 0)
            print(name, f"masks/{name}", file=plain)
            print(f"../{name}", *box, kind, *hint, f"../masks/{name}", sep="\t", file=named)
            print(name, int(kind == 1), int(kind == 2), int(box[0] > 0.2), file=flags)

png(f"{folder}/masks/colours.png", [bytes(3 * SIDE)] * SIDE, 2)
png(f"{folder}/masks/small.png", [bytes(8)] * 8, 0)
png(f"{folder}/masks/other.png", [bytes([7]) * SIDE] * SIDE, 0)
for name in ("colours", "small", "other"):
    with open(f"{folder}/{name}.txt", "w") as file:
        print(f"train0.png masks/{name}.png", *[f"train{i}.png masks/train{i}.png" for i in range(1, 16)], sep="\n", file=file)

header, data = {}, b""
for prefix, of in (("", samples["train"]), ("test.", samples["val"])):
    planes = b"".join(pixels[plane::3] for pixels, *_ in of for plane in range(3))
    boxes = b"".join(struct.pack("<3f", *box) for _, _, box, *_ in of)
    hints = b"".join(struct.pack("<2f", *hint) for *_, hint in of)
    classes = b"".join(struct.pack(f"<{SIDE * SIDE}i", *mask) for _, mask, *_ in of)
    kinds = b"".join(struct.pack("<i", kind) for *_, kind, _ in of)
    for name, kind, shape, content in (("picture", "U8", [3, SIDE, SIDE], planes), ("box", "F32", [3], boxes),
                                       ("target", "I32", [SIDE, SIDE], classes), ("kind", "I32", [], kinds), ("hint", "F32", [2], hints)):
        header[prefix + name] = {"dtype": kind, "shape": [len(of), *shape], "data_offsets": [len(data), len(data) + len(content)]}
        data += content
text = json.dumps(header).encode()
with open(f"{folder}/arrays.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
