"""A lane's declared charts, drawn from a run's records into files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlanes.lanes.base import Chart, Kind, Lane, Pool
from streamlanes.report import bars, growth, pools
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.load import Run
from streamlanes.series import Point, points, select

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
    run of several lanes the name begins with the lane's.
    """
    own = [record for record in run.records if record.cell.lane == lane.name]
    how = {metric.path: metric.pool for metric in lane.metrics}
    before = "" if len(own) == len(run.records) else f"{lane.name}-"
    cells = Counter(record.cell.client for record in own)
    clients = sorted(cells, key=lambda name: (-cells[name], name))  # what was measured most stands first
    made = []
    for chart in lane.charts:
        taking_part = points(select(own, chart.varied, single=chart.kind is Kind.POOLS, beside=chart.beside))
        for client in clients:
            mine = [
                point
                for point in taking_part
                if point.client == client and (chart.backends is None or point.line.backend in chart.backends)
            ]
            after = "" if len(clients) == 1 else f"-{client}"
            made.append(_file(chart, f"{before}{chart.name}{after}", mine, how, folder))
    return made


def _file(
    chart: Chart, name: str, found: Sequence[Point], how: Mapping[str, Pool], folder: Path
) -> ChartFile:
    with settings():
        sheet = _KINDS[chart.kind](chart, found, how)
        if not isinstance(sheet, Sheet):
            return ChartFile(name=name, title=chart.title, empty_reason=sheet)
        svg, png = sheet.save(folder, name)
    return ChartFile(name=name, title=chart.title, notes=sheet.notes, caption=sheet.caption, svg=svg, png=png)
