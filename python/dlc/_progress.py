"""What `Run.train(progress=)` shows: a bar on a terminal or in a notebook, lines elsewhere."""
from __future__ import annotations

import shutil
import sys
import time
from typing import IO, Mapping

from ._reports import EpochReport, StepReport

_WIDEST = 20
_LOG_PAUSE = 10
"""In a log, epochs that take fewer seconds have one line each."""


def _is_notebook() -> bool:
    return hasattr(getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)(), "kernel")


def _text(metrics: Mapping[str, object]) -> str:
    return "  ".join(f"{name} {value:.2%}" if "accuracy" in name else f"{name} {value:.4f}"
                     for name, value in metrics.items() if isinstance(value, float))


def _time(seconds: float) -> str:
    whole = round(seconds)
    minutes = f"{whole // 3600}:{whole // 60 % 60:02}" if whole >= 3600 else whole // 60
    return f"{minutes}:{whole % 60:02}"


class Shown:
    """Hears the reports of one train(), as dlc-run shows them."""

    def __init__(self, stream: IO[str], bar: bool):
        self._stream, self._bar = stream, bar
        self._drawn = 0  # characters of the bar that stands there
        self._tenths = 0
        self._said = time.monotonic()
        self._first: tuple[int, float] | None = None

    def __call__(self, report: StepReport | EpochReport) -> None:
        if isinstance(report, StepReport):
            self._step(report)
        else:
            self._epoch(report)

    def _step(self, report: StepReport) -> None:
        now, done, total = time.monotonic(), report.progress.position, report.steps_in_epoch
        if self._first is None:
            self._first = report.progress.step, now - report.seconds
        steps, seconds = report.progress.step - self._first[0] + 1, now - self._first[1]
        text = f"{_text(report.epoch)}  {steps * report.samples / seconds:.0f} samples/s"
        title = f"epoch {report.progress.epoch + 1}/{report.epochs}"
        if self._bar:
            left = (report.epochs - report.progress.epoch) * total - done
            self._draw(title, done / total, f"{text}  {_time(left * seconds / steps)} left")
        elif done * 10 // total > self._tenths and done < total:
            self._tenths = done * 10 // total
            if now - self._said >= _LOG_PAUSE:
                self._said = now
                self._line(f"{title}  {done}/{total}  {text}")

    def _epoch(self, report: EpochReport) -> None:
        ended = report.progress.position == 0
        line = f"{'epoch' if ended else 'stopped in epoch'} {report.progress.epoch + (not ended)}  {_text(report.train)}"
        line += f"  {report.samples / report.seconds:.0f} samples/s" if report.seconds else ""
        line += f"  test {_text(report.test)}" if report.test is not None else ""
        for name, rate in report.rates.items():
            line += f"  {'learning_rate' if len(report.rates) == 1 else name} {rate:.4g}"
        self.clear()
        self._line(line)
        self._first, self._tenths, self._said = None, 0, time.monotonic()

    def _draw(self, title: str, share: float, text: str) -> None:
        """The bar gives way to the numbers where the terminal is narrow. Notebooks know no more than a carriage return."""
        width = shutil.get_terminal_size().columns - 1
        tail = f" {share:4.0%}  {text}"
        bar = max(3, min(_WIDEST, width - len(title) - len(tail) - 3))
        line = f"{title} [{'=' * int(share * bar):{bar}}]{tail}"[:width]
        self._stream.write(f"\r{line:{self._drawn}}")
        self._stream.flush()
        self._drawn = len(line)

    def _line(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Takes the bar away."""
        if self._drawn:
            self._stream.write(f"\r{'':{self._drawn}}\r")
            self._stream.flush()
            self._drawn = 0


def shown(progress: bool | None) -> Shown | None:
    """True: a bar; False: nothing; None: as it fits what standard error is."""
    if progress is False:
        return None
    notebook = _is_notebook()
    stream = sys.stdout if notebook else sys.stderr
    if stream is None:
        return None
    return Shown(stream, bool(progress or notebook or stream.isatty()))
