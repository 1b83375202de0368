"""The processes that train one model together."""
from __future__ import annotations

from typing import Any

from . import _dlc
from ._log import Log, log_of


class Ranks:
    """The processes of a communicator of mpi4py, each with a replica of the model. The MPI is the program's own, initialised with
    `MPI.THREAD_SERIALIZED` or more; with the former the program makes no call of MPI while a function of a run is at work. All
    processes of the communicator come here.

    `timeout` is the number of seconds that a rank may keep the others waiting, twenty times as long while it loads, evaluates,
    writes or is in the program's own code. As a context, `leave()` is called where it ends without an exception."""

    def __init__(self, communicator: Any, *, timeout: float = 30, log: Log = None):
        self._ranks = _dlc.join_ranks(communicator.py2f(), timeout, log_of(log))

    @property
    def rank(self) -> int:
        return self._ranks.rank

    @property
    def size(self) -> int:
        return self._ranks.size

    def leave(self) -> None:
        """Ends what the ranks do together, when all have come here; before MPI is finalised. Without it the others take the end of
        this process for a failure."""
        self._ranks.leave()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.leave()


def launched_ranks(*, timeout: float = 30, log: Log = None) -> Ranks:
    """The ranks that mpirun or srun started this process among; one where it was started alone. MPI is initialised by a thread of
    the library's, and is nobody else's: not for programs with mpi4py."""
    ranks = Ranks.__new__(Ranks)
    ranks._ranks = _dlc.open_ranks(timeout, log_of(log))
    return ranks


def ranks_of(ranks: Any, log: Log = None) -> Ranks | None:
    """Of Ranks, a communicator, or None."""
    return ranks if ranks is None or isinstance(ranks, Ranks) else Ranks(ranks, log=log)
