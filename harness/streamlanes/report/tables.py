"""A run's one table, for the terminal and for the page: by client and workload, then calls, then line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamlanes.lanes.base import Better, Lane, Metric
from streamlanes.record import Record
from streamlanes.series import Point, by_reason, line_order, points
from streamlanes.words import notes, plain, quantity, title

NOTHING = "-"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One point: its size, its line, a text per headline figure, and what must be known beside them."""

    calls: str
    line: str
    figures: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """The points of one client and workload. why: a line for each reason a figure is missing."""

    client: str
    workload: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    why: tuple[str, ...]


def headline(lane: Lane) -> list[Metric]:
    """The metrics of the lane's one table, in its order."""
    declared = {metric.path: metric for metric in lane.metrics}
    return [declared[path] for path in lane.headline if path in declared]


def tables(records: Iterable[Record], lane: Lane) -> list[Table]:
    """The lane's records as tables; within a size the best comes first, bounded pools come last."""
    metrics = headline(lane)
    own = [record for record in records if record.cell.lane == lane.name]
    return [
        _table(client, workload, list(group), metrics)
        for (client, workload), group in groupby(points(own), key=lambda p: (p.client, p.workload))
    ]


def lines(records: Iterable[Record], lane: Lane) -> list[str]:
    """The tables as plain text of aligned columns."""
    made = tables(records, lane)
    if not made:
        return []
    lead = lane.name.upper()
    names = [(f"{table.client} client, {table.workload}", table) for table in made]
    cells = [[row.calls, row.line, *row.figures] for table in made for row in table.rows]
    heads = [[lead, name, *table.heads] for name, table in names]
    widths = [max(len(row[column]) for row in cells + heads) for column in range(len(heads[0]))]
    text = []
    for (name, table), first in zip(names, [lead, *[""] * len(made)], strict=False):
        text.append(_aligned([first, name, *table.heads], widths, "note"))
        text += [_aligned([row.calls, row.line, *row.figures], widths, row.note) for row in table.rows]
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
            made.append(Row(calls=size, line=point.line.label, figures=texts, note=_note(point)))
    why = by_reason(
        (title(metric.path), point.why_missing(metric.path))
        for point in found
        for metric in metrics
        if point.pooled(metric.path) is None and len(point.stopped) < len(point.records)
    )
    return Table(
        client=client,
        workload=workload,
        heads=tuple(title(metric.path) for metric in metrics),
        rows=tuple(made),
        why=tuple(f"{', '.join(names)}: {reason}" for reason, names in why),
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


def _aligned(cells: Sequence[str], widths: Sequence[int], note: str) -> str:
    calls, name, *figures = cells
    head = [calls.rjust(widths[0]), name.ljust(widths[1])]
    rest = [text.rjust(width) for text, width in zip(figures, widths[2:], strict=True)]
    return "  ".join([*head, *rest, note]).rstrip()
