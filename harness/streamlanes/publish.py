"""Runs made quotable: `python -m streamlanes.publish RUN` (or `make publish`).

It copies the run's records to results/published/<machine>/<profile>/ and draws its charts there as
SVG. README.md is then rendered from docs/README.template.md and from all runs published for that
machine, and so is what stands in PAGES between a line `<!-- published: TEMPLATE -->` and the next
`<!-- end -->`; so every figure in them is taken from a committed record and from nowhere else.

Every place in the template names the profile whose run it is taken from:
  {{machine PROFILE}}                       the machine line
  {{chart PROFILE NAME}}                    the path of a chart
  {{table PROFILE CLIENT WORKLOAD [AXIS]}}  the table of one client and workload, in Markdown: every
                                            backend as it comes, or also what was swept over AXIS
  {{answer PROFILE}}                        the run's answer
  {{figure PROFILE CELL PATH}}              one figure with its unit, median over the cell's repetitions
  {{ratio PROFILE CELL_A CELL_B PATH}}      A over B, paired by repetition, with its interval
where CELL is a cell's id without its repetition (io/asyncio/streams/steady/10000).
"""

import inspect
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamlanes.advise import answer
from streamlanes.errors import UserError
from streamlanes.journal import INFO, RECORDS, read_info
from streamlanes.lanes import lane as lane_named
from streamlanes.lanes import lanes_of
from streamlanes.lanes.base import Lane, Metric
from streamlanes.probe.machine import slug
from streamlanes.record import Record, StatusName
from streamlanes.report import cost_table
from streamlanes.report.caption import machine_line
from streamlanes.report.charts import draw
from streamlanes.report.load import Run, find_run, load_run
from streamlanes.report.tables import Table, tables
from streamlanes.series import select
from streamlanes.stats import paired, paired_ratio, pool
from streamlanes.words import quantity

TEMPLATE = Path("docs/README.template.md")
README = Path("README.md")
PAGES = tuple(
    Path("docs") / name for name in ("clients.md", "durable.md", "architectures.md", "workloads.md")
)
PUBLISHED = Path("results/published")

_PLACE = re.compile(r"\{\{(\w+)((?: [^\s{}]+)*)\}\}")
_BLOCK = re.compile(r"(<!-- published: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def publish(folder: Path) -> Path:
    """Copy a finished run and draw its charts; returns the published folder. Raises UserError for one
    that is not finished."""
    run, info = load_run(folder), read_info(folder)
    if info is None:
        raise UserError(f"{folder / INFO} is not of this version; measure the run again")
    left = len(info["profile"]["cells"]) - len(run.records)
    if left > 0 or not run.records:
        raise UserError(f"{folder}: {left:,} cells are not measured yet; continue the run, then publish it")
    into = PUBLISHED / slug(run.records[0].machine) / str(info["profile"]["name"])
    kept = {name: (folder / name).read_bytes() for name in (INFO, RECORDS)}
    if into.exists():
        shutil.rmtree(into)  # also when it is the run itself, published again
    into.mkdir(parents=True)
    for name, data in kept.items():
        (into / name).write_bytes(data)
    draw_charts(run, into)
    return into


def draw_charts(run: Run, into: Path) -> None:
    """Every chart of the run's lanes as SVG in a folder that exists: it is small, and enough for a page."""
    for lane in _lanes(run):
        draw(run, lane, into, png=False)


def published(machine: Path) -> dict[str, Run]:
    """Every run in a machine's published folder, by profile."""
    return {path.parent.name: load_run(path.parent) for path in sorted(machine.glob(f"*/{RECORDS}"))}


def profiles(template: str) -> set[str]:
    """The profiles that the template takes something from."""
    return {place[2].split()[0] for place in _PLACE.finditer(template) if place[2]}


def render(template: str, runs: Mapping[str, Run]) -> str:
    """The template with every place filled from the runs, which are given by profile. Raises UserError
    for a place that cannot be."""

    def filled(place: re.Match[str]) -> str:
        kind, (profile, *words) = place[1], place[2].split() or [""]
        if kind not in _FILL:
            raise UserError(f"{TEMPLATE}: {place[0]}: no such place")
        if profile not in runs:
            raise UserError(f"{TEMPLATE}: {place[0]}: no run of a profile {profile!r} is published here")
        try:
            given = inspect.signature(_FILL[kind]).bind(runs[profile], *words)
        except TypeError:
            raise UserError(f"{TEMPLATE}: {place[0]}: wrong number of words") from None
        return _FILL[kind](*given.args)

    return _PLACE.sub(filled, template)


def refreshed(page: str, runs: Mapping[str, Run]) -> str:
    """A page with the blocks filled whose profiles are all published; the others stay as they are. Raises
    UserError as `render` does."""

    def filled(block: re.Match[str]) -> str:
        if not profiles(block[2]) <= runs.keys():
            return block[0]
        return f"{block[1]}{render(block[2], runs)}\n{block[3]}"

    return _BLOCK.sub(filled, page)


def _lanes(run: Run) -> list[Lane]:
    return lanes_of(record.cell.lane for record in run.records)


def _cell(run: Run, cell: str) -> list[Record]:
    found = [record for record in run.records if record.cell.id.rpartition("/")[0] == cell]
    if not found:
        raise UserError(f"{TEMPLATE}: the published run {run.folder.name} has no cell {cell}")
    return found


def _metric(cell: Sequence[Record], path: str) -> Metric:
    for metric in lane_named(cell[0].cell.lane).metrics:
        if metric.path == path:
            return metric
    raise UserError(f"{TEMPLATE}: no figure {path}")


def _machine(run: Run) -> str:
    return machine_line(run.records[0].machine)


def _chart(run: Run, name: str) -> str:
    path = run.folder / f"{name}.svg"
    if not path.is_file():
        raise UserError(f"{TEMPLATE}: the published run {run.folder.name} has no chart {name}")
    return path.as_posix()


def _answer(run: Run) -> str:
    return "\n".join(answer(run.records, _lanes(run)))


def _figure(run: Run, cell: str, path: str) -> str:
    found = _cell(run, cell)
    metric = _metric(found, path)
    values = [value for record in found if (value := record.figure(path)) is not None]
    if not values:
        raise UserError(f"{TEMPLATE}: {cell} has no figure {path}")
    # Where a cell did not end well, the sentence around the figure says so.
    doubted = all(record.status.name is StatusName.OK and not record.clean for record in found)
    doubt = " (flagged)" if doubted else ""
    return quantity(pool(values, metric.pool), metric.unit) + doubt


def _ratio(run: Run, one: str, other: str, path: str) -> str:
    _metric(_cell(run, one), path)
    ours, theirs = paired(_clean(run, one, path), _clean(run, other, path))
    if not ours:
        raise UserError(f"{TEMPLATE}: {one} and {other} share no clean repetition with {path}")
    found = paired_ratio(ours, theirs)
    interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}x{interval}"


def _clean(run: Run, cell: str, path: str) -> dict[int, float]:
    pairs = ((record.cell.repetition, record.figure(path)) for record in _cell(run, cell) if record.clean)
    return {repetition: value for repetition, value in pairs if value}


def _table(run: Run, client: str, workload: str, axis: str | None = None) -> str:
    for lane in _lanes(run):
        own = [record for record in run.records if record.cell.lane == lane.name]
        lines = next((chart.lines for chart in lane.charts if chart.lines), ())
        for table in tables(select(own, axis, single=True, lines=lines), lane):
            if (table.client, table.workload) == (client, workload):
                return _markdown(table)
    raise UserError(
        f"{TEMPLATE}: the published run {run.folder.name} has no table of {client} and {workload}"
    )


def _costs(run: Run) -> str:
    for lane in _lanes(run):
        if (found := cost_table.table(run.records, lane)) is not None:
            return "\n".join([_markdown(found), *(f"\n- {why}" for why in found.why)])
    raise UserError(f"{TEMPLATE}: the published run {run.folder.name} compares no clients")


def _markdown(table: Table) -> str:
    heads = [*table.first, *table.heads, "note"]
    rows = [[row.group, row.line, *row.figures, row.note] for row in table.rows]
    rule = ["--:", ":--", *["--:"] * len(table.heads), ":--"]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


_FILL: dict[str, Callable[..., str]] = {
    "machine": _machine,
    "chart": _chart,
    "table": _table,
    "answer": _answer,
    "costs": _costs,
    "figure": _figure,
    "ratio": _ratio,
}
"""What fills a place, by its kind: the run first, then the words that follow the profile."""


def main() -> None:
    """Publish the run named on the command line, or the newest; render the README once every run that
    the template names is published."""
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        into = publish(find_run(named, Path("results")))
        print(into)
        template, runs = TEMPLATE.read_text(encoding="utf-8"), published(into.parent)
        if absent := sorted(profiles(template) - runs.keys()):
            print(f"{README} is left as it was: {TEMPLATE} also needs a published {', '.join(absent)}")
        else:
            README.write_text(render(template, runs), encoding="utf-8")
        for page in PAGES:
            if page.is_file():
                page.write_text(refreshed(page.read_text(encoding="utf-8"), runs), encoding="utf-8")
    except UserError as error:
        sys.exit(f"streamlanes: {error}")
    except OSError as error:
        sys.exit(f"streamlanes: {error.filename}: {error.strerror}; publish in the repository's own folder")


if __name__ == "__main__":
    main()
