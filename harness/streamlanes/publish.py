"""A run made quotable: `python -m streamlanes.publish RUN` (or `make publish`).

It copies the run's records to results/published/<machine>/<profile>/, draws its charts there as SVG,
and renders README.md from docs/README.template.md, so that every figure in the README is taken from
a committed record and from nowhere else.

A template line may hold
  {{machine}}                       the machine line of the published run
  {{chart NAME}}                    the path of a chart
  {{table CLIENT WORKLOAD}}         the table of one client and workload, in Markdown
  {{answer}}                        the run's answer
  {{figure CELL PATH}}              one figure with its unit, median over the cell's repetitions
  {{ratio CELL_A CELL_B PATH}}      A over B, paired by repetition, with its interval
where CELL is a cell's id without its repetition (io/asyncio/streams/steady/10000).
"""

import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from streamlanes.advise import answer
from streamlanes.errors import UserError
from streamlanes.journal import INFO, RECORDS
from streamlanes.lanes import lane as lane_named
from streamlanes.lanes.base import Lane, Metric
from streamlanes.probe.machine import slug
from streamlanes.record import Record
from streamlanes.report.caption import machine_line
from streamlanes.report.charts import draw
from streamlanes.report.load import Run, find_run, load_run
from streamlanes.report.tables import tables
from streamlanes.stats import paired_ratio, pool
from streamlanes.words import quantity

TEMPLATE = Path("docs/README.template.md")
README = Path("README.md")
PUBLISHED = Path("results/published")

_PLACE = re.compile(r"\{\{(\w+)((?: [^\s{}]+)*)\}\}")


def publish(folder: Path) -> Path:
    """Copy a run, draw its charts, render the README. Returns the published folder."""
    run = load_run(folder)
    into = PUBLISHED / slug(run.records[0].machine) / str(run.info["profile"]["name"])
    kept = {name: (folder / name).read_bytes() for name in (INFO, RECORDS)}
    if into.exists():
        shutil.rmtree(into)  # also when it is the run itself, published again
    into.mkdir(parents=True)
    for name, data in kept.items():
        (into / name).write_bytes(data)
    for name in dict.fromkeys(record.cell.lane for record in run.records):
        for chart in draw(run, lane_named(name), into):
            if chart.png is not None:
                chart.png.unlink()  # SVG is small and enough for a page
    README.write_text(render(TEMPLATE.read_text(encoding="utf-8"), load_run(into)), encoding="utf-8")
    return into


def render(template: str, run: Run) -> str:
    """The template with every place filled from the run. Raises UserError for a place that cannot be."""
    lane = lane_named(run.records[0].cell.lane)
    fill: dict[str, Callable[..., str]] = {
        "machine": lambda: machine_line(run.records[0].machine),
        "chart": lambda name: f"{run.folder.as_posix()}/{name}.svg",
        "table": lambda client, workload: _table(run.records, lane, client, workload),
        "answer": lambda: "\n".join(answer(run.records, lane)),
        "figure": lambda cell, path: _figure(run.records, lane, cell, path),
        "ratio": lambda one, other, path: _ratio(run.records, lane, one, other, path),
    }

    def filled(place: re.Match[str]) -> str:
        kind, given = place[1], place[2].split()
        if kind not in fill:
            raise UserError(f"{TEMPLATE}: {place[0]}: no such place")
        try:
            return fill[kind](*given)
        except TypeError:
            raise UserError(f"{TEMPLATE}: {place[0]}: wrong number of words") from None

    return _PLACE.sub(filled, template)


def _cell(records: Sequence[Record], cell: str) -> list[Record]:
    found = [record for record in records if record.cell.id.rpartition("/")[0] == cell]
    if not found:
        raise UserError(f"{TEMPLATE}: the published run has no cell {cell}")
    return found


def _metric(lane: Lane, path: str) -> Metric:
    for metric in lane.metrics:
        if metric.path == path:
            return metric
    raise UserError(f"{TEMPLATE}: no figure {path}")


def _figure(records: Sequence[Record], lane: Lane, cell: str, path: str) -> str:
    metric = _metric(lane, path)
    values = [value for record in _cell(records, cell) if (value := record.figure(path)) is not None]
    if not values:
        raise UserError(f"{TEMPLATE}: {cell} has no figure {path}")
    return quantity(pool(values, metric.pool), metric.unit)


def _ratio(records: Sequence[Record], lane: Lane, one: str, other: str, path: str) -> str:
    _metric(lane, path)
    ours = {r.cell.repetition: r.figure(path) for r in _cell(records, one) if r.clean}
    theirs = {r.cell.repetition: r.figure(path) for r in _cell(records, other) if r.clean}
    both = [which for which in ours if ours[which] and theirs.get(which)]
    if not both:
        raise UserError(f"{TEMPLATE}: {one} and {other} share no clean repetition with {path}")
    found = paired_ratio([ours[r] or 0.0 for r in both], [theirs[r] or 0.0 for r in both])
    interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}x{interval}"


def _table(records: Sequence[Record], lane: Lane, client: str, workload: str) -> str:
    for table in tables(records, lane):
        if (table.client, table.workload) == (client, workload):
            heads = ["calls", "backend", *table.heads, "note"]
            rows = [[row.calls, row.line, *row.figures, row.note] for row in table.rows]
            rule = ["--:", ":--", *["--:"] * len(table.heads), ":--"]
            return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
    raise UserError(f"{TEMPLATE}: the published run has no table of {client} and {workload}")


def main() -> None:
    """Publish the run named on the command line, or the newest."""
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        print(publish(find_run(named, Path("results"))))
    except UserError as error:
        sys.exit(f"streamlanes: {error}")


if __name__ == "__main__":
    main()
