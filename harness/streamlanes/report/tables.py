"""A run's one table, for the terminal and for the page: by client and workload, then calls, then line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamlanes.capacity import Capacity, capacities
from streamlanes.knee import without_searches
from streamlanes.lanes.base import Better, Lane, Metric
from streamlanes.record import Record
from streamlanes.series import Point, by_reason, client_words, clients_of, line_order, points
from streamlanes.words import notes, plain, quantity, title

NOTHING = "-"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table: a text per figure, and what must be known beside them. group: what some rows have
    in common, such as their size, told in the first of them."""

    group: str
    line: str
    figures: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """The points of one client and workload. who: the client in words. why: a line for each reason a figure
    is missing. about: what else they have in common. first: the heads before the figures."""

    client: str
    workload: str
    who: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    why: tuple[str, ...]
    about: str = ""
    first: tuple[str, str] = ("calls", "backend")

    @property
    def name(self) -> str:
        """What it is of."""
        return ", ".join(part for part in (self.who, self.workload, self.about) if part)


def headline(lane: Lane, workload: str | None = None) -> list[Metric]:
    """The metrics of the lane's one table, in its order; of a workload's, where it has others."""
    declared = {metric.path: metric for metric in lane.metrics}
    paths = lane.headline if workload is None else lane.headline_of.get(workload, lane.headline)
    return [declared[path] for path in paths if path in declared]


def tables(records: Iterable[Record], lane: Lane) -> list[Table]:
    """The lane's records as tables, in the clients' order; within a size the best comes first, bounded pools
    come last."""
    own = [record for record in without_searches(records) if record.cell.lane == lane.name]
    order = clients_of(own)
    found = sorted(points(own), key=lambda p: order.index(p.client))
    return [
        _table(client, workload, list(group), headline(lane, workload))
        for (client, workload), group in groupby(found, key=lambda p: (p.client, p.workload))
    ]


def capacity(records: Iterable[Record], lane: Lane) -> list[Table]:
    """What the lane's knee searches found, as tables; within a size the highest rate comes first."""
    own = capacities(record for record in records if record.cell.lane == lane.name)
    return [
        _capacity(client, workload, bound_ms, list(group))
        for (client, workload, bound_ms), group in groupby(sorted(own, key=_search_key), key=_search_key)
    ]


def lines(records: Iterable[Record], lane: Lane) -> list[str]:
    """The tables as plain text of aligned columns, then those of the searches."""
    made = list(records)
    return [*aligned(tables(made, lane), lane), *aligned(capacity(made, lane), lane)]


def aligned(made: Sequence[Table], lane: Lane) -> list[str]:
    """Tables of the same columns as plain text."""
    if not made:
        return []
    lead = lane.name.upper()
    cells = [[row.group, row.line, *row.figures] for table in made for row in table.rows]
    heads = [[lead, table.name, *table.heads] for table in made]
    widths = [max(len(row[column]) for row in cells + heads) for column in range(len(heads[0]))]
    text = []
    for table, first in zip(made, [lead, *[""] * len(made)], strict=False):
        text.append(_row_text([first, table.name, *table.heads], widths, "note"))
        text += [_row_text([row.group, row.line, *row.figures], widths, row.note) for row in table.rows]
        text += [f"{' ' * (widths[0] + 2)}{NOTHING} {why}" for why in table.why]
    return text


def cell_text(value: float | None, metric: Metric) -> str:
    """One figure as the table prints it."""
    return NOTHING if value is None else quantity(value, metric.unit)


def _table(client: str, workload: str, found: Sequence[Point], metrics: Sequence[Metric]) -> Table:
    made: list[Row] = []
    for calls, same_size in groupby(found, key=lambda p: p.calls):
        for place, point in enumerate(sorted(same_size, key=lambda p: _rank(p, metrics))):
            texts = tuple(cell_text(point.pooled(m.path, m.pool), m) for m in metrics)
            size = plain(calls) if place == 0 else ""
            made.append(Row(group=size, line=point.line.label, figures=texts, note=_note(point)))
    why = by_reason(
        (title(metric.path), point.why_missing(metric.path))
        for point in found
        for metric in metrics
        if point.pooled(metric.path) is None and len(point.stopped) < len(point.records)
    )
    return Table(
        client=client,
        workload=workload,
        who=client_words(client, (record for point in found for record in point.records)),
        heads=tuple(title(metric.path) for metric in metrics),
        rows=tuple(made),
        why=tuple(f"{', '.join(names)}: {reason}" for reason, names in why),
    )


def _search_key(one: Capacity) -> tuple[str, str, float]:
    return one.client, one.workload, one.knee.bound_ms


def _capacity(client: str, workload: str, bound_ms: float, found: Sequence[Capacity]) -> Table:
    made: list[Row] = []
    for calls, same_size in groupby(found, key=lambda one: one.calls):
        best_first = sorted(same_size, key=lambda one: -(one.knee.bracket.bears_per_s or 0.0))
        for place, one in enumerate(best_first):
            late = NOTHING if one.late_ms is None else quantity(one.late_ms, "ms")
            figures = (one.bears, one.fails or NOTHING, late, plain(len(one.knee.steps)))
            size = plain(calls) if place == 0 else ""
            made.append(Row(group=size, line=one.line.label, figures=figures, note="; ".join(one.notes)))
    return Table(
        client=client,
        workload=workload,
        who=client_words(client, (step for one in found for step in one.knee.steps)),
        heads=("bears", "does not bear", "lateness p99", "cells"),
        rows=tuple(made),
        why=(),
        about=f"p99 within {plain(bound_ms)} ms",
    )


def _rank(point: Point, metrics: Sequence[Metric]) -> tuple[bool, bool, float, object]:
    metric = metrics[0] if metrics else None
    value = point.pooled(metric.path, metric.pool) if metric else None
    sign = -1 if metric and metric.better is Better.HIGHER else 1
    return point.bounded, value is None, sign * (value or 0.0), line_order(point.line)


def _note(point: Point) -> str:
    """The notes of all repetitions; where only some have one, how many."""
    counted: dict[str, int] = {}
    for record in point.records:
        for note in notes(record):
            counted[note] = counted.get(note, 0) + 1
    total = len(point.records)
    found = [note if times == total else f"{note} ({times} of {total})" for note, times in counted.items()]
    return "; ".join([*([f"{plain(total)} repetitions"] if total > 1 else []), *found])


def _row_text(cells: Sequence[str], widths: Sequence[int], note: str) -> str:
    calls, name, *figures = cells
    head = [calls.rjust(widths[0]), name.ljust(widths[1])]
    rest = [text.rjust(width) for text, width in zip(figures, widths[2:], strict=True)]
    return "  ".join([*head, *rest, note]).rstrip()
