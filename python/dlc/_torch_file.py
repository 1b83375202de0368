"""Weights in files of torch.save, without PyTorch: zip archives of a pickle and of the bytes of storages.

A pickle may call any function of any module. Here none is called: its opcodes are walked as data, and the few names that a state_dict
has stand for what is done here. Any other name is refused, and so is a file that claims more than it holds."""
from __future__ import annotations

import contextlib
import json
import math
import os
import pickletools
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import numpy

from ._errors import DamagedError, Error, IoError, UnsupportedError


class _Dtype(NamedTuple):
    stored: str
    bytes: int


# Of elements in safetensors, and their bytes.
_DTYPES = {"FloatStorage": _Dtype("F32", 4), "DoubleStorage": _Dtype("F64", 8), "HalfStorage": _Dtype("F16", 2),
           "BFloat16Storage": _Dtype("BF16", 2), "LongStorage": _Dtype("I64", 8), "IntStorage": _Dtype("I32", 4),
           "ByteStorage": _Dtype("U8", 1), "BoolStorage": _Dtype("BOOL", 1)}
_FUNCTIONS = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"}
_MOST_AXES = 8
_WRAPPERS = ("state_dict", "model_state_dict", "model")


class _Name(NamedTuple):
    """A global of the pickle."""
    name: str


class _Storage(NamedTuple):
    dtype: _Dtype
    key: str
    elements: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    pass


_VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "INT", "LONG", "BINFLOAT", "FLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
           "UNICODE", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
_CONSTANTS: dict[str, Callable[[], Any]] = {"NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_DICT": dict,
                                            "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_SET": set, "MARK": _Mark}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _whole_numbers(values: Any) -> bool:
    return isinstance(values, tuple) and all(type(value) is int and value >= 0 for value in values)


class _Walker:
    """What a pickle stands for: dicts, lists, numbers, texts, and tensors that are not read yet."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def walk(self, pickle: bytes) -> Any:
        for opcode, argument, place in pickletools.genops(pickle):
            if opcode.name == "STOP":
                return self.stack.pop()
            self.step(opcode.name, argument, place)
        raise ValueError("no end")

    def above_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while not isinstance(self.stack[at], _Mark):
            at -= 1
            if at < 0:
                raise ValueError("no mark")
        above = self.stack[at + 1:]
        del self.stack[at:]
        return above

    def step(self, name: str, argument: Any, place: int) -> None:
        stack = self.stack
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name in _TUPLES:
            last = stack[-_TUPLES[name]:]
            del stack[-_TUPLES[name]:]
            stack.append(tuple(last))
        elif name == "TUPLE":
            stack.append(tuple(self.above_mark()))
        elif name == "LIST":
            stack.append(self.above_mark())
        elif name == "DICT":
            stack.append(self.pairs(self.above_mark()))
        elif name == "APPEND":
            last = stack.pop()
            stack[-1].append(last)
        elif name == "APPENDS":
            more = self.above_mark()
            stack[-1].extend(more)
        elif name == "ADDITEMS":
            more = self.above_mark()
            stack[-1].update(more)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            stack[-1][key] = value
        elif name == "SETITEMS":
            more = self.above_mark()
            stack[-1].update(self.pairs(more))
        elif name == "POP":
            stack.pop()
        elif name == "POP_MARK":
            self.above_mark()
        elif name == "GLOBAL":
            stack.append(self.named(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            symbol, module = stack.pop(), stack.pop()
            stack.append(self.named(module, symbol))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(self.called(function, arguments))
        elif name == "BUILD":
            # What an OrderedDict has beside its items: the versions of modules.
            stack.pop()
        elif name == "BINPERSID":
            stack.append(self.storage(stack.pop()))
        elif name not in ("PROTO", "FRAME"):
            raise UnsupportedError(f"opcode {name} at byte {place} of its pickle is none that torch.save writes of weights")

    @staticmethod
    def pairs(items: list[Any]) -> dict[Any, Any]:
        return dict(zip(items[::2], items[1::2], strict=True))

    @staticmethod
    def named(module: Any, symbol: Any) -> _Name:
        name = f"{module}.{symbol}"
        is_storage = module == "torch" and symbol in _DTYPES
        if name not in _FUNCTIONS and not is_storage:
            name = name if name.isprintable() and len(name) <= 100 else ascii(name[:100])
            raise UnsupportedError(f"its pickle names {name}, which is none of what weights are made of and is not run; "
                                   "torch.save(model.state_dict(), FILE) writes weights alone")
        return _Name(name)

    @staticmethod
    def storage(identity: Any) -> _Storage:
        kind, name, key, _, elements = identity
        dtype = _DTYPES[name.name.removeprefix("torch.")]
        if kind != "storage" or type(key) is not str or not _whole_numbers((elements,)):
            raise ValueError("no storage")
        return _Storage(dtype, key, elements)

    @staticmethod
    def called(function: Any, arguments: Any) -> Any:
        if type(function) is not _Name:
            raise ValueError("no function")
        if function.name == "collections.OrderedDict" and arguments == ():
            return {}
        if function.name == "torch._utils._rebuild_parameter":
            return arguments[0]
        if function.name != "torch._utils._rebuild_tensor_v2":
            raise ValueError(f"{function.name} of something else than weights")
        storage, offset, shape, strides = arguments[:4]
        numbers = _whole_numbers((offset,)) and _whole_numbers(shape) and _whole_numbers(strides)
        if type(storage) is not _Storage or not numbers or len(shape) != len(strides) or len(shape) > _MOST_AXES:
            raise ValueError("no tensor")
        return _Tensor(storage, offset, shape, strides)


class _Archive:
    """An archive and its folder, which torch.save calls as it likes."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        self.last = ("", b"")
        self.folder = next(name for name in archive.namelist() if _is_pickle(name)).removesuffix("data.pkl")

    def read(self, name: str) -> bytes:
        try:
            entry = self.archive.getinfo(self.folder + name)
        except KeyError:
            raise DamagedError(f"has no '{name}'") from None
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise UnsupportedError(f"'{name}' is compressed or encrypted, as torch.save does not write it")
        return self.archive.read(entry)

    def tensors(self) -> dict[str, _Tensor]:
        if "byteorder" in (name.removeprefix(self.folder) for name in self.archive.namelist()) and self.read("byteorder") != b"little":
            raise UnsupportedError("its bytes are in big-endian order")
        try:
            found = _Walker().walk(self.read("data.pkl"))
        except (Error, zipfile.BadZipFile):
            raise
        except Exception as error:  # noqa: BLE001: whatever a damaged pickle makes of the stack
            raise DamagedError(f"its pickle is damaged: {error or type(error).__name__}") from None
        for key in _WRAPPERS:
            if isinstance(found, dict) and isinstance(found.get(key), dict):
                found = found[key]
        tensors = {} if not isinstance(found, dict) else {name: value for name, value in found.items()
                                                          if isinstance(name, str) and isinstance(value, _Tensor)}
        if not tensors:
            raise DamagedError("holds no weights: expected tensors by name, or under 'state_dict' or 'model'")
        return tensors

    def bytes_of(self, name: str, tensor: _Tensor) -> bytes:
        storage = tensor.storage
        size = storage.dtype.bytes
        # Parts of one storage follow each other.
        if self.last[0] != storage.key:
            self.last = (storage.key, self.read(f"data/{storage.key}"))
        content = self.last[1]
        if len(content) != storage.elements * size:
            raise DamagedError(f"tensor '{name}': its storage has {len(content)} bytes, {storage.elements} elements of "
                               f"{storage.dtype.stored} take {storage.elements * size}")
        count = math.prod(tensor.shape)
        if count == 0:
            return b""
        last = tensor.offset + sum((axis - 1) * stride for axis, stride in zip(tensor.shape, tensor.strides))
        if last >= storage.elements or count > storage.elements:
            raise DamagedError(f"tensor '{name}': shape {list(tensor.shape)} with strides {list(tensor.strides)} from {tensor.offset} on "
                               f"is not in a storage of {storage.elements} elements")
        elements = numpy.frombuffer(content, f"V{size}")[tensor.offset:]
        strides = [stride * size for stride in tensor.strides]
        return numpy.lib.stride_tricks.as_strided(elements, tensor.shape, strides, writeable=False).tobytes()


def _is_pickle(name: str) -> bool:
    return name.count("/") == 1 and name.endswith("/data.pkl")


def _is_torch_file(path: str) -> bool:
    try:
        if not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            return any(_is_pickle(name) for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _write(archive: _Archive, size: int, path: str) -> None:
    """As safetensors, tensor by tensor."""
    tensors = archive.tensors()
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + math.prod(tensor.shape) * tensor.storage.dtype.bytes
        header[name] = {"dtype": tensor.storage.dtype.stored, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    # Tensors may share a storage, as tied weights do.
    if end > 8 * size:
        raise DamagedError(f"its tensors claim {end} bytes, the file has {size}")
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in tensors.items():
            file.write(archive.bytes_of(name, tensor))


@contextlib.contextmanager
def readable(path: str | os.PathLike[str] | None, reads: bool = True) -> Iterator[str | os.PathLike[str] | None]:
    """`path`, or of a file of torch.save's another one with its weights, in safetensors, that is there within the block; `reads`: whether
    this rank does. What fails there with that file's name says the other."""
    if not path or not reads or not _is_torch_file(os.fspath(path)):
        yield path
        return
    path = os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        made = os.path.join(folder, "weights.safetensors")
        try:
            with zipfile.ZipFile(path) as archive:
                _write(_Archive(archive), os.path.getsize(path), made)
        except Error as error:
            raise type(error)(f"{path}: {error}") from None
        except (zipfile.BadZipFile, EOFError) as error:
            raise DamagedError(f"{path}: {error}") from None
        except OSError as error:
            raise IoError(f"{path}: {error.strerror or error}") from None
        try:
            yield made
        except Error as error:
            raise type(error)(str(error).replace(made, path)) from None


def with_names(log: Callable[[int, str], object], *pairs: tuple[Any, Any]) -> Callable[[int, str], object]:
    """`log`, which hears of the second file of each pair under the name of the first."""
    changed = [(os.fspath(said), os.fspath(made)) for said, made in pairs if made != said]
    if not changed:
        return log

    def hear(level: int, line: str) -> object:
        for said, made in changed:
            line = line.replace(made, said)
        return log(level, line)
    return hear
