"""BLAS with one thread. It counts its threads when numpy is imported, so this comes before that."""

import os
import sys

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def one_thread() -> None:
    """One BLAS thread here and in every process started from here, whatever BLAS numpy has. Where numpy
    is imported already nothing is told: its BLAS would not look again, and `told` must not say it had."""
    if "numpy" in sys.modules:
        return
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))


def told() -> int | None:
    """How many threads BLAS was told to use in this process; None where it was told nothing, or
    different things."""
    said = {os.environ.get(name) for name in _VARIABLES}
    return int(value) if len(said) == 1 and (value := said.pop()) and value.isdigit() else None
