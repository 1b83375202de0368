"""A run: a module on a device with its data, from initial values or a checkpoint to a trained model."""
from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Callable

from numpy import ndarray

from . import _dlc
from ._batches import Filled, Inputs, Iterated
from ._errors import InvalidArgumentError
from ._log import Log, log_of
from ._progress import shown
from ._ranks import ranks_of
from ._reports import EpochReport, Progress, RatePoint, RateSearch, StepReport
from ._torch_file import readable, with_names

Arrays = Mapping[str, Any]
Metrics = dict[str, float | ndarray]


def _count(name: str, value: Any, least: int = 0) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 1 << 64:
        raise InvalidArgumentError(f"`{name}` is {value!r}, expected a whole number from {least} on")
    return number


def _count_or_none(name: str, value: Any, least: int = 0) -> int | None:
    return None if value is None else _count(name, value, least)


class Parameters(Mapping[str, ndarray]):
    """The parameters and statistics of a run by name, in the module's order. What is read is a copy, that cannot be written; an array
    that is assigned needs the parameter's shape and dtype: `run.parameters["conv1.weight"] = x`."""

    def __init__(self, run: _dlc.Run):
        self._run = run
        self._names = run.variables()

    def __getitem__(self, name: str) -> ndarray:
        array = self._run.read(name)
        array.flags.writeable = False
        return array

    def __setitem__(self, name: str, value: Any) -> None:
        self._run.write(name, value)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{len(self)} parameters: {', '.join(self)}>"


class Run:
    """A module on a device with its data. Loads the module, opens the device, initialises or resumes, and checks all that can be
    checked before the first batch.

    Arrays are NumPy's, or of anything that has DLPack or the buffer protocol, as PyTorch's tensors on the CPU. They are read where they
    lie if they are row-major, and copied if not. Those of step(), of predict() and of weights that are assigned may lie on the CUDA device
    of the run, row-major, and are copied there: see set_stream().

    Arguments:
      module             what dlc wrote
      data               training data: a dict with an array for each input, the first axis counting samples, which are kept alive, and
                         converted as those of files are (u8 to floats in [0, 1]); or a description, which has test data as well, as
                         dlc-run's --data: "images:DIR" or "npz:FILE" (docs/formats.md has them all); or
                         batches: an iterable of dicts of arrays, begun anew with each epoch, or a function of (epoch, batch, inputs), which
                         fills the arrays of the dict `inputs` or returns a dict of others
      test               test data: a dict or a description
      batches_per_epoch  how many `data` has that is an iterable without a length, or a function; and for schedules that count epochs,
                         where the program calls step()
      seed               of initial values, order and everything that is drawn; default: that of the checkpoint, or 0
      threads            default: one for each processor
      device             "cpu", "cuda" or "simt"; default: what the module was compiled for
      epochs             in all, those before a resumption included; default: the module's setting, or 1
      steps              at most so many batches in one call of train()
      checkpoint         file that train() writes after each epoch and at its end
      checkpoint_every   and each so many batches
      resume             go on where `checkpoint` ends
      overwrite          replace a `checkpoint` that is there
      init_from          a file of weights to begin with, as far as it has those of the model: safetensors, or torch.save's (.pth, .pt) of a
                         state_dict, which is read without PyTorch and without running what it says
      weights            a file whose weights the run begins with, as load() takes them: to evaluate or to predict
      augment            what happens to images on their way into a batch: a list of transforms, as dlc-run's --augment: "crop:4,flip", or
                         "@FILE"; behind "test:" those of evaluation; default: that of the checkpoint that is resumed, or nothing
      overrides          settings in the place of the module's: {"optimizer.learning_rate": 0.1}
      ranks              who trains together: Ranks, launched_ranks(), or a communicator of mpi4py
      load_workers       threads that put batches together beside the training; default: one for samples in memory, else one for two
                         processors. No bit depends on it
      load_ahead         batches that are made ahead of the one that is trained on; default: 3
      check_ranks        compare the parameters of all ranks each so many batches; without it before checkpoints alone
      log                hears what there is to say: a logging.Logger, or a function of a level and a line; default: the logger "dlc"
      keep               how many checkpoints stay: `checkpoint`, and those before it as CHECKPOINT.step-N; default: the last one alone
      save_best          a metric of evaluations, "accuracy" or "error:min": behind the best of them CHECKPOINT.best is written as well
      evaluate_every     evaluate within an epoch too, each so many batches, and write `checkpoint` behind it
      patience           end train() behind so many evaluations of which none was better, by more than `min_delta`, than the best
      patience_metric    in which metric; default: that of `save_best`, else the first loss
      time_limit         end train() behind the first batch that ends after so many seconds, as if it were complete
      log_file           file that train() adds a line to for each step, evaluation and epoch: JSON, or CSV where its name ends with .csv
      rename             "REGEX=REPLACEMENT" each, which make the model's names of those in `init_from`, as sed's s/REGEX/REPLACEMENT/g
      limit              what train() takes of each epoch's batches, of the training and of each evaluation, on each rank: a part of them,
                         below 1, or at most so many, a whole number
      overfit_batches    train on the first so many batches of each epoch, the same draws in each, and evaluate on their samples: what
                         can be learnt by heart is
      fast_dev_run       train() is one batch, or as many as the first update takes, an evaluation is one, and no file is written: that
                         all goes well is known before it is begun
      check_finite       name the first tensor that is not finite where a step fails for it. Much slower: each record is waited for
      norms              StepReport.norms has those of parameters and gradients each so many steps
      share              work at most this part of the time and rest behind each step for others, above 0 and up to 1. No bit depends on it
      max_bad_records    damaged samples of a pass over the data, of each rank, that are left out; without it the first one is an error.
                         In training the next readable sample of the order takes the place of such a one
      tensorboard        folder that a run writes a file of its own to, of events that TensorBoard shows: what `log_file` has, what the
                         model is, and the images of its first batch
      histograms         with it, how each parameter's values are spread, behind each so many epochs

    `run.ranks` are the ranks, or None; who gives a communicator calls run.ranks.leave() before MPI is finalised.

    One thread at a time calls a run, but for stop(). A process that was forked opens runs of its own. A run whose step failed may
    go on.
    """

    def __init__(self, module: str | os.PathLike[str],
                 data: str | Arrays | Iterable[Arrays] | Callable[[int, int, Inputs], Arrays | None] | None = None, *,
                 test: str | Arrays | None = None, batches_per_epoch: int | None = None, seed: int | None = None,
                 threads: int | None = None, device: str | None = None, epochs: int | None = None, steps: int | None = None,
                 checkpoint: str | os.PathLike[str] | None = None, checkpoint_every: int | None = None, resume: bool = False,
                 overwrite: bool = False, init_from: str | os.PathLike[str] | None = None,
                 weights: str | os.PathLike[str] | None = None, augment: str | None = None,
                 overrides: Mapping[str, float] | None = None, load_workers: int | None = None, load_ahead: int | None = None,
                 ranks: Any = None, check_ranks: int | None = None, log: Log = None,
                 keep: int | None = None, save_best: str | None = None, evaluate_every: int | None = None, patience: int | None = None,
                 min_delta: float = 0, patience_metric: str | None = None, time_limit: float | None = None,
                 log_file: str | os.PathLike[str] | None = None, rename: Iterable[str] = (), limit: float = 0,
                 overfit_batches: int | None = None, fast_dev_run: bool = False, check_finite: bool = False, norms: int | None = None,
                 share: float = 1, max_bad_records: int | None = None, tensorboard: str | os.PathLike[str] | None = None,
                 histograms: int | None = None):
        fill = None
        if data is not None and not isinstance(data, (str, Mapping)):
            if callable(data):
                fill = Filled(data)
            elif isinstance(data, Iterable):
                fill = Iterated(data)
                if batches_per_epoch is None and isinstance(data, Sized):
                    batches_per_epoch = len(data)
            else:
                raise InvalidArgumentError(f"`data` is '{type(data).__name__}'; expected a description, a dict of arrays, an iterable of "
                                           "dicts or a function that fills batches")
            data = None
        self.ranks = ranks_of(ranks, log)
        reads = self.ranks is None or self.ranks.rank == 0
        with readable(init_from, reads) as start, readable(weights, reads) as loaded:
            self._run = _dlc.Run(
                module=module, data=data, test=test, fill=fill, batches_per_epoch=_count("batches_per_epoch", batches_per_epoch or 0),
                seed=_count_or_none("seed", seed), threads=_count("threads", threads or 0), device=device or "",
                epochs=_count_or_none("epochs", epochs), steps=_count_or_none("steps", steps), checkpoint=checkpoint or "",
                checkpoint_every=_count("checkpoint_every", checkpoint_every or 0), resume=bool(resume), overwrite=bool(overwrite),
                init_from=start or "", weights=loaded or "", augment=augment or "", overrides=dict(overrides or {}),
                load_workers=_count_or_none("load_workers", load_workers), load_ahead=_count_or_none("load_ahead", load_ahead),
                ranks=self.ranks and self.ranks._ranks,
                check_ranks=_count("check_ranks", check_ranks or 0),
                log=with_names(log_of(log), (init_from, start), (weights, loaded)), keep=_count("keep", keep or 0),
                save_best=save_best or "", evaluate_every=_count("evaluate_every", evaluate_every or 0),
                patience=_count("patience", patience or 0), min_delta=min_delta, patience_metric=patience_metric or "",
                time_limit=time_limit or 0, log_file=log_file or "", rename=list(rename), limit=limit or 0,
                overfit_batches=_count("overfit_batches", overfit_batches or 0), fast_dev_run=bool(fast_dev_run),
                check_finite=bool(check_finite), norms=_count("norms", norms or 0), share=share,
                max_bad_records=_count("max_bad_records", max_bad_records or 0), tensorboard=tensorboard or "",
                histograms=_count("histograms", histograms or 0))
        self.parameters = Parameters(self._run)

    def train(self, epochs: int | None = None, callback: Callable[[StepReport | EpochReport], object] | None = None,
              progress: bool | None = None) -> None:
        """Trains up to `epochs` epochs in all (default: as it was opened), or `steps` batches; evaluates after each where there are test
        data, and writes the checkpoint. May be called again.

        `callback` hears a StepReport after each batch and an EpochReport after each epoch. It may call stop() and set(); after an epoch
        also evaluate(), predict(), and read weights. What it raises ends the training after the batch, as stop() does, with the
        checkpoint written, and is raised here; so does KeyboardInterrupt.

        `progress`: True shows a bar, False nothing; by default there is a bar on a terminal or in a notebook, and lines in a log."""
        bar = shown(progress) if not self.ranks or self.ranks.rank == 0 else None
        try:
            self._run.train(callback=callback, progress=bar, epochs=_count_or_none("epochs", epochs))
        finally:
            if bar:
                bar.clear()

    def step(self, batch: Arrays) -> Metrics:
        """Trains on one batch: an array for each input of the entry that trains, of its dtype, and its shape but for axes of extent 1.
        Returns losses and metrics. Nothing is evaluated and nothing written. Among ranks all call it together, and one that has no batch
        left gives {}, as long as another one has some: means are over those that have one, and where none has, there are no metrics."""
        return self._run.step(batch)

    def find_rate(self, lowest: float = 1e-7, highest: float = 10, steps: int = 100,
                  callback: Callable[[RatePoint], object] | None = None) -> RateSearch:
        """Trains a copy of the present weights, batch by batch at higher learning rates in the place of the schedule's, from `lowest` to
        `highest`, on the training data from the first epoch's first batch on, to find one that fits. `callback` hears each batch; what it
        raises ends the sweep and is raised here. Nothing of the run changes and no file is written but `log_file`. All ranks call it
        alike."""
        return self._run.find_rate(lowest, highest, _count("steps", steps), callback)

    def evaluate(self, data: str | Arrays | None = None) -> Metrics:
        """Losses and metrics of the present weights on the test data, or on `data`, each sample once."""
        return self._run.evaluate(data)

    def predict(self, inputs: Arrays, entry: str | None = None, into: Arrays | None = None) -> ndarray | dict[str, ndarray] | None:
        """Runs an entry that infers, the first one by default, with the present weights: any number of samples, where the first axis of
        all inputs counts them. Returns its output, or a dict of them where it has several; or writes some of them or all `into` arrays
        by name, which are row-major, and returns None."""
        return self._run.predict(inputs, entry or "", into)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, from which a run resumes to the bit. All ranks call it."""
        self._run.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Takes the weights of a checkpoint, or of a file of PyTorch's (safetensors, or torch.save's of a state_dict), for those of this
        run; counters and optimizer stay."""
        with readable(path, self.ranks is None or self.ranks.rank == 0) as loaded:
            self._run.load(loaded)

    def set(self, setting: str, value: float) -> None:
        """Sets one of the module's settings from the next step on, as `overrides` does."""
        self._run.set(setting, value)

    def set_stream(self, stream: int) -> None:
        """The program's stream on the CUDA device of the run, a cudaStream_t as a number: torch.cuda.current_stream().cuda_stream; 0, as
        at first, is CUDA's default stream. Arrays on the device are read and written behind all that this stream has been given, and
        ahead of what it is given when the call has returned. Runs on the CPU and on SIMT do not look at it."""
        self._run.set_stream(_count("stream", stream))

    @property
    def cuda_device(self) -> int | None:
        """The number of the CUDA device that the run is on; None on the CPU and on SIMT."""
        return self._run.cuda_device()

    def stop(self) -> None:
        """Ends train() after the batch that it is at, as if it were complete; from any thread. The next train() goes on."""
        self._run.stop()

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        return self._run.progress()

    @property
    def weights(self) -> ndarray:
        """All parameters and statistics as one array, in the order of `parameters`, each row-major: a copy. Where they are of several
        dtypes these are their bytes. One like it may be assigned."""
        return self._run.read_weights()

    @weights.setter
    def weights(self, value: Any) -> None:
        self._run.write_weights(value)

    def average_weights(self, ranks: Any, weight: float = 1) -> None:
        """Makes the weights their mean over ranks, each counting `weight` times: after local steps, or of data of different size. A rank
        without data gives 0. All ranks call it, and end with the same bits. `ranks` is as Run takes it; the run needs none of its own."""
        among = ranks_of(ranks)
        if among is None:
            raise InvalidArgumentError("`ranks` is None; expected Ranks or a communicator")
        self._run.average_weights(among._ranks, weight)
