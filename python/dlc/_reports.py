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


class ParameterNorm(NamedTuple):
    """How large a parameter is, and its gradient in the last update."""
    weight: float
    gradient: float | None
    """None where the module does not give it: `dlc.compile(..., flags=["--weight-gradients"])` does."""


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
    norms: dict[str, ParameterNorm] = {}
    """Of each parameter, in steps where `norms` asks for them."""
    rested: float = 0
    """Seconds that the run rested in front of the batch, as `share` asks it to."""


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
    bad_records: int | None = None
    """Damaged samples that were left out since the epoch began or was resumed, added over the ranks; None without `max_bad_records`."""
    test_bad_records: int | None = None
    """And by the evaluation."""


class RatePoint(NamedTuple):
    """A batch of a sweep over learning rates."""
    rate: float
    loss: float
    smoothed: float
    """The mean of this loss and those before, the later ones counting more."""


class RateSearch(NamedTuple):
    """What a sweep over learning rates says."""
    setting: str
    """That the rates are of, as "optimizer.learning_rate"; others kept their proportion."""
    points: list[RatePoint]
    suggested: float | None
    """Where the smoothed loss fell the steepest; None if it fell nowhere."""
    diverged: bool
    """Whether the sweep ended early, as the loss rose to four times its least or was not finite."""
