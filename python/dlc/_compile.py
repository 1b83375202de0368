"""Calls the compiler."""
from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Mapping, Sequence

from ._errors import CompileError, UnsupportedError

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): error: ")


def _beside() -> str | None:
    """Of the tree that the package is in: an installed one, or a checkout that is built."""
    for folder in Path(__file__).resolve().parents:
        for place in (folder / "bin/dlc", folder / "build/release/bin/dlc"):
            if place.is_file() and os.access(place, os.X_OK):
                return str(place)
    return None


def _find(compiler: str | os.PathLike[str] | None) -> str:
    wanted = compiler or os.environ.get("DLC")
    if wanted:
        found = shutil.which(wanted)
        if not found:
            origin = "`compiler`" if compiler else "$DLC"
            raise UnsupportedError(f"{os.fspath(wanted)}: no such program, as {origin} names it")
        return found
    found = shutil.which("dlc") or _beside()
    if not found:
        raise UnsupportedError("no compiler: 'dlc' is not on PATH nor beside the package; `compiler` or $DLC says where it is")
    return found


def compile(source: str | os.PathLike[str], output: str | os.PathLike[str], *, defines: Mapping[str, object] = {},
            flags: Sequence[str] = (), compiler: str | os.PathLike[str] | None = None) -> str:
    """Compiles the model in `source` to a module for Run, and returns `output`.

    `defines` gives values to constants and dimensions of the model, `flags` goes to the compiler as it is: `dlc --help` lists what there
    is. The compiler is `compiler`, $DLC, `dlc` on PATH, or the one that was installed or built with the package. Its warnings go to
    the logger "dlc".

    Raises CompileError with the compiler's first line where it refuses, UnsupportedError where there is no compiler."""
    given = [f"-D{name}={value}" for name, value in defines.items()]
    command = [_find(compiler), os.fspath(source), "-o", os.fspath(output), *given, *([flags] if isinstance(flags, str) else flags)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="surrogateescape")
    lines = done.stderr.splitlines()
    if done.returncode == 0:
        for line in lines:
            if "warning: " in line:
                logging.getLogger("dlc").warning(line)
        return os.fspath(output)
    first = next((line for line in lines if "error: " in line), f"{command[0]}: ended with {done.returncode} and said nothing")
    place = _PLACE.match(first)
    if not place:
        raise CompileError(first.removeprefix("error: "), output=done.stderr)
    raise CompileError(first, file=place["file"], line=int(place["line"]), column=int(place["column"]), output=done.stderr)
