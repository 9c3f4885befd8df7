"""The page of a run: the answer first, then charts, tables, doubts and what is missing.

One file without scripts; everything that came from a record is escaped. Charts lie beside it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from streamlanes.errors import UserError
from streamlanes.lanes.base import Lane
from streamlanes.record import Record
from streamlanes.report import cost_table
from streamlanes.report.caption import load, machine_line
from streamlanes.report.charts import ChartFile
from streamlanes.report.load import Run
from streamlanes.report.tables import Table, capacity, cell_text, headline, tables
from streamlanes.series import by_reason
from streamlanes.words import ending, notes, plain, title

_STYLE = """
:root { color-scheme: light dark;
  --ink: #222; --soft: #5c5c5c; --line: #d9d9d9; --paper: #fff; --shade: #f5f5f5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #a8a8a8; --line: #444; --paper: #16181b; --shade: #22252a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p, li { max-width: 60rem; } .soft { color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
a { color: inherit; }
pre, .scroll { overflow-x: auto; }
pre { background: var(--shade); padding: 1rem; border-radius: .4rem; line-height: 1.45;
  white-space: pre-wrap; }
figure { margin: 1.5rem 0; } figure > a { display: block; overflow-x: auto; }
figure img { display: block; max-width: 100%; min-width: 44rem; height: auto; background: #fff;
  border-radius: .4rem; border: 1px solid var(--line); }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .4rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
th.text, td.text { text-align: left; } td.note { white-space: normal; min-width: 14rem; text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
"""

_LINKS = (
    '<nav><a href="#charts">Charts</a><a href="#results">Results</a><a href="#flags">Flags</a>'
    '<a href="#missing">Missing</a><a href="#machine">Machine</a>'
    '<a href="records.csv">records.csv</a><a href="../records.jsonl">records.jsonl</a></nav>'
)

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'">
<title>{name}</title>
<style>{style}</style>
</head>
<body>
"""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What the page says of one lane."""

    lane: Lane
    charts: tuple[ChartFile, ...]


def write_page(run: Run, parts: Sequence[Part], answer: Sequence[str], folder: Path) -> Path:
    """Write index.html into `folder`, beside the charts; answer: the lines the run ended with. Raises
    UserError if it cannot be written."""
    page = folder / "index.html"
    try:
        page.write_text(render(run, parts, answer), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{page} cannot be written: {error.strerror}; make room or choose another folder"
        ) from None
    return page


def render(run: Run, parts: Sequence[Part], answer: Sequence[str]) -> str:
    """The page as text."""
    name = f"Streamlanes: {run.folder.name}"
    charts = [chart for part in parts for chart in part.charts]
    said = "\n".join(answer)
    machine = run.records[0].machine if run.records else {}
    scalars = {key: value for key, value in run.info.items() if isinstance(value, (str, int, float))}
    pieces = [
        _HEAD.format(name=escape(name), style=_STYLE),
        f"<h1>{escape(name)}</h1>",
        f'<p class="soft">{len(run.records)} records. {escape(machine_line(machine))}</p>',
        _LINKS,
        *(f"<p><strong>{escape(notice)}</strong></p>" for notice in run.notices),
        '<h2 id="answer">Answer</h2>',
        f"<pre>{escape(said)}</pre>",
        '<h2 id="charts">Charts</h2>',
        *(_chart(chart, chart.svg, chart.png) for chart in charts if chart.svg and chart.png),
        _not_drawn([chart for chart in charts if not chart.svg]),
        '<h2 id="results">Results</h2>',
        *(_table(table) for part in parts for table in tables(run.records, part.lane)),
        *_capacity(run.records, parts),
        *_costs(run.records, parts),
        '<h2 id="records">Every record</h2>',
        *(_records(run.records, part.lane) for part in parts),
        '<h2 id="flags">Flags</h2>',
        _flags(run.records),
        '<h2 id="missing">Figures that were not obtained</h2>',
        _missing(run.records),
        '<h2 id="meaning">What the figures mean</h2>',
        *(_meanings(part.lane) for part in parts),
        '<h2 id="machine">Machine and run</h2>',
        _pairs(machine),
        _pairs(scalars),
        "</body>\n</html>\n",
    ]
    return "\n".join(pieces)


def _not_drawn(charts: Sequence[ChartFile]) -> str:
    """The charts this run has nothing for, in one paragraph."""
    if not charts:
        return ""
    said = "; ".join(f"{escape(c.title)} ({escape(c.empty_reason or 'no figure')})" for c in charts)
    return f'<p class="soft">Not drawn: {said}.</p>'


def _chart(chart: ChartFile, svg_file: Path, png_file: Path) -> str:
    svg, png = escape(svg_file.name), escape(png_file.name)
    words = escape(" ".join([chart.title, *chart.notes, *chart.caption]))
    return (
        f'<figure><a href="{svg}"><img src="{svg}" alt="{words}"></a>'
        f'<figcaption>{escape(chart.title)} <a href="{svg}">SVG</a> <a href="{png}">PNG</a></figcaption>'
        "</figure>"
    )


def _table(table: Table) -> str:
    body = [
        _row([(row.group, ""), (row.line, "text"), *((text, "") for text in row.figures), (row.note, "note")])
        for row in table.rows
    ]
    first, second = table.first
    heads = [(first, ""), (second, "text"), *((head, "") for head in table.heads), ("note", "text")]
    why = "".join(f'<p class="soft">- {escape(line)}</p>' for line in table.why)
    return f"<h3>{escape(table.name)}</h3>\n{_scrolling(heads, body)}{why}"


def _capacity(records: Sequence[Record], parts: Sequence[Part]) -> list[str]:
    """What the knee searches found; nothing where there was none."""
    made = [table for part in parts for table in capacity(records, part.lane)]
    return ['<h2 id="capacity">Capacity</h2>', *map(_table, made)] if made else []


def _costs(records: Sequence[Record], parts: Sequence[Part]) -> list[str]:
    """What each client costs; nothing where no two can be compared."""
    made = [table for part in parts if (table := cost_table.table(records, part.lane)) is not None]
    return ['<h2 id="costs">Clients</h2>', *map(_table, made)] if made else []


def _records(records: Sequence[Record], lane: Lane) -> str:
    metrics = headline(lane)
    own = [record for record in records if record.cell.lane == lane.name]
    heads = [("cell", "text"), ("load", "text"), *((title(m.path), "") for m in metrics), ("note", "text")]
    body = [
        _row(
            [
                (record.cell.id, "text"),
                (load(record), "text"),
                *((cell_text(record.figure(metric.path), metric), "") for metric in metrics),
                ("; ".join(notes(record)), "note"),
            ]
        )
        for record in own
    ]
    return _scrolling(heads, body)


def _flags(records: Iterable[Record]) -> str:
    found = [
        _row([(record.cell.id, "text"), (flag.name, "text"), (_evidence(flag.evidence), "note")])
        for record in records
        for flag in record.flags
    ]
    found += [
        _row([(record.cell.id, "text"), (record.status.name, "text"), (ending(record), "note")])
        for record in records
        if ending(record)
    ]
    heads = [("cell", "text"), ("flag or status", "text"), ("evidence", "text")]
    return _scrolling(heads, found) if found else '<p class="soft">None.</p>'


def _missing(records: Iterable[Record]) -> str:
    """Reasons with the figures they took and the cells they hit; a figure is named once a reason."""
    found = [(record.cell.id, path, reason) for record in records for path, reason in record.missing.items()]
    if not found:
        return '<p class="soft">None.</p>'
    paths = dict(by_reason((path, reason) for _, path, reason in found))
    cells = dict(by_reason((cell, reason) for cell, _, reason in found))
    body = [
        _row([(reason, "note"), (f"{len(cells[reason]):,}", ""), (", ".join(hit), "note")])
        for reason, hit in paths.items()
    ]
    return _scrolling([("reason", "text"), ("cells", ""), ("figures", "text")], body)


def _meanings(lane: Lane) -> str:
    drawn = {path for chart in lane.charts for panel in chart.panels for path in panel.y}
    wanted = [m for m in lane.metrics if m.path in drawn or m.path in lane.headline]
    body = [_row([(m.path, "text"), (m.unit, "text"), (m.help, "note")]) for m in wanted]
    return _scrolling([("figure", "text"), ("unit", "text"), ("meaning", "text")], body)


def _pairs(values: Mapping[str, Any]) -> str:
    items = [f"<dt>{escape(str(key))}</dt><dd>{escape(_value(value))}</dd>" for key, value in values.items()]
    return f"<dl>{''.join(items)}</dl>" if items else ""


def _evidence(evidence: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in evidence.items())


def _value(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return plain(round(value, 4))
    return "not known" if value is None else str(value)


def _scrolling(heads: Sequence[tuple[str, str]], body: Sequence[str]) -> str:
    head = "".join(f"<th{_class(kind)}>{escape(text)}</th>" for text, kind in heads)
    rows = "\n".join(body)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'<div class="scroll">{table}</div>\n'


def _row(cells: Sequence[tuple[str, str]]) -> str:
    return "<tr>" + "".join(f"<td{_class(kind)}>{escape(text)}</td>" for text, kind in cells) + "</tr>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
