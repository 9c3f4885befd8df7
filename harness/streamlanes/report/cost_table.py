"""What a client costs, as a table: for the terminal, the page and what is published. Pure."""

from collections.abc import Iterable, Sequence

from streamlanes.costs import SETUP, TOKEN, Against, Cost, Growth, costs
from streamlanes.facts import Missing
from streamlanes.lanes.base import Lane
from streamlanes.record import Record
from streamlanes.report.tables import NOTHING, Row, Table, aligned
from streamlanes.series import Point, by_reason
from streamlanes.words import plain, quantity, short_ending

TITLE = "What a client costs"
_NAMES_SAID = 6


def table(records: Iterable[Record], lane: Lane) -> Table | None:
    """The costs of a lane's clients; None where its records compare none."""
    found = costs(record for record in records if record.cell.lane == lane.name)
    if not found or not _has(lane):
        return None
    rows = []
    for place, cost in enumerate(found):
        name = cost.library if place == 0 or found[place - 1].client != cost.client else ""
        rows.append(Row(group=name, line=cost.way, figures=_figures(cost), note=_note(cost)))
    at = plain(found[0].at)
    return Table(
        client=TITLE,
        workload="",
        who=TITLE,
        first=("client", "way"),
        heads=(
            f"CPU/token at {at}",
            f"set-up/call at {at}",
            "at the most",
            "bytes/stream",
            "without a stream",
            "bears",
            "uvloop/asyncio",
        ),
        rows=tuple(rows),
        why=tuple(_why(found)),
    )


def lines(records: Iterable[Record], lane: Lane) -> list[str]:
    """The same as plain text of aligned columns; none where there is nothing to compare."""
    made = table(records, lane)
    return aligned([made], lane) if made is not None else []


def _has(lane: Lane) -> bool:
    """Whether the lane has the figures at all."""
    return {TOKEN, SETUP} <= {metric.path for metric in lane.metrics}


def _figures(cost: Cost) -> tuple[str, ...]:
    growth, against = cost.growth, cost.against
    return (
        _told(cost.here, TOKEN),
        _told(cost.here, SETUP),
        _at_most(cost),
        quantity(growth.fit.slope, "B") if isinstance(growth, Growth) else NOTHING,
        quantity(growth.fit.intercept, "B") if isinstance(growth, Growth) else NOTHING,
        cost.knee.bears if cost.knee is not None else NOTHING,
        _ratio(against) if isinstance(against, Against) else NOTHING,
    )


def _told(point: Point | None, path: str) -> str:
    value = None if point is None else point.pooled(path)
    return NOTHING if value is None else quantity(value, "us")


def _at_most(cost: Cost) -> str:
    """Setting a call up at the largest size beyond the common one, with that size; or how that ended."""
    point = cost.largest
    if point is None:
        return NOTHING
    value = point.pooled(SETUP)
    return f"{plain(point.calls)}: {NOTHING if value is None else quantity(value, 'us')}"


def _ratio(found: Against) -> str:
    ratio = found.ratio
    interval = "" if ratio.low is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.value:.2f}x{interval}"


def _note(cost: Cost) -> str:
    """Endings by size, the sizes of the slope, the size and number of pairs, what the search says."""
    said = [
        f"{plain(point.calls)}: {short_ending(point.stopped[0])}" for point in cost.points if point.stopped
    ]
    flagged = by_reason(
        (plain(point.calls), flag)
        for point in cost.points
        for flag in dict.fromkeys(f.name.value for record in point.records for f in record.flags)
    )
    said += [f"{flag} at {', '.join(sizes)}" for flag, sizes in flagged]
    if isinstance(cost.growth, Growth):
        said.append(f"memory at {', '.join(map(plain, cost.growth.held))}")
    if isinstance(cost.against, Against):
        pairs = cost.against.ratio.pairs
        said.append(f"{pairs} pair{'' if pairs == 1 else 's'} at {plain(cost.against.calls)}")
    if cost.knee is not None:
        said += [f"bears: {plain(cost.knee.calls)} calls", *cost.knee.notes]
    return "; ".join(said)


def _why(found: Sequence[Cost]) -> list[str]:
    """A line for each reason that a figure is missing, with the rows that it took it from."""
    reasons: list[tuple[str, str]] = []
    for cost in found:
        name = f"{cost.client} ({cost.way})"
        for head, path in (("CPU/token", TOKEN), ("set-up/call", SETUP)):
            if _told(cost.here, path) == NOTHING:
                why = (
                    cost.here.why_missing(path)
                    if cost.here is not None
                    else f"not measured at {plain(cost.at)} calls"
                )
                reasons.append((name, f"{head}: {why}"))
        if isinstance(cost.growth, Missing):
            reasons.append((name, f"bytes/stream: {cost.growth.reason}"))
        if isinstance(cost.against, Missing) and cost.line.backend == "uvloop":
            reasons.append((name, f"uvloop/asyncio: {cost.against.reason}"))
        if cost.knee is None:
            reasons.append((name, "bears: no knee was sought"))
    return [f"{reason}: {_these(names, len(found))}" for reason, names in by_reason(reasons)]


def _these(names: Sequence[str], of: int) -> str:
    more = f" and {len(names) - _NAMES_SAID} more" if len(names) > _NAMES_SAID else ""
    return "all" if len(names) == of else ", ".join(names[:_NAMES_SAID]) + more
