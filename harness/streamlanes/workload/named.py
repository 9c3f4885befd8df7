"""The workloads that have a name, and what may be set of them."""

import math
from collections.abc import Callable
from dataclasses import replace

from streamlanes.errors import UserError, unknown
from streamlanes.workload.draws import Dist
from streamlanes.workload.real import chat, code, peak10, replay
from streamlanes.workload.schedule import MAX_TOKENS
from streamlanes.workload.settings import MOST_TOKENS_PER_S, SetTo, arrival, dist, gap, number
from streamlanes.workload.shape import Arrival, Phase, Workload

PACE_GAP_MS = 100.0
"""Between two tokens of a `paced` call: ten tokens a second, so that 2,000 calls are `steady`'s 20,000."""
MOST_FLOOD_TOKENS, MOST_FLOOD_TOKENS_A_CALL = 20_000, 1_000
"""Of a `flood`: a client that bears 4,000 tokens a second still ends in the 5 s that a cell is given."""


def _steady(calls: int, set_to: SetTo) -> Workload:
    """Ramp, then all calls together for at least two seconds; the total rate does not grow past 20,000/s."""
    _one_rate(set_to)
    ramp_s = number(set_to, "ramp_s", max(2.0, calls / 2000))
    rate = number(set_to, "rate_per_s", min(MOST_TOKENS_PER_S, 50.0 * calls))
    ttft = dist(set_to, "ttft_ms", Dist(200.0))
    gap_ms = gap(set_to, Dist(1000.0 * calls / rate))
    enough = 1 + math.ceil(max(0.0, (ramp_s + 2.0) * 1000 - ttft.median) / gap_ms.median - 1e-9)
    return Workload(
        name="steady",
        arrival=arrival(set_to, Arrival.RAMP),
        phase=Phase.SEEDED,
        ramp_s=ramp_s,
        ttft_ms=ttft,
        gap_ms=gap_ms,
        tokens=dist(set_to, "tokens", Dist(float(enough))),
        seed=int(number(set_to, "seed", 1)),
    )


def _lockstep(calls: int, set_to: SetTo) -> Workload:
    """`steady`, but every call's tokens are due at the same instants: what phases spare us."""
    return replace(_steady(calls, set_to), name="lockstep", phase=Phase.LOCKSTEP)


def _paced(calls: int, set_to: SetTo) -> Workload:
    """`steady` at a fixed rate for each call, so the total grows with the calls: what a machine meets
    whose users come one by one. PACE_GAP_MS unless set."""
    free = any(axis in set_to for axis in ("gap_ms", "gaps", "rate_per_s"))
    return replace(_steady(calls, set_to if free else {**set_to, "gap_ms": PACE_GAP_MS}), name="paced")


def _lesson(calls: int, set_to: SetTo) -> Workload:
    """Calls of about half a second, all at once: the picture of the textbook."""
    _one_rate(set_to)
    gap_ms = 1000.0 * calls / number(set_to, "rate_per_s", calls * 25.0)
    return Workload(
        name="lesson",
        arrival=arrival(set_to, Arrival.BURST),
        phase=Phase.SEEDED,
        ramp_s=number(set_to, "ramp_s", 0.0),
        ttft_ms=dist(set_to, "ttft_ms", Dist(100.0)),
        gap_ms=gap(set_to, Dist(gap_ms)),
        tokens=dist(set_to, "tokens", Dist(10.0)),
        seed=int(number(set_to, "seed", 1)),
    )


def _flood(calls: int, set_to: SetTo) -> Workload:
    """Every call at once, and each call's whole answer at once: nobody waits for a token, so what is left
    is what the client itself can bear. Few tokens in all, so that a slow client ends in its budget."""
    for axis in ("gap_ms", "rate_per_s", "arrival", "ramp_s"):
        if axis in set_to:
            raise UserError(
                f"{axis} means nothing to workload flood: calls come at once, and so do their tokens"
            )
    each = float(min(MOST_FLOOD_TOKENS_A_CALL, max(1, MOST_FLOOD_TOKENS // max(1, calls))))
    return Workload(
        name="flood",
        arrival=Arrival.BURST,
        phase=Phase.SEEDED,
        ramp_s=0.0,
        ttft_ms=dist(set_to, "ttft_ms", Dist(1.0)),
        gap_ms=Dist(0.0),
        tokens=dist(set_to, "tokens", Dist(each)),
        seed=int(number(set_to, "seed", 1)),
    )


def _flow(calls: int, set_to: SetTo) -> Workload:
    """Calls that come and go evenly: each streams for about two seconds, and they arrive over four times
    as long, so that for most of the time some begin, some stream and some end."""
    _one_rate(set_to)
    ttft = dist(set_to, "ttft_ms", Dist(100.0))
    tokens = dist(set_to, "tokens", Dist(80.0))
    if "rate_per_s" in set_to:
        raise UserError("workload flow takes its rate from ramp_s, gap_ms and tokens; leave rate_per_s out")
    gap = dist(set_to, "gap_ms", Dist(25.0))
    life_s = (ttft.median + gap.median * tokens.median) / 1000
    return Workload(
        name="flow",
        arrival=arrival(set_to, Arrival.RAMP),
        phase=Phase.SEEDED,
        ramp_s=number(set_to, "ramp_s", round(4 * life_s, 3)),
        ttft_ms=ttft,
        gap_ms=gap,
        tokens=tokens,
        seed=int(number(set_to, "seed", 1)),
    )


def _documents(calls: int, set_to: SetTo) -> Workload:
    """No stream: every call is a document, there from the start, of as many words as it has tokens."""
    return Workload(
        name="documents",
        arrival=Arrival.BURST,
        phase=Phase.SEEDED,
        ramp_s=0.0,
        ttft_ms=Dist(0.0),
        gap_ms=Dist(1e-3),
        tokens=dist(set_to, "tokens", Dist(500.0)),
        seed=int(number(set_to, "seed", 1)),
    )


def _one_rate(set_to: SetTo) -> None:
    """Where all calls stream together, the gap follows from the total rate. Where they come and go, the
    rate says how fast they come, and both may be set."""
    for axis in ("gap_ms", "gaps"):
        if axis in set_to and "rate_per_s" in set_to:
            raise UserError(f"{axis} and rate_per_s set the same thing; leave one out")


WORKLOADS: dict[str, Callable[[int, SetTo], Workload]] = {
    "steady": _steady,
    "lesson": _lesson,
    "flood": _flood,
    "lockstep": _lockstep,
    "paced": _paced,
    "flow": _flow,
    "documents": _documents,
    "chat": chat,
    "code": code,
    "peak10": peak10,
    "trace": replay,
}

AXES = (
    "seed",
    "arrival",
    "ramp_s",
    "ttft_ms",
    "gap_ms",
    "gaps",
    "tokens",
    "rate_per_s",
    "time_scale",
    "trace",
)
"""What a workload lets a person set."""

_OF_SOME = {"time_scale": ("chat", "code", "peak10", "trace"), "trace": ("trace",)}
"""Axes that mean something to some workloads only."""


def resolve(name: str, calls: int, set_to: SetTo) -> Workload:
    """The named workload at this size, with what was set in place of its own values; a trace is given
    as it was read (workload.trace.Trace), and so are gaps (workload.draws.Looped).

    Raises UserError for an unknown name, a value out of range, or one that means nothing here.
    """
    if name not in WORKLOADS:
        raise unknown("workload", name, WORKLOADS)
    if calls < 1:
        raise UserError(f"calls is {calls}; it must be 1 or more")
    for axis, names in _OF_SOME.items():
        if axis in set_to and name not in names:
            which = f"workload{'s' if len(names) > 1 else ''} {', '.join(names)}"
            raise UserError(f"{axis} means nothing to workload {name}; it is for the {which} (-w)")
    try:
        load = WORKLOADS[name](calls, set_to)
    except ZeroDivisionError:
        raise UserError("rate_per_s, gap_ms and time_scale must be above 0") from None
    if load.ramp_s > 0 and load.arrival is Arrival.BURST:
        load = replace(load, ramp_s=0.0, time_scale=None)
    for axis, value, least in (
        ("ramp_s", load.ramp_s, 0.0),
        ("ttft_ms", load.ttft_ms.median, 0.0),
        ("gap_ms", load.gap_ms.median, 0.0 if name == "flood" else 1e-3),
        ("tokens", load.tokens.median, 1.0),
        ("seed", load.seed, 0),
    ):
        if not least <= value <= 1e9:
            raise UserError(f"{axis} is {value:,}; it must be from {least:,} to 1,000,000,000")
    if calls * load.tokens.mean > MAX_TOKENS:
        raise UserError(
            f"{calls:,} calls of {load.tokens.mean:,.0f} tokens are more than {MAX_TOKENS:,} tokens; "
            "set fewer calls or tokens"
        )
    return load
