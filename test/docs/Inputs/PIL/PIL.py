"""Stands in for what the documentation calls of Pillow, where it is not installed."""
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class Image:
    """A picture of one colour: red, green and blue."""

    def __init__(self, size, colour):
        self.size, self.colour = size, colour

    @staticmethod
    def new(mode, size, colour):
        assert mode == "RGB", mode
        return Image(size, colour)

    def save(self, path):
        width, height = self.size
        header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
        rows = (b"\0" + bytes(self.colour) * width) * height
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
