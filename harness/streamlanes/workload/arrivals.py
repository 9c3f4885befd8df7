"""When calls are meant to start."""

import numpy as np
import numpy.typing as npt

from streamlanes.workload.schedule import Ns
from streamlanes.workload.shape import Arrival, Workload


def starts_ns(load: Workload, calls: int, rng: np.random.Generator) -> Ns:
    """Every intended start from the origin, ascending."""
    if load.arrival is Arrival.BURST:
        return np.zeros(calls, dtype=np.int64)
    step_ns = load.ramp_s * 1e9 / calls
    if load.arrival is Arrival.POISSON:
        at_ns: npt.NDArray[np.floating[npt.NBitBase]] = np.cumsum(rng.exponential(step_ns, calls))
    else:
        at_ns = np.arange(calls) * step_ns
    return np.rint(at_ns).astype(np.int64)
