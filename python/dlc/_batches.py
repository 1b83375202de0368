"""Batches that a program makes, as the library asks for them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable

import numpy

from ._errors import InvalidArgumentError

Inputs = dict[str, numpy.ndarray]


def _is_float(dtype: numpy.dtype) -> bool:
    return dtype.kind in "fV"  # of ml_dtypes


def _copy(inputs: Inputs, values: Any, what: str) -> None:
    """Shapes are those of the inputs, but for axes of extent 1. Floats become other floats, whole numbers other whole numbers."""
    if not isinstance(values, Mapping):
        raise InvalidArgumentError(f"{what} is '{type(values).__name__}'; expected a dict of arrays, one for each of {', '.join(inputs)}")
    for name, into in inputs.items():
        if name not in values:
            raise InvalidArgumentError(f"{what} has no array '{name}'; there are: {', '.join(values)}")
        array = numpy.asarray(values[name])
        if [n for n in array.shape if n != 1] != [n for n in into.shape if n != 1]:
            raise InvalidArgumentError(f"{what}: array '{name}' has shape {array.shape}, the input {into.shape}")
        if array.dtype != into.dtype and (array.dtype.kind not in "biufV" or _is_float(array.dtype) != _is_float(into.dtype)):
            raise InvalidArgumentError(f"{what}: array '{name}' is {array.dtype}, the input {into.dtype}")
        into[...] = array.reshape(into.shape)


class Filled:
    """Batches of a function, which fills the arrays that it is given, or returns others."""

    def __init__(self, function: Callable[[int, int, Inputs], Mapping[str, Any] | None]):
        self._function = function

    def __call__(self, epoch: int, batch: int, inputs: Inputs) -> None:
        values = self._function(epoch, batch, inputs)
        if values is not None:
            _copy(inputs, values, f"`data`: batch {batch} of epoch {epoch}")


class Iterated:
    """Batches of an iterable, which is begun anew with each epoch; what a resumed run has seen is passed over."""

    def __init__(self, batches: Iterable[Mapping[str, Any]]):
        self._batches = batches
        self._iterator: Iterator[Mapping[str, Any]] | None = None
        self._next = (-1, 0)

    def __call__(self, epoch: int, batch: int, inputs: Inputs) -> None:
        expected, self._next = self._next, (-1, 0)
        if expected != (epoch, batch):
            self._iterator = iter(self._batches)
            for number in range(batch):
                self._take(epoch, number)
        _copy(inputs, self._take(epoch, batch), f"`data`: batch {batch} of epoch {epoch}")
        self._next = (epoch, batch + 1)

    def _take(self, epoch: int, batch: int) -> Mapping[str, Any]:
        assert self._iterator is not None
        try:
            return next(self._iterator)
        except StopIteration:
            raise InvalidArgumentError(f"`data` ended before batch {batch} of epoch {epoch}") from None
