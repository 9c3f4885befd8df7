"""The workloads that have a name, and what may be set of them."""

import math
from dataclasses import replace

from streamlanes.errors import UserError, unknown
from streamlanes.workload.draws import Dist
from streamlanes.workload.schedule import MAX_TOKENS
from streamlanes.workload.settings import SetTo, dist, number
from streamlanes.workload.shape import Arrival, Phase, Workload


def _steady(calls: int, set_to: SetTo) -> Workload:
    """Ramp, then all calls together for at least two seconds; the total rate does not grow past 20,000/s."""
    ramp_s = number(set_to, "ramp_s", max(2.0, calls / 2000))
    rate = number(set_to, "rate_per_s", min(20_000.0, 50.0 * calls))
    ttft = dist(set_to, "ttft_ms", Dist(200.0))
    gap = dist(set_to, "gap_ms", Dist(1000.0 * calls / rate))
    enough = 1 + math.ceil(max(0.0, (ramp_s + 2.0) * 1000 - ttft.median) / gap.median - 1e-9)
    return Workload(
        name="steady",
        arrival=Arrival(str(set_to.get("arrival", Arrival.RAMP))),
        phase=Phase.SEEDED,
        ramp_s=ramp_s,
        ttft_ms=ttft,
        gap_ms=gap,
        tokens=dist(set_to, "tokens", Dist(float(enough))),
        seed=int(number(set_to, "seed", 1)),
    )


def _lockstep(calls: int, set_to: SetTo) -> Workload:
    """`steady`, but every call's tokens are due at the same instants: what phases spare us."""
    return replace(_steady(calls, set_to), name="lockstep", phase=Phase.LOCKSTEP)


def _lesson(calls: int, set_to: SetTo) -> Workload:
    """Calls of about half a second, all at once: the picture of the textbook."""
    gap_ms = 1000.0 * calls / number(set_to, "rate_per_s", calls * 25.0)
    return Workload(
        name="lesson",
        arrival=Arrival(str(set_to.get("arrival", Arrival.BURST))),
        phase=Phase.SEEDED,
        ramp_s=number(set_to, "ramp_s", 0.0),
        ttft_ms=dist(set_to, "ttft_ms", Dist(100.0)),
        gap_ms=dist(set_to, "gap_ms", Dist(gap_ms)),
        tokens=dist(set_to, "tokens", Dist(10.0)),
        seed=int(number(set_to, "seed", 1)),
    )


WORKLOADS = {"steady": _steady, "lesson": _lesson, "lockstep": _lockstep}

AXES = ("seed", "arrival", "ramp_s", "ttft_ms", "gap_ms", "tokens", "rate_per_s")
"""What a workload lets a person set."""


def resolve(name: str, calls: int, set_to: SetTo) -> Workload:
    """The named workload at this size, with what was set in place of its own values.

    Raises UserError for an unknown name or a value out of range.
    """
    if name not in WORKLOADS:
        raise unknown("workload", name, WORKLOADS)
    if calls < 1:
        raise UserError(f"calls is {calls}; it must be 1 or more")
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
