"""A lane's declared charts, drawn from a run's records into files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlanes.capacity import capacities
from streamlanes.costs import costs
from streamlanes.knee import without_searches
from streamlanes.lanes.base import Chart, Kind, Lane, Pool
from streamlanes.record import Record
from streamlanes.report import bars, capacity, cost_chart, growth, pools, together
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.load import Run
from streamlanes.series import clients_of, points, select

_KINDS = {Kind.GROWTH: growth.draw, Kind.BARS: bars.draw, Kind.POOLS: pools.draw}
_OF_ALL: dict[Kind, Callable[[Chart, Sequence[Record], Mapping[str, Pool]], Sheet | str]] = {
    Kind.CAPACITY: lambda chart, own, how: capacity.draw(chart, capacities(own)),
    Kind.COSTS: lambda chart, own, how: cost_chart.draw(chart, costs(own), how),
}
"""Kinds that show all of a lane's records, not one client's."""


@dataclass(frozen=True, kw_only=True)
class ChartFile:
    """A drawn chart; or, where there was nothing to draw, the reason in place of its files."""

    name: str
    title: str
    notes: tuple[str, ...] = ()
    caption: tuple[str, ...] = ()
    svg: Path | None = None
    png: Path | None = None
    empty_reason: str | None = None


def draw(run: Run, lane: Lane, folder: Path, *, png: bool = True) -> list[ChartFile]:
    """Every chart of the lane as SVG and, unless told not to, as PNG in `folder`, which must exist.

    A run with several clients gets each chart once a client, or once for those that are drawn together
    (`together`), its name ending with theirs; in a run of several lanes the name begins with the lane's. The
    charts of capacity and of costs are of all clients.
    """
    own = [record for record in run.records if record.cell.lane == lane.name]
    how = {metric.path: metric.pool for metric in lane.metrics}
    before = "" if len(own) == len(run.records) else f"{lane.name}-"
    compared = without_searches(own)
    shared = together.groups(clients_of(compared), points(compared))
    made = []
    for chart, shown in _shared_out(lane.charts, compared):
        if chart.kind in _OF_ALL:
            with settings():
                sheet = _OF_ALL[chart.kind](chart, own, how)
                made.append(_file(chart, f"{before}{chart.name}", sheet, folder, png))
            continue
        taking_part = points(select(shown, chart.varied, single=chart.kind is Kind.POOLS, lines=chart.lines))
        for clients in shared:
            mine = together.named(
                [
                    point
                    for point in taking_part
                    if point.client in clients
                    and (chart.backends is None or point.line.backend in chart.backends)
                ]
            )
            if chart.apart and not any(point.workload in chart.apart for point in mine):
                continue
            after = "" if len(shared) == 1 else f"-{'-'.join(clients)}"
            with settings():
                sheet = _KINDS[chart.kind](chart, mine, how)
                made.append(_file(chart, f"{before}{chart.name}{after}", sheet, folder, png))
    return made


def _shared_out(charts: Sequence[Chart], records: Sequence[Record]) -> Iterator[tuple[Chart, list[Record]]]:
    """Each chart with the records it may show. Workloads that have a chart of their own are left out of
    the main comparison, unless there is nothing else; then that is their chart, and one of theirs that
    grows over calls would only be a part of it again."""
    apart = {workload for chart in charts for workload in chart.apart}
    main = [record for record in records if record.cell.workload not in apart]
    for chart in charts:
        if not chart.apart:
            yield chart, main if main and chart.varied is None else list(records)
        elif (main or chart.kind is not Kind.GROWTH) and any(
            record.cell.workload in chart.apart for record in records
        ):
            taken = (*chart.apart, *chart.beside)
            yield chart, [record for record in records if record.cell.workload in taken]


def _file(chart: Chart, name: str, sheet: Sheet | str, folder: Path, png: bool) -> ChartFile:
    """The drawn sheet in files; within the drawing settings."""
    if not isinstance(sheet, Sheet):
        return ChartFile(name=name, title=chart.title, empty_reason=sheet)
    return ChartFile(
        name=name,
        title=chart.title,
        notes=sheet.notes,
        caption=sheet.caption,
        svg=sheet.save_svg(folder, name),
        png=sheet.save_png(folder, name) if png else None,
    )
