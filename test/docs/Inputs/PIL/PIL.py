"""Stands in for what the documentation calls of Pillow, where it is not installed."""
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class Image:
    """A picture of boxes of one colour each, or of one grey."""

    def __init__(self, mode, size, colour):
        self.mode, self.size = mode, size
        self.rows = [bytearray(self.pixel(colour) * size[0]) for _ in range(size[1])]

    @staticmethod
    def new(mode, size, colour):
        assert mode in ("RGB", "L"), mode
        return Image(mode, size, colour)

    def pixel(self, colour):
        return bytes(colour) if self.mode == "RGB" else bytes([colour])

    def paste(self, colour, box):
        left, top, right, bottom = (min(end, size) for end, size in zip(box, self.size * 2))
        pixel = self.pixel(colour)
        for row in self.rows[top:bottom]:
            row[left * len(pixel):right * len(pixel)] = pixel * (right - left)

    def save(self, path):
        header = struct.pack(">2I5B", *self.size, 8, 2 if self.mode == "RGB" else 0, 0, 0, 0)
        rows = b"".join(b"\0" + row for row in self.rows)
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
