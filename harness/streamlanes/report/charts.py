"""A lane's declared charts, drawn from a run's records into files."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlanes.capacity import capacities
from streamlanes.knee import without_searches
from streamlanes.lanes.base import Chart, Kind, Lane
from streamlanes.record import Record
from streamlanes.report import bars, capacity, growth, pools
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.load import Run
from streamlanes.series import points, select

_KINDS = {Kind.GROWTH: growth.draw, Kind.BARS: bars.draw, Kind.POOLS: pools.draw}


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


def draw(run: Run, lane: Lane, folder: Path) -> list[ChartFile]:
    """Every chart of the lane as SVG and PNG in `folder`, which must exist.

    A run with several clients gets each chart once a client, its name ending with the client's; in a
    run of several lanes the name begins with the lane's. The capacity chart is of all clients together.
    """
    own = [record for record in run.records if record.cell.lane == lane.name]
    how = {metric.path: metric.pool for metric in lane.metrics}
    before = "" if len(own) == len(run.records) else f"{lane.name}-"
    compared = without_searches(own)
    cells = Counter(record.cell.client for record in compared)
    clients = sorted(cells, key=lambda name: (-cells[name], name))  # what was measured most stands first
    made = []
    for chart, shown in _shared_out(lane.charts, compared):
        if chart.kind is Kind.CAPACITY:
            with settings():
                sheet = capacity.draw(chart, capacities(own))
                made.append(_file(chart, f"{before}{chart.name}", sheet, folder))
            continue
        taking_part = points(select(shown, chart.varied, single=chart.kind is Kind.POOLS, lines=chart.lines))
        for client in clients:
            mine = [
                point
                for point in taking_part
                if point.client == client and (chart.backends is None or point.line.backend in chart.backends)
            ]
            if chart.apart and not any(point.workload in chart.apart for point in mine):
                continue
            after = "" if len(clients) == 1 else f"-{client}"
            with settings():
                sheet = _KINDS[chart.kind](chart, mine, how)
                made.append(_file(chart, f"{before}{chart.name}{after}", sheet, folder))
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


def _file(chart: Chart, name: str, sheet: Sheet | str, folder: Path) -> ChartFile:
    """The drawn sheet in files; within the drawing settings."""
    if not isinstance(sheet, Sheet):
        return ChartFile(name=name, title=chart.title, empty_reason=sheet)
    svg, png = sheet.save(folder, name)
    return ChartFile(name=name, title=chart.title, notes=sheet.notes, caption=sheet.caption, svg=svg, png=png)
