"""What a workload is: a shape of load, before it becomes a schedule."""

import enum
from dataclasses import dataclass, field

from streamlanes.workload.draws import Draw
from streamlanes.workload.schedule import Ns


class Arrival(enum.StrEnum):
    """How calls arrive."""

    RAMP = "ramp"  # evenly over ramp_s
    BURST = "burst"  # all at once
    POISSON = "poisson"  # exponential gaps with mean ramp_s / calls
    CHAT = "chat"  # gamma gaps with that mean and the conversation trace's spread
    CODE = "code"  # blocks of the code trace's gaps, in random order, stretched to ramp_s
    PEAK = "peak"  # Poisson; ten times as fast in the middle third of ramp_s
    TRACE = "trace"  # as recorded, stretched to ramp_s


TOGETHER = (Arrival.RAMP, Arrival.BURST)
"""Ways of arriving by which a workload gets all its calls in flight; by the others calls come and go."""


class Phase(enum.StrEnum):
    """How the token times of different calls lie to each other."""

    SEEDED = "seeded"  # each call has its own phase in [0, gap)
    LOCKSTEP = "lockstep"  # all calls' tokens are due at the same instants


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A shape of load.

    ramp_s: from the first to the last arrival. tokens: per call. time_scale: how many times faster
    than in reality calls arrive (their own times are never scaled), None for a workload without a
    reality. trace: the recording's name, with recorded_ns, its arrivals from the first one.
    """

    name: str
    arrival: Arrival
    phase: Phase
    ramp_s: float
    ttft_ms: Draw
    gap_ms: Draw
    tokens: Draw
    seed: int
    time_scale: float | None = None
    trace: str | None = None
    recorded_ns: Ns | None = field(default=None, compare=False, repr=False)
