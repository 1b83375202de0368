"""Stands in for the functions of NumPy that the documentation calls, where it is not installed."""
import math
import random as generator
import struct
import zipfile


class Array:
    """Rows of numbers, row-major: `descr` is their type as .npy files say it, `code` as struct does."""

    def __init__(self, descr, code, shape, values):
        self.descr, self.code, self.shape, self.values = descr, code, tuple(shape), values

    def __getitem__(self, rows):
        of_row = math.prod(self.shape[1:])
        begin, end, _ = rows.indices(self.shape[0])
        return Array(self.descr, self.code, (end - begin, *self.shape[1:]), self.values[begin * of_row:end * of_row])


class random:
    @staticmethod
    def rand(*shape):
        return Array("<f8", "d", shape, [generator.random() for _ in range(math.prod(shape))])

    @staticmethod
    def randint(high, size):
        return Array("<i8", "q", [size], [generator.randrange(high) for _ in range(size)])


def numbers(rows):
    """Those of lists in lists, row by row."""
    return [number for row in rows for number in numbers(row)] if isinstance(rows, list) else [rows]


def array(rows):
    shape, first = [], rows
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0]
    values = numbers(rows)
    return Array("<i8", "q", shape, values) if all(isinstance(value, int) for value in values) else Array("<f8", "d", shape, values)


def savez(file, **arrays):
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in arrays.items():
            held = array(value) if isinstance(value, list) else value
            header = f"{{'descr': '{held.descr}', 'fortran_order': False, 'shape': {held.shape}, }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            data = struct.pack(f"<{len(held.values)}{held.code}", *held.values)
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
