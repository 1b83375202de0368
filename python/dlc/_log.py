"""Where lines go."""
from __future__ import annotations

import logging
from typing import Callable, Union

Log = Union[logging.Logger, Callable[[int, str], object], None]


def log_of(log: Log) -> Callable[[int, str], object]:
    """A function of a level of the module logging and a line: that of a logger, `log` itself, or that of the logger "dlc"."""
    if log is None:
        log = logging.getLogger("dlc")
    return log.log if isinstance(log, logging.Logger) else log
