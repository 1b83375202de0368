"""Makes the pictures that test/runtime/Data/PicturesTest.cpp decodes, and beside each what Pillow makes of it: NAME.ppm is
convert("RGB"), NAME.pgm convert("L").

usage: python3 make.py        in this folder, with NumPy, Pillow (python3-pil) and cjpeg (libjpeg-turbo-progs); this is what 9.4 and 2.1.5 made
"""
import os
import struct
import subprocess
import zlib

import numpy as np
from PIL import Image

# What Pillow does not write: 16 bits of colours, few bits of grey, Adam7.
GREY, COLOURS = 0, 2
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def pixels(height, width):
    """Slopes, a disc and a bright corner: something of everything that coding loses."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    red = 255 * x / (width - 1)
    green = 255 * y / (height - 1)
    blue = 127 + 120 * np.sin(x / 5) * np.cos(y / 7)
    disc = (x - width / 3) ** 2 + (y - height / 2) ** 2 < (height / 4) ** 2
    picture = np.stack([np.where(disc, 220, red), np.where(disc, 40, green), np.where(disc, 30, blue)], -1)
    picture[: height // 6, : width // 6] = (250, 250, 20)
    return picture.round().clip(0, 255).astype(np.uint8)


def write_png(path, values, bits, interlaced=False):
    """`values` has `bits` bits, rows of columns, of channels if there are several."""
    height, width = values.shape[:2]
    values = values.reshape(height, width, -1)

    def packed(part):
        lines = b""
        for row in part.reshape(part.shape[0], -1):
            if bits == 16:
                line = row.astype(">u2").tobytes()
            else:
                digits = "".join(f"{value:0{bits}b}" for value in row)
                digits += "0" * (-len(digits) % 8)
                line = int(digits, 2).to_bytes(len(digits) // 8, "big")
            lines += b"\0" + line
        return lines

    parts = [values[top::down, left::right] for top, left, down, right in ADAM7] if interlaced else [values]
    body = b"".join(packed(part) for part in parts if part.size)
    kind = COLOURS if values.shape[2] == 3 else GREY
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)), (b"IDAT", zlib.compress(body)), (b"IEND", b"")]
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, content in chunks:
            file.write(struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content)))


def main():
    small = pixels(29, 37)
    colours = Image.fromarray(small)
    grey = colours.convert("L")
    alpha = Image.fromarray((255 - small[:, :, 0]))

    colours.save("colours.jpg", quality=90, subsampling="4:2:0")
    colours.save("colours-422.jpg", quality=90, subsampling="4:2:2")
    colours.save("colours-444.jpg", quality=90, subsampling="4:4:4")
    colours.save("progressive.jpg", quality=90, progressive=True)
    grey.save("grey.jpg", quality=90)
    colours.convert("CMYK").save("cmyk.jpg", quality=95)
    turned = Image.Exif()
    turned[0x0112] = 6
    colours.save("turned.jpg", quality=90, exif=turned.tobytes())

    colours.save("colours.png")
    grey.save("grey.png")
    colours.convert("1").save("black.png")
    colours.quantize(20).save("palette.png")
    holes = colours.quantize(20)
    holes.save("palette-alpha.png", transparency=3)
    transparent = colours.copy()
    transparent.putalpha(alpha)
    transparent.save("alpha.png")
    Image.merge("LA", (grey, alpha)).save("grey-alpha.png")
    write_png("interlaced.png", small, 8, interlaced=True)
    write_png("grey-2.png", np.asarray(grey) // 64, 2)
    write_png("grey-4-interlaced.png", np.asarray(grey) // 16, 4, interlaced=True)
    write_png("colours-16.png", small.astype(np.uint16) * 256 + 200, 16)
    write_png("grey-16.png", np.asarray(grey).astype(np.uint16) * 256 + 200, 16)

    colours.save("lossy.webp", quality=85)
    colours.save("lossless.webp", lossless=True)
    transparent.save("alpha.webp", quality=85)

    for name in ("colours.jpg", "colours-422.jpg", "colours-444.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "turned.jpg", "colours.png",
                 "grey.png", "black.png", "palette.png", "palette-alpha.png", "alpha.png", "grey-alpha.png", "interlaced.png", "grey-2.png",
                 "grey-4-interlaced.png", "colours-16.png", "lossy.webp", "lossless.webp", "alpha.webp"):
        picture = Image.open(name)
        picture.convert("RGB").save(f"{name}.ppm")
        picture.convert("L").save(f"{name}.pgm")
    # As numbers of classes: Pillow has indices of palettes, but spreads grey of few bits over all of a byte.
    for name, step in (("palette.png", 1), ("grey.png", 1), ("grey-2.png", 85), ("grey-4-interlaced.png", 17)):
        (np.asarray(Image.open(name)) // step).astype("u1").tofile(f"{name}.numbers")
    # Of 16 bits of grey Pillow makes numbers beyond 255, which it cuts off.
    grey.convert("RGB").save("grey-16.png.ppm")
    grey.save("grey-16.png.pgm")

    # For parts of pictures, and smaller ones.
    large = Image.fromarray(pixels(149, 203))
    large.save("large.jpg", quality=80, subsampling="4:2:0")
    large.save("large-422.jpg", quality=80, subsampling="4:2:2")
    large.save("large-444.jpg", quality=80, subsampling="4:4:4")
    large.save("large-progressive.jpg", quality=80, progressive=True)
    large.convert("L").save("large-grey.jpg", quality=80)
    large.convert("CMYK").save("large-cmyk.jpg", quality=80)
    large.quantize(32).save("large.png")
    write_png("large-interlaced.png", np.asarray(large.convert("L")) // 16, 4, interlaced=True)
    large.save("large.webp", quality=70)
    large.quantize(32).convert("RGB").save("large-lossless.webp", lossless=True)
    # Of colours an eighth of the samples, which Pillow does not write.
    Image.fromarray(pixels(48, 1200)).save("wide.ppm")
    subprocess.run(["cjpeg", "-quality", "60", "-sample", "4x2", "-outfile", "wide-410.jpg", "wide.ppm"], check=True)
    os.remove("wide.ppm")


if __name__ == "__main__":
    main()
