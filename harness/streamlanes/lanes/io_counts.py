"""The counts of the I/O lane: calls, how they ended, tokens, requests."""

from collections.abc import Callable

from streamlanes.facts import Missing
from streamlanes.lanes.figures import HIGHER, LOWER, NEITHER, Figure, count, ended, figure
from streamlanes.metrics import Calls
from streamlanes.samples import Outcome
from streamlanes.walls import in_flight_target


def _unfinished(calls: Calls) -> int:
    return int(((calls.stamps.begin > 0) & (calls.stamps.outcome == 0)).sum()) + int(
        (calls.stamps.outcome == Outcome.UNFINISHED).sum()
    )


def _lost(calls: Calls) -> int:
    """Scheduled tokens of ok calls that did not come."""
    short = calls.counts - calls.stamps.count
    return int(short[calls.ok].clip(min=0).sum())


def _extra(calls: Calls) -> int:
    return int((calls.stamps.count - calls.counts).clip(min=0).sum())


def _untraced(calls: Calls) -> int:
    """ok calls that no figure enters which needs the provider's times."""
    traced = calls.traced
    return int(calls.ok.sum()) - (0 if isinstance(traced, Missing) else int(traced.sum()))


def _attempts(calls: Calls) -> int | Missing:
    """What the provider saw: a client that tries again, or never came through, is not told by its stamps."""
    if calls.timed.provider is None:
        return int((calls.stamps.sent > 0).sum())
    said = calls.timed.provider_stats
    if not said:
        return Missing("the provider was not asked, or did not answer, how many requests it saw")
    return sum(int(each["requests"]) for each in said)


def _usage_tokens(calls: Calls) -> int | Missing:
    if calls.timed.provider is None:
        return Missing("this client has no provider")
    said = calls.stamps.usage[calls.ok]
    return (
        int(said.sum())
        if said.any()
        else Missing("no call was told its usage: tokens are counted from chunks")
    )


def _without_usage(calls: Calls) -> int | Missing:
    if calls.timed.provider is None:
        return Missing("this client has no provider")
    return int((calls.stamps.usage[calls.ok] == 0).sum())


def _of_memory(name: str) -> Callable[[Calls], Figure]:
    def of(calls: Calls) -> Figure:
        found = calls.facts.memory
        if isinstance(found, str):
            return Missing(found)
        value = getattr(found.plateau, name)
        return Missing(found.plateau.reason or "unreadable") if value is None else int(value)

    return of


COUNTS = (
    count("counts.calls", "calls asked for", lambda c: c.facts.calls),
    count(
        "counts.admitted",
        "calls the cell was given: fewer for a pool that cannot finish them in its budget",
        lambda c: c.schedule.calls,
    ),
    count("counts.started", "calls that began", lambda c: int((c.stamps.begin > 0).sum())),
    count(
        "counts.attempts", "requests that the provider saw; calls sent, where there is no provider", _attempts
    ),
    count("counts.expected_tokens", "scheduled tokens of the admitted calls", lambda c: c.schedule.tokens),
    count("counts.tokens", "tokens received, counted from chunks", lambda c: c.tokens),
    count(
        "counts.usage_tokens",
        "output tokens of the ok calls by the provider's own count, which is the authority",
        _usage_tokens,
    ),
    count(
        "counts.without_usage", "ok calls whose provider said no count: theirs is from chunks", _without_usage
    ),
    count(
        "counts.no_sentinel",
        "ok calls that ended by their finish reason alone, without the dialect's own mark of the end",
        lambda c: int(c.stamps.no_sentinel.sum()),
    ),
    count("counts.lost_tokens", "scheduled tokens of ok calls that did not come", _lost, LOWER),
    count("counts.extra_tokens", "tokens beyond the schedule", _extra, LOWER),
    count(
        "counts.untraced",
        "ok calls whose tokens cannot be held against the provider's times: of people's own code alone",
        _untraced,
        LOWER,
    ),
    count(
        "counts.unaccounted_calls",
        "admitted calls that never began",
        lambda c: int((c.stamps.begin == 0).sum()),
        LOWER,
    ),
    count(
        "counts.peak_in_flight", "most calls at once, from request sent to end", lambda c: c.peak_in_flight
    ),
    figure(
        "counts.mean_in_flight",
        "",
        NEITHER,
        "calls in flight, averaged over the wall: from request sent to end",
        lambda c: c.mean_in_flight,
    ),
    count(
        "counts.in_flight_target",
        "the peak that schedule and width ask for",
        lambda c: in_flight_target(c.facts),
    ),
    count("counts.threads_peak", "threads of the tree at the memory pass's plateau", _of_memory("threads")),
    count("counts.fds_peak", "open descriptors of the tree at the memory pass's plateau", _of_memory("fds")),
    *(
        count(
            f"counts.{how.name.lower()}",
            f"calls that ended {how.name.lower()}",
            ended(how),
            HIGHER if how is Outcome.OK else LOWER,
        )
        for how in Outcome
        if how is not Outcome.UNFINISHED
    ),
    count(
        "counts.unfinished", "calls that began and had not ended when the cell was over", _unfinished, LOWER
    ),
)
