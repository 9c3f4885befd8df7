"""When calls are meant to start: one function for each way of arriving."""

from collections.abc import Callable
from functools import cache

import numpy as np

from streamlanes.workload import azure_2023, gaps
from streamlanes.workload.draws import Floats
from streamlanes.workload.schedule import Ns
from streamlanes.workload.shape import Arrival, Workload

PEAK_TIMES = 10
"""How many times as fast as before and after calls arrive in a peak."""

_CHAT_SHAPE = azure_2023.CHAT_GAP_CV**-2
"""A gamma distribution's shape follows from its spread; at 1 it would be the Poisson process itself."""


def starts_ns(load: Workload, calls: int, rng: np.random.Generator) -> Ns:
    """Every intended start from the origin, ascending."""
    return np.rint(_STARTS[load.arrival](load, calls, rng) * 1e9).astype(np.int64)


def _ramp(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    at: Floats = np.linspace(0.0, load.ramp_s, calls, endpoint=False)
    return at


def _burst(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    return np.zeros(calls)


def _poisson(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    return np.cumsum(rng.exponential(load.ramp_s / calls, calls))


def _chat(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    return np.cumsum(rng.gamma(_CHAT_SHAPE, load.ramp_s / calls / _CHAT_SHAPE, calls))


def _code(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    """Stretched, since the mean of a few such gaps is far from the mean of all."""
    blocks = _code_blocks()
    drawn = blocks[rng.integers(0, len(blocks), -(-calls // blocks.shape[1]))].ravel()[: calls - 1]
    return _stretched(np.concatenate(([0.0], np.cumsum(drawn))), load.ramp_s)


def _peak(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    """A Poisson process of which the number is known is that many uniform moments in order; here of
    a clock that runs ten times as fast in the middle third."""
    ends = np.array([0.0, 1.0, 1.0 + PEAK_TIMES, 2.0 + PEAK_TIMES])
    thirds = np.arange(4) * (load.ramp_s / 3)
    at: Floats = np.interp(np.sort(rng.random(calls)) * ends[-1], ends, thirds)
    return at


def _trace(load: Workload, calls: int, rng: np.random.Generator) -> Floats:
    assert load.recorded_ns is not None
    return _stretched(load.recorded_ns[:calls].astype(np.float64), load.ramp_s)


def _stretched(at: Floats, span_s: float) -> Floats:
    """Moments from 0 on, made to end at span_s; all at 0 where they take no time."""
    return at * (span_s / at[-1]) if at[-1] > 0 else at


@cache
def _code_blocks() -> Floats:
    return gaps.decode(azure_2023.CODE_GAP_BLOCKS)


_STARTS: dict[Arrival, Callable[[Workload, int, np.random.Generator], Floats]] = {
    Arrival.RAMP: _ramp,
    Arrival.BURST: _burst,
    Arrival.POISSON: _poisson,
    Arrival.CHAT: _chat,
    Arrival.CODE: _code,
    Arrival.PEAK: _peak,
    Arrival.TRACE: _trace,
}
