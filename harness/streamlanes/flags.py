"""Doubts about a cell, each with its evidence (DESIGN.md, rule 13). Pure."""

import numpy as np

from streamlanes.facts import Facts, Missing
from streamlanes.metrics import Calls
from streamlanes.probe.host import foreign_cpu_share, steal_share
from streamlanes.readings import spin_drift
from streamlanes.record import Flag, FlagName
from streamlanes.samples import Outcome
from streamlanes.walls import in_flight_target

CLIENT_SHARE = 0.90
PROVIDER_P99_MS = 5.0
PROVIDER_OF_LATENESS = 0.20
PROVIDER_CPU_SHARE = 0.70
FOREIGN_SHARE = 0.05
SPIN_DRIFT = 0.25
"""Two looks of a tenth of a second: below this they say more of themselves than of the cell (decision 9)."""
FLAT_SHARE = 0.20
"""A cap shows as a flat top: the peak is held for this share of the wall."""
REACHED_AGAIN = 5
"""How often calls must have come up to the cap in a cell that was stopped."""
GRAINS = 2
"""A timer is rounded by up to one grain, against a clock that may itself be one grain old."""
APART_MS = 5.0
"""Tokens sent nearer than this to each other may come together by any scheduler's doing."""
TOGETHER_SHARE = 0.10
"""Tokens came together if they were received within this share of the time they were sent apart."""
READER_SHARE = 0.70
"""Of a core: a busier reader is late by itself, and what waited for it comes together too."""
BUFFERED_SHARE = 0.20

Evidence = dict[str, float | int | str | None]


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
        _below_grain(facts, calls),
        _buffered(facts, calls),
    )
    return [flag for flag in found if flag is not None]


def _failed_calls(facts: Facts) -> Flag | None:
    """Calls that ended, and not well: whatever the others measured, it was another load."""
    outcomes = facts.timed.calls.outcome
    evidence: Evidence = {
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
    evidence: Evidence = {}
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
    """A limit nobody asked for: fewer in flight than the target, and the top is flat. Of a cell that was
    stopped the top must also be reached again and again: calls that starve stand still at one level too."""
    if facts.timed.schedule.life_ns.max() / 1e6 < GRAINS * facts.grain_ms:
        return None  # calls so short may be over before the next can begin
    peak, target = calls.peak_in_flight, in_flight_target(facts)
    if peak >= target or calls.share_of_wall_at(peak) < FLAT_SHARE:
        return None
    if not facts.drained and calls.rises_to(peak) < REACHED_AGAIN:
        return None
    return Flag(FlagName.CAPPED, {"peak_in_flight": peak, "target": target})


def _bounded(facts: Facts) -> Flag | None:
    if facts.width is None or facts.width >= facts.full_schedule.peak_in_flight:
        return None
    return Flag(FlagName.BOUNDED, {"width": facts.width, "waves": -(-facts.calls // facts.width)})


def _noisy(facts: Facts) -> Flag | None:
    evidence: Evidence = {}
    before, after = facts.timed.host
    foreign, steal = foreign_cpu_share(before, after, facts.timed.ours_ns), steal_share(before, after)
    # Ticks are coarse, so a quiet host can give a foreign share below 0; it must not hide the steal.
    if max(foreign or 0.0, 0.0) + (steal or 0.0) > FOREIGN_SHARE:
        evidence |= {
            "foreign_cpu_share": foreign and round(foreign, 4),
            "steal_share": steal and round(steal, 4),
        }
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


def _below_grain(facts: Facts, calls: Calls) -> Flag | None:
    """The timers that pace the tokens are too coarse for what the cell is about: tokens meant to be
    apart fall into one grain, or (where waiting is all a client does) lateness is nothing but rounding."""
    evidence: Evidence = {}
    grain, gap = facts.grain_ms, facts.timed.schedule.median_gap_ms
    if gap is not None and gap < grain:
        evidence["gap_ms"] = round(gap, 4)
    late = calls.distribution("client_ms")
    p99, early = late["p99"], late["early_share"]
    if (
        facts.timed.provider is None
        and not isinstance(p99, Missing)
        and not isinstance(early, Missing)
        and p99 < GRAINS * grain
    ):
        evidence |= {"client_p99_ms": round(p99, 4), "early_share": round(early, 4)}
    return Flag(FlagName.BELOW_TIMER_GRAIN, {**evidence, "grain_ms": grain}) if evidence else None


def _buffered(facts: Facts, calls: Calls) -> Flag | None:
    """Something between the provider's write and the caller's code hands tokens on in batches.

    A reader that is late by itself gets batches too. So only those tokens count that lay ready while
    the cell went on reading others, and none of a cell that had no time to read or was given none.
    """
    provider = facts.timed.provider
    window = calls.whole if isinstance(calls.plateau, Missing) else calls.plateau
    if provider is None or isinstance(window, Missing) or window.busiest_share > READER_SHARE:
        return None
    if _noisy(facts) or _throttled(facts):
        return None
    received, sent = calls.stamps.received, provider.sent
    next_one = calls.counted[1:] & calls.counted[:-1] & (calls.token_call[1:] == calls.token_call[:-1])
    rows = np.flatnonzero(next_one)
    rows = rows[(sent[rows] > 0) & (sent[rows + 1] - sent[rows] >= APART_MS * 1e6)]
    if not len(rows):
        return None
    apart_ns = sent[rows + 1] - sent[rows]
    together = rows[received[rows + 1] - received[rows] < TOGETHER_SHARE * apart_ns]
    every = np.sort(received[received > 0])
    # Up to half-way, since a reader that was away for longer than it then takes to catch up shows no read.
    half_ns = sent[together] + (received[together] - sent[together]) // 2
    awake = np.searchsorted(every, half_ns, "right") > np.searchsorted(every, sent[together], "right")
    share = float(awake.sum()) / len(rows)
    if share <= BUFFERED_SHARE:
        return None
    return Flag(FlagName.BUFFERED_PATH, {"together_share": round(share, 3), "sent_apart": len(rows)})
