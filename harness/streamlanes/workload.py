"""When calls start and tokens are due: pure, seeded, the same everywhere for the same seed."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlanes.errors import UserError, unknown

Ns = npt.NDArray[np.int64]

MAX_TOKENS = 20_000_000
"""Tokens of one cell: three tables of 8 bytes a token must fit in memory (480 MB)."""


class Arrival(enum.StrEnum):
    """How calls arrive."""

    RAMP = "ramp"  # evenly over ramp_s
    BURST = "burst"  # all at once
    POISSON = "poisson"  # exponential gaps with mean ramp_s / calls


class Phase(enum.StrEnum):
    """How the token times of different calls lie to each other."""

    SEEDED = "seeded"  # each call has its own phase in [0, gap)
    LOCKSTEP = "lockstep"  # all calls' tokens are due at the same instants


@dataclass(frozen=True)
class Dist:
    """A constant (sigma 0) or a lognormal with this median and this sigma of the logarithm."""

    median: float
    sigma: float = 0.0

    def draw(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
        """`count` values."""
        if self.sigma == 0:
            return np.full(count, float(self.median))
        return self.median * np.exp(self.sigma * rng.standard_normal(count))


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


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Every intended start and due time of a cell.

    start_ns[call], from the origin, ascending. first[call]: the row of a call's first token;
    first[calls] is the token count. offset_ns[row]: when the token is due after its call's start.
    """

    start_ns: Ns
    first: Ns
    offset_ns: Ns

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return len(self.start_ns)

    @property
    def tokens(self) -> int:
        """How many tokens all calls have together."""
        return len(self.offset_ns)

    @property
    def life_ns(self) -> Ns:
        """From each call's intended start to its last token's due time."""
        life: Ns = self.offset_ns[self.first[1:] - 1]
        return life

    @property
    def ideal_wall_s(self) -> float:
        """First intended start to last due time: the wall of a backend without any cost."""
        return float((self.start_ns + self.life_ns).max() - self.start_ns.min()) / 1e9

    @property
    def rate_per_s(self) -> float:
        """The total rate while all calls stream: the sum of each call's own token rate.

        A call of one token has no rate; where no call has one, tokens over the ideal wall.
        """
        counts = np.diff(self.first)
        span = self.life_ns - self.offset_ns[self.first[:-1]]
        several = (counts > 1) & (span > 0)
        if not several.any():
            return self.tokens / max(self.ideal_wall_s, 1e-9)
        return float(((counts[several] - 1) / (span[several] / 1e9)).sum())

    def head(self, calls: int) -> "Schedule":
        """The first `calls` calls alone."""
        return Schedule(
            start_ns=self.start_ns[:calls],
            first=self.first[: calls + 1],
            offset_ns=self.offset_ns[: self.first[calls]],
        )


def _steady(calls: int, set_to: Mapping[str, object]) -> Workload:
    """Ramp, then all calls together for at least two seconds; the total rate does not grow past 20,000/s."""
    ramp_s = _number(set_to, "ramp_s", max(2.0, calls / 2000))
    rate = _number(set_to, "rate_per_s", min(20_000.0, 50.0 * calls))
    ttft = _dist(set_to, "ttft_ms", Dist(200.0))
    gap = _dist(set_to, "gap_ms", Dist(1000.0 * calls / rate))
    enough = 1 + math.ceil(max(0.0, (ramp_s + 2.0) * 1000 - ttft.median) / gap.median - 1e-9)
    return Workload(
        name="steady",
        arrival=Arrival(str(set_to.get("arrival", Arrival.RAMP))),
        phase=Phase.SEEDED,
        ramp_s=ramp_s,
        ttft_ms=ttft,
        gap_ms=gap,
        tokens=_dist(set_to, "tokens", Dist(float(enough))),
        seed=int(_number(set_to, "seed", 1)),
    )


def _lockstep(calls: int, set_to: Mapping[str, object]) -> Workload:
    """`steady`, but every call's tokens are due at the same instants: what phases spare us."""
    return replace(_steady(calls, set_to), name="lockstep", phase=Phase.LOCKSTEP)


def _lesson(calls: int, set_to: Mapping[str, object]) -> Workload:
    """Calls of about half a second, all at once: the picture of the textbook."""
    gap_ms = 1000.0 * calls / _number(set_to, "rate_per_s", calls * 25.0)
    return Workload(
        name="lesson",
        arrival=Arrival(str(set_to.get("arrival", Arrival.BURST))),
        phase=Phase.SEEDED,
        ramp_s=_number(set_to, "ramp_s", 0.0),
        ttft_ms=_dist(set_to, "ttft_ms", Dist(100.0)),
        gap_ms=_dist(set_to, "gap_ms", Dist(gap_ms)),
        tokens=_dist(set_to, "tokens", Dist(10.0)),
        seed=int(_number(set_to, "seed", 1)),
    )


WORKLOADS = {"steady": _steady, "lesson": _lesson, "lockstep": _lockstep}

AXES = ("seed", "arrival", "ramp_s", "ttft_ms", "gap_ms", "tokens", "rate_per_s")
"""What a workload lets a person set."""


def resolve(name: str, calls: int, set_to: Mapping[str, object]) -> Workload:
    """The named workload at this size, with what was set in place of its own values.

    Raises UserError for an unknown name or a value out of range.
    """
    if name not in WORKLOADS:
        raise unknown("workload", name, WORKLOADS)
    if calls < 1:
        raise UserError(f"calls is {calls}; it must be 1 or more")
    if "gap_ms" in set_to and "rate_per_s" in set_to:
        raise UserError("gap_ms and rate_per_s set the same thing; leave one out")
    try:
        load = WORKLOADS[name](calls, set_to)
    except ZeroDivisionError:
        raise UserError("rate_per_s and gap_ms must be above 0") from None
    except ValueError:
        known = ", ".join(Arrival)
        raise UserError(f"unknown arrival {set_to.get('arrival')!r}; known: {known}") from None
    if load.ramp_s > 0 and load.arrival is Arrival.BURST:
        load = replace(load, ramp_s=0.0)
    for axis, value, least in (
        ("ramp_s", load.ramp_s, 0.0),
        ("ttft_ms", load.ttft_ms.median, 0.0),
        ("gap_ms", load.gap_ms.median, 1e-3),
        ("tokens", load.tokens.median, 1.0),
        ("seed", load.seed, 0),
    ):
        if not least <= value <= 1e9:
            raise UserError(f"{axis} is {value:g}; it must be from {least:g} to 1e9")
    if calls * load.tokens.median > MAX_TOKENS:
        raise UserError(
            f"{calls:,} calls of {load.tokens.median:,.0f} tokens are more than {MAX_TOKENS:,} tokens; "
            "set fewer calls or tokens"
        )
    return load


def build(load: Workload, calls: int) -> Schedule:
    """The schedule of this workload. Every quantity has a random stream of its own, so that setting
    one does not move the others."""
    streams = [np.random.default_rng([load.seed, which]) for which in range(5)]
    counts = np.clip(np.rint(load.tokens.draw(streams[0], calls)), 1, 100_000).astype(np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    if first[-1] > MAX_TOKENS:
        raise UserError(f"the workload has {first[-1]:,} tokens, more than {MAX_TOKENS:,}; set fewer")
    start = _starts(load, calls, streams[1])
    gap_ns = load.gap_ms.draw(streams[2], int(first[-1])) * 1e6
    offset = np.cumsum(gap_ns)
    # From running sums over all calls to sums within each call: the first token has no gap before it.
    offset -= np.repeat(offset[first[:-1]], counts)
    head_ns = load.ttft_ms.draw(streams[3], calls) * 1e6
    period_ns = load.gap_ms.median * 1e6
    if load.phase is Phase.SEEDED:
        head_ns = head_ns + streams[4].random(calls) * period_ns
    else:
        head_ns = np.ceil((start + head_ns) / period_ns) * period_ns - start
    offset += np.repeat(head_ns, counts)
    return Schedule(start_ns=start, first=first, offset_ns=np.rint(offset).astype(np.int64))


def predicted_wall_s(schedule: Schedule, width: int) -> float:
    """The wall of a pool that runs `width` calls at a time and costs nothing else: a queue in order
    of arrival in front of `width` servers, each call holding one for its life."""
    return float(_pool_ends(schedule, width).max() - schedule.start_ns.min()) / 1e9


def admitted(schedule: Schedule, width: int, budget_s: float) -> int:
    """How many calls a pool of this width can finish within the budget, in whole waves of `width`;
    at least one wave."""
    fit = int((_pool_ends(schedule, width) - schedule.start_ns.min() <= budget_s * 1e9).sum())
    if fit < schedule.calls:
        fit = max(width, fit // width * width)
    return min(schedule.calls, fit)


def _pool_ends(schedule: Schedule, width: int) -> Ns:
    free = np.zeros(min(width, schedule.calls), dtype=np.int64)
    ends = np.empty(schedule.calls, dtype=np.int64)
    for call, (start, life) in enumerate(zip(schedule.start_ns, schedule.life_ns, strict=True)):
        slot = int(free.argmin())
        ends[call] = free[slot] = max(free[slot], start) + life
    return ends


def peak_in_flight(start_ns: Ns, end_ns: Ns) -> int:
    """The most intervals [start, end) that overlap at one instant."""
    times = np.concatenate((start_ns, end_ns))
    steps = np.concatenate((np.ones(len(start_ns)), -np.ones(len(end_ns))))
    order = np.lexsort((steps, times))  # an end before a start at the same instant
    return int(np.cumsum(steps[order]).max(initial=0))


def _starts(load: Workload, calls: int, rng: np.random.Generator) -> Ns:
    if load.arrival is Arrival.BURST:
        return np.zeros(calls, dtype=np.int64)
    step_ns = load.ramp_s * 1e9 / calls
    if load.arrival is Arrival.POISSON:
        at_ns: npt.NDArray[np.floating[npt.NBitBase]] = np.cumsum(rng.exponential(step_ns, calls))
    else:
        at_ns = np.arange(calls) * step_ns
    return np.rint(at_ns).astype(np.int64)


def _number(set_to: Mapping[str, object], axis: str, default: float) -> float:
    value = set_to.get(axis, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UserError(f"{axis} is {value!r}; it must be a number")
    return value


def _dist(set_to: Mapping[str, object], axis: str, default: Dist) -> Dist:
    value = set_to.get(axis, default)
    if isinstance(value, Dist):
        found = value
    elif isinstance(value, Mapping) and set(value) <= {"median", "sigma"} and "median" in value:
        found = Dist(_number(value, "median", 0.0), _number(value, "sigma", 0.0))
    else:
        found = Dist(_number(set_to, axis, 0.0))
    if not 0 <= found.sigma <= 5:
        raise UserError(f"{axis}: sigma is {found.sigma:g}; it must be from 0 to 5")
    return found
