"""What the tests share: modules, compiled once, and samples that can be learnt."""
import atexit
import shutil
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy

import dlc

HERE = Path(__file__).parent
WORK = Path(tempfile.mkdtemp(prefix="dlc-python-"))
atexit.register(shutil.rmtree, WORK)


def module(name, flags=""):
    """Path of the module of a model beside this file."""
    output = WORK / f"{name}{flags}.so"
    if not output.exists():
        dlc.compile(HERE / f"{name}.dl", output, flags=flags.split())
    return str(output)


def samples(count=64, seed=0):
    """One bright row of four says the class."""
    random = numpy.random.default_rng(seed)
    label = random.integers(0, 4, count).astype(numpy.int32)
    image = random.random((count, 1, 4, 4), dtype=numpy.float32) / 2
    image[numpy.arange(count), 0, label] += 0.5
    return {"image": image, "label": label}


def grey_png(rows):
    """A picture of one channel, of bytes [height, width]."""
    def part(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = rows.shape
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b"")


def batches(data, size=8):
    count = len(data["label"]) // size
    return [{name: array[i * size:(i + 1) * size] for name, array in data.items()} for i in range(count)]


class Case(unittest.TestCase):
    """Each test has a folder of its own, and hears what runs say."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=WORK))
        self.said = []

    def run_of(self, data=None, name="small", **arguments):
        return dlc.Run(module(name), data, **{"threads": 1, "seed": 1, "log": lambda *line: self.said.append(line), **arguments})

    def says(self, kind, line, function, *arguments, **named):
        with self.assertRaises(kind) as raised:
            function(*arguments, **named)
        self.assertEqual(str(raised.exception), line)
        return raised.exception
