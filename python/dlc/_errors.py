"""What fails, by the codes of dlc/status.h. The message is dlc's one line: lower case, without a full stop, and naming the file, tensor
or argument that it is about."""
from __future__ import annotations


class Error(Exception):
    """Any failure of dlc's."""


class InvalidArgumentError(Error, ValueError):
    """Something was asked for that cannot be: an unknown name, a wrong shape or dtype."""


class IoError(Error, OSError):
    """The operating system refused: no such file, no space, no permission."""


class DamagedError(Error):
    """A file is not what it claims to be."""


class UnsupportedError(Error):
    """The file is sound, but this machine or this version cannot serve it."""


class OutOfMemoryError(Error, MemoryError):
    """Memory that could not be had; nothing was changed."""


class FailedError(Error):
    """The computation itself went wrong: a loss that is no number, a rank that ended."""


class CompileError(Error):
    """The compiler refused a model. `file`, `line` and `column` say where, if it is about a place in a file; `output` is all that
    the compiler said."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None,
                 output: str = ""):
        super().__init__(message)
        self.file, self.line, self.column, self.output = file, line, column, output
