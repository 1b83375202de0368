"""What training reports, as dlc/train.h has it. The extension makes these."""
from __future__ import annotations

from typing import NamedTuple

from numpy import ndarray


class Progress(NamedTuple):
    """Where a run stands."""
    seed: int
    step: int
    """Batches trained on since the run began."""
    epoch: int
    """Epochs completed."""
    position: int
    """Batches done in the current one."""


class StepReport(NamedTuple):
    """After a batch."""
    progress: Progress
    steps_in_epoch: int
    """0 where it is not known."""
    epochs: int
    """Those that the run goes up to."""
    samples: int
    batch: dict[str, float | ndarray]
    """Losses and metrics of this batch alone."""
    epoch: dict[str, float | ndarray]
    """And over the epoch so far."""
    seconds: float
    rates: dict[str, float] = {}
    """Learning rates of the last update, by the names of their settings."""
    tokens: int = 0
    """Of a text, those that the batch has of it; else 0."""


class EpochReport(NamedTuple):
    """After an epoch, or at the end of the run."""
    progress: Progress
    samples: int
    train: dict[str, float | ndarray]
    seconds: float
    test: dict[str, float | ndarray] | None
    """Of an evaluation, where there are test data."""
    rates: dict[str, float]
    """Learning rates of the last update, by the names of their settings."""
