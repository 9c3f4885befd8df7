"""Doubts about a cell, each with its evidence (DESIGN.md, rule 13). Pure."""

from streamlanes.facts import Facts, Missing
from streamlanes.metrics import Calls, in_flight_target, spin_drift
from streamlanes.probe.host import foreign_cpu_share, steal_share
from streamlanes.record import Flag, FlagName
from streamlanes.samples import Outcome

CLIENT_SHARE = 0.90
PROVIDER_P99_MS = 5.0
PROVIDER_OF_LATENESS = 0.20
PROVIDER_CPU_SHARE = 0.70
FOREIGN_SHARE = 0.05
SPIN_DRIFT = 0.25
"""Two looks of a tenth of a second: below this they say more of themselves than of the cell (decision 9)."""
FLAT_SHARE = 0.20
"""A cap shows as a flat top: the peak is held for this share of the wall."""


def flags(facts: Facts, calls: Calls) -> list[Flag]:
    """Every flag that this cell's facts raise."""
    found = (
        _failed_calls(facts),
        _client_limited(calls),
        _provider_limited(facts, calls),
        _capped(facts, calls),
        _bounded(facts),
        _noisy(facts),
        _accept_limited(facts),
        _throttled(facts),
    )
    return [flag for flag in found if flag is not None]


def _failed_calls(facts: Facts) -> Flag | None:
    """Calls that ended, and not well: whatever the others measured, it was another load."""
    outcomes = facts.timed.calls.outcome
    evidence: dict[str, float | int | str | None] = {
        how.name.lower(): count
        for how in Outcome
        if how is not Outcome.OK and (count := int((outcomes == how).sum()))
    }
    return Flag(FlagName.FAILED_CALLS, evidence) if evidence else None


def _client_limited(calls: Calls) -> Flag | None:
    window = calls.plateau
    if isinstance(window, Missing) or window.busiest_share <= CLIENT_SHARE:
        return None
    return Flag(FlagName.CLIENT_LIMITED, {"cpu_share": round(window.busiest_share, 3)})


def _provider_limited(facts: Facts, calls: Calls) -> Flag | None:
    evidence: dict[str, float | int | str | None] = {}
    own, all_late = calls.distribution("provider_ms")["p99"], calls.distribution("lateness_ms")["p99"]
    if (
        not isinstance(own, Missing)
        and not isinstance(all_late, Missing)
        and own > PROVIDER_P99_MS
        and own > PROVIDER_OF_LATENESS * all_late
    ):
        evidence |= {"provider_p99_ms": round(own, 3), "lateness_p99_ms": round(all_late, 3)}
    window = calls.plateau
    if not isinstance(window, Missing) and facts.timed.provider is not None:
        share = window.provider_ns / 1e9 / window.span_s / facts.provider_cpus
        if share > PROVIDER_CPU_SHARE:
            evidence["provider_cpu_share"] = round(share, 3)
    return Flag(FlagName.PROVIDER_LIMITED, evidence) if evidence else None


def _capped(facts: Facts, calls: Calls) -> Flag | None:
    """A limit nobody asked for: fewer in flight than the target, and the top is flat."""
    peak, target = calls.peak_in_flight, in_flight_target(facts)
    if not facts.drained or peak >= target or calls.share_of_wall_at(peak) < FLAT_SHARE:
        return None
    return Flag(FlagName.CAPPED, {"peak_in_flight": peak, "target": target})


def _bounded(facts: Facts) -> Flag | None:
    if facts.width is None or facts.width >= facts.full_schedule.peak_in_flight:
        return None
    return Flag(FlagName.BOUNDED, {"width": facts.width, "waves": -(-facts.calls // facts.width)})


def _noisy(facts: Facts) -> Flag | None:
    evidence: dict[str, float | int | str | None] = {}
    before, after = facts.timed.host
    foreign = foreign_cpu_share(before, after, facts.timed.ours_ns)
    steal = steal_share(before, after)
    if foreign is not None and foreign + (steal or 0.0) > FOREIGN_SHARE:
        evidence |= {"foreign_cpu_share": round(foreign, 4), "steal_share": steal and round(steal, 4)}
    if spin_drift(facts.timed) > SPIN_DRIFT:
        first, last = facts.timed.spin_ms
        evidence |= {"spin_before_ms": round(first, 3), "spin_after_ms": round(last, 3)}
    return Flag(FlagName.NOISY_HOST, evidence) if evidence else None


def _accept_limited(facts: Facts) -> Flag | None:
    before, after = facts.timed.host
    if before.listen_overflows is None or after.listen_overflows is None:
        return None
    overflows = after.listen_overflows - before.listen_overflows
    return Flag(FlagName.ACCEPT_LIMITED, {"listen_overflows": overflows}) if overflows > 0 else None


def _throttled(facts: Facts) -> Flag | None:
    before, after = facts.timed.host
    if before.throttled_periods is None or after.throttled_periods is None:
        return None
    periods = after.throttled_periods - before.throttled_periods
    return Flag(FlagName.CPU_THROTTLED, {"throttled_periods": periods}) if periods > 0 else None
