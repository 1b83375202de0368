"""Trains what dlc compiled.

    import dlc

    dlc.compile("lenet.dl", "lenet.so", defines={"N": 64})
    run = dlc.Run("lenet.so", data={"image": images, "label": labels}, seed=1)
    run.train(epochs=2)
    scores = run.predict({"image": images})
    run.save("lenet.safetensors")

Everything that decides a bit of the result is in the arguments of Run, the module and the data: the same run through `dlc-run train`
ends with the same checkpoint.
"""
from ._compile import compile
from ._dlc import __version__
from ._errors import (CompileError, DamagedError, Error, FailedError, InvalidArgumentError, IoError, OutOfMemoryError,
                      UnsupportedError)
from ._ranks import Ranks, launched_ranks
from ._reports import EpochReport, ParameterNorm, Progress, RatePoint, RateSearch, StepReport
from ._run import Parameters, Run

__all__ = ["CompileError", "DamagedError", "EpochReport", "Error", "FailedError", "InvalidArgumentError", "IoError",
           "OutOfMemoryError", "ParameterNorm", "Parameters", "Progress", "Ranks", "RatePoint", "RateSearch", "Run", "StepReport",
           "UnsupportedError", "__version__", "compile", "launched_ranks"]
