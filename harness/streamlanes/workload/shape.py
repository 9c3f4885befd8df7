"""What a workload is: a shape of load, before it becomes a schedule."""

import enum
from dataclasses import dataclass

from streamlanes.workload.draws import Dist


class Arrival(enum.StrEnum):
    """How calls arrive."""

    RAMP = "ramp"  # evenly over ramp_s
    BURST = "burst"  # all at once
    POISSON = "poisson"  # exponential gaps with mean ramp_s / calls


class Phase(enum.StrEnum):
    """How the token times of different calls lie to each other."""

    SEEDED = "seeded"  # each call has its own phase in [0, gap)
    LOCKSTEP = "lockstep"  # all calls' tokens are due at the same instants


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A shape of load. ramp_s: from the first to the last arrival. tokens: per call."""

    name: str
    arrival: Arrival
    phase: Phase
    ramp_s: float
    ttft_ms: Dist
    gap_ms: Dist
    tokens: Dist
    seed: int
