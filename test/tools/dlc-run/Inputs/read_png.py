"""Reads a PNG by the specification, for tests."""
import struct
import zlib


def read_png(path):
    """Rows of bytes of a PNG of 8 bits of grey, by the specification."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height, bits, colours = struct.unpack(">IIBB", body[:10])
            assert (bits, colours) == (8, 0), "expected grey"
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, rows, above = zlib.decompress(packed), [], bytes(width)
    for y in range(height):
        kind, row = raw[y * (width + 1)], bytearray(raw[y * (width + 1) + 1:(y + 1) * (width + 1)])
        for x in range(width):
            left, up, corner = (row[x - 1] if x else 0), above[x], (above[x - 1] if x else 0)
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[x] = (row[x] + [0, left, up, (left + up) // 2, nearest][kind]) & 255
        rows.append(bytes(row))
        above = rows[-1]
    return rows
