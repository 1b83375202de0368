"""Weights from files that torch.save has written (make_torch_files.py), read without PyTorch; and files that are none."""
import os
import pickle
import struct
import unittest
import unittest.mock
import zipfile

import numpy

import dlc
from dlc import _torch_file
from support import HERE, Case, samples


def numbers(*shape):
    return numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) / 64 - 1


def expected():
    found = {"bn1.weight": numbers(8), "bn1.bias": numbers(8), "bn1.running_mean": numbers(8),
             "bn1.running_var": numbers(8), "linear1.bias": numbers(8), "linear2.bias": numbers(4)}
    return {**found, "linear1.weight": numbers(16, 8).T, "linear2.weight": numbers(3, 4, 8)[1]}


def written(value):
    """A value as opcodes of pickle."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, tuple):
        return b"(" + b"".join(map(written, value)) + b"t"
    if isinstance(value, dict):
        return b"}(" + b"".join(written(key) + written(item) for key, item in value.items()) + b"u"
    if isinstance(value, str):
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    return b"J" + struct.pack("<i", value) if -1 << 31 <= value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)


def tensor(shape=(2,), strides=(1,), offset=0, elements=2, key="0", kind="FloatStorage"):
    storage = written(("storage", b"ctorch\n" + kind.encode() + b"\n", key, "cpu", elements)) + b"Q"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + written((storage, offset, shape, strides, b"\x89", b"ccollections\nOrderedDict\n)R")) + b"R"


class Weights(Case):
    def check(self, run):
        for name, array in expected().items():
            numpy.testing.assert_array_equal(run.parameters[name], array)

    def test_begin_a_run(self):
        run = self.run_of(init_from=HERE / "small.pth")
        self.check(run)
        self.assertEqual(self.said, [])
        self.check(self.run_of(weights=str(HERE / "small.pth")))

    def test_are_loaded(self):
        run = self.run_of(samples())
        run.load(HERE / "small.pth")
        self.check(run)

    def test_are_renamed(self):
        run = self.run_of(init_from=HERE / "small.pth", rename=["^linear2=head"])
        self.assertEqual(len(self.said), 2)
        for _, line in self.said:
            self.assertIn(f"{HERE / 'small.pth'}: ", line)
        numpy.testing.assert_array_equal(run.parameters["linear1.bias"], numbers(8))

    def test_keep_nothing_behind(self):
        with unittest.mock.patch("tempfile.tempdir", str(self.folder)):
            self.run_of(init_from=HERE / "small.pth")
        self.assertEqual(os.listdir(self.folder), [])


class Dtypes(Case):
    def test_are_kept(self):
        with _torch_file.readable(HERE / "dtypes.pth") as path, open(path, "rb") as file:
            header = _torch_file.json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()
        self.assertFalse(os.path.exists(path))
        found = {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}
        bf16 = (numbers(5).view(numpy.uint32) >> 16).astype(numpy.uint16)
        for name, dtype, array in (
                ("f32", "F32", numbers(2, 3)), ("f64", "F64", numbers(3).astype(numpy.float64)),
                ("f16", "F16", numbers(2, 2).astype(numpy.float16)), ("bf16", "BF16", bf16), ("i64", "I64", numpy.array([1 << 40, -1])),
                ("i32", "I32", numpy.array([7, -7], numpy.int32)), ("u8", "U8", numpy.array([[0, 255]], numpy.uint8)),
                ("bool", "BOOL", numpy.array([True, False])), ("scalar", "F32", numpy.array(2.5, numpy.float32)),
                ("empty", "F32", numpy.zeros((0, 3), numpy.float32)), ("parameter", "F32", numbers(2)),
                ("steps", "F32", numbers(4, 4)[::2, 1::2])):
            self.assertEqual(found.pop(name), (dtype, list(array.shape), array.tobytes()), name)
        self.assertEqual(found, {})


class Refused(Case):
    """Each in one line, with the file's name; and nothing of it is run."""

    def file(self, content, storages=None, compression=zipfile.ZIP_STORED, **entries):
        path = self.folder / "x.pth"
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("x/data.pkl", content if isinstance(content, bytes) else b"\x80\x02" + written(content) + b".")
            for key, data in (storages or {"0": struct.pack("<2f", 1, 2)}).items():
                archive.writestr(f"x/data/{key}", data)
            for name, data in entries.items():
                archive.writestr(f"x/{name}", data)
        return path

    def refuses(self, kind, line, *arguments, **named):
        path = self.file(*arguments, **named)
        with self.assertRaises(kind) as raised:
            self.run_of(init_from=path)
        said = str(raised.exception)
        self.assertTrue(said.startswith(f"{path}: "), said)
        self.assertNotIn("\n", said)
        self.assertIn(line, said)

    def test_what_is_run(self):
        mark = self.folder / "run"

        class Evil:
            def __reduce__(self):
                return os.system, (f"touch {mark}",)

        for protocol in (0, 1, 2, 3, 4, 5):
            self.refuses(dlc.UnsupportedError, f"its pickle names {os.system.__module__}.system, which is none of what weights are made of",
                         pickle.dumps({"weight": Evil()}, protocol))
        for name in (b"builtins\neval", b"builtins\ngetattr", b"os\npopen", b"subprocess\nPopen", b"torch.hub\nload", b"torch\nload",
                     b"torch._utils\n_rebuild_tensor_v2.__globals__", b"__main__\nNet", b"numpy.core.multiarray\n_reconstruct"):
            self.refuses(dlc.UnsupportedError, "its pickle names " + name.decode().replace("\n", "."), b"\x80\x02c" + name + b"\n)R.")
        self.refuses(dlc.UnsupportedError, "its pickle names 'a\\x1b[31m.b'", b"\x80\x02ca\x1b[31m\nb\n.")
        self.refuses(dlc.UnsupportedError, "opcode INST at byte 3", b"\x80\x02(ios\nsystem\n.")
        self.refuses(dlc.UnsupportedError, "opcode EXT1", b"\x80\x02\x82\x01.")
        self.refuses(dlc.UnsupportedError, "opcode NEWOBJ", b"\x80\x02ccollections\nOrderedDict\n)\x81.")
        self.assertFalse(mark.exists())

    def test_what_is_damaged(self):
        whole = {"weight": tensor()}
        for content in (b"", b"\x80\x02", b"\x80\x02}", b".", b"t.", b"\x80\x02K", b"\xff\xff", b"h\x07.", b"}}}s.", b"(u.",
                        b"}(]K\x01u.", b"Q.", b"K\x01Q.", b"K\x01)R.", b"ccollections\nOrderedDict\n}\x85R.",
                        b"X\xff\xff\xff\xffa.", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f."):
            self.refuses(dlc.DamagedError, "its pickle is damaged: ", content)
        self.refuses(dlc.DamagedError, "holds no weights: expected tensors by name, or under 'state_dict' or 'model'", {"a": 1})
        self.refuses(dlc.DamagedError, "holds no weights", b"K\x01.")
        self.refuses(dlc.DamagedError, "has no 'data/7'", {"weight": tensor(key="7")})
        self.refuses(dlc.DamagedError, "tensor 'weight': its storage has 8 bytes, 3 elements of F32 take 12", {"weight": tensor(elements=3)})
        self.refuses(dlc.UnsupportedError, "is compressed or encrypted", whole, compression=zipfile.ZIP_DEFLATED)
        self.refuses(dlc.UnsupportedError, "its bytes are in big-endian order", whole, byteorder=b"big")
        path = self.file(whole)
        content = bytearray(path.read_bytes())
        at = content.index(struct.pack("<2f", 1, 2))
        content[at] ^= 1
        path.write_bytes(content)
        self.says(dlc.DamagedError, f"{path}: Bad CRC-32 for file 'x/data/0'", self.run_of, init_from=path)

    def test_what_claims_more_than_there_is(self):
        not_there = "is not in a storage of 2 elements"
        for shape, strides, offset in (((3,), (1,), 0), ((2,), (2,), 0), ((2,), (1,), 1), ((1,), (1,), 2), ((1 << 40,), (0,), 0),
                                       ((4,), (0,), 0), ((2, 2), (1, 1), 0)):
            with self.subTest(shape=shape):
                path = self.file({"weight": tensor(shape, strides, offset)})
                with self.assertRaises(dlc.DamagedError) as raised:
                    self.run_of(init_from=path)
                said = str(raised.exception)
                self.assertTrue(not_there in said or "its tensors claim" in said, said)
        for shape, strides in (((-2,), (1,)), ((2,), (-1,)), ((2,), ()), ((1,) * 9, (1,) * 9)):
            self.refuses(dlc.DamagedError, "its pickle is damaged: no tensor", {"weight": tensor(shape, strides)})
        # A storage may be that of several tensors, and not of any number.
        many = {f"w{i}": tensor((9000,), (1,), 0, 9000) for i in range(40)}
        self.refuses(dlc.DamagedError, "its tensors claim 1440000 bytes, the file has", many, {"0": bytes(36000)})

    def test_a_storage_of_another_type(self):
        self.refuses(dlc.UnsupportedError, "its pickle names torch.ComplexFloatStorage", {"weight": tensor(kind="ComplexFloatStorage")})
        self.refuses(dlc.UnsupportedError, "its pickle names torch.CharStorage", {"weight": tensor(kind="CharStorage")})

    def test_by_the_library_under_its_name(self):
        path = self.file({"linear1.bias": tensor()})
        with self.assertRaises(dlc.InvalidArgumentError) as raised:
            self.run_of(init_from=path)
        self.assertTrue(str(raised.exception).startswith(f"{path}: tensor 'linear1.bias'"), raised.exception)


if __name__ == "__main__":
    unittest.main()
