"""The reference pages of docs/, made from the code: `python -m streamlanes.reference docs`.

docs/record.md and docs/record.schema.json say what a record holds. Every path, unit and help text in
them comes from the lanes' declarations, so they cannot fall behind; a test makes them again.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamlanes import meanings
from streamlanes.backends import BACKENDS, BackendInfo
from streamlanes.clients import CLIENTS
from streamlanes.lanes import LANES, lane
from streamlanes.lanes.base import Lane, Metric
from streamlanes.record import NOTES, SCHEMA, json_schema
from streamlanes.words import number, plain
from streamlanes.workload import WORKLOADS, build, real, resolve

_SIZES = (500, 2000, 10_000)
_NOTES = ", ".join(f"`{name}`" for name in sorted(NOTES))

_HEAD = f"""# The record

A run's `records.jsonl` holds one JSON object a line, one for each cell. This page says what stands in it.
Made from the code by `make docs`; do not edit it by hand. The JSON Schema is in
[record.schema.json](record.schema.json). How the figures come about is in [methodology.md](methodology.md).

The format is `{SCHEMA}`. Its history stands beside its definition, in `record.py`.

## Rules a reader may rely on
- Strict JSON: no NaN, no infinity.
- A figure that was wanted and not obtained is `null`, and `missing` has its path and the reason.
- A figure that was not simply measured has its path in `quality`.
- A figure that is absent belongs to another lane. Lanes share figures, which are listed once: the mixed
  lane has all of the I/O lane's but `work`, the CPU lane its `gc`. `interpreter` and `provider` are what
  the processes said of themselves: empty where they could not report.
- A record is clean if it ended `ok` and has no flag, {_NOTES} left aside. Only clean records enter a ratio.
- Times in ms are signed and never clamped: below 0 is early. Percentiles are nearest rank: each is a value
  that occurred.
"""


def pages() -> dict[str, str]:
    """File name in docs/ -> its whole text."""
    return {"record.md": record_page(), "record.schema.json": schema_text()}


def schema_text() -> str:
    """The JSON Schema as it is published."""
    return json.dumps(schema(), indent=1) + "\n"


def schema() -> dict[str, Any]:
    """The record's JSON Schema, with every figure that a lane declares: its unit, meaning and type.

    All fields but the lanes' own groups are required, since a record is written whole, although `decode`
    forgives one that is absent.
    """
    made = json_schema()
    of_record = made["$defs"]["Record"]
    fields: dict[str, Any] = of_record["properties"]
    of_record["required"] = [name for name in fields if name not in LANES]
    fields["schema"] = {"const": SCHEMA}
    for name, text in meanings.GROUPS.items():
        fields[name] = {**fields[name], "description": text}
    fields["provider"]["properties"] = {
        name: {"description": _with_unit(text, unit)} for name, (unit, text) in meanings.PROVIDER.items()
    }
    of_cell = made["$defs"]["CellInfo"]["properties"]
    for name, text in meanings.CELL.items():
        of_cell[name] = {**of_cell[name], "description": text}
    of_cell["axes"]["properties"] = {
        name: {"description": _with_unit(text, unit)} for name, (unit, text) in meanings.AXES.items()
    }
    for one in _lanes():
        for metric in one.metrics:
            _declare(fields, metric, one.name)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **made}


def _declare(fields: dict[str, Any], metric: Metric, lane_name: str) -> None:
    """Put one figure where its path says; one that another lane has too has both meanings."""
    *groups, last = metric.path.split(".")
    at = fields
    for name in groups:
        group = at.setdefault(name, {"type": "object"})
        at = group.setdefault("properties", {})
    kind = "string" if metric.path == "work.unit" else "number"
    text, before = _with_unit(metric.help, metric.unit), at.get(last, {}).get("description")
    if before and text not in before:
        text = f"{before}; in lane {lane_name}: {text}"
    at[last] = {"type": [kind, "null"], "description": before if before and text in before else text}


def record_page() -> str:
    """docs/record.md."""
    parts = [
        _HEAD,
        _section("Groups", ("group", "holds"), _named(meanings.GROUPS)),
        _section("How a cell ends: `status.name`", ("status", "meaning"), _named(meanings.STATUSES)),
        _section("Doubts: `flags[].name`", ("flag", "raised when"), _named(meanings.FLAGS)),
        _section("How a figure was obtained: `quality`", ("quality", "meaning"), _named(meanings.QUALITIES)),
        _section(
            "How a call ends: `counts.<outcome>`",
            ("outcome", "meaning"),
            ((f"`{how.name.lower()}`", text) for how, text in meanings.OUTCOMES.items()),
        ),
        _section("What was measured: `cell`", ("field", "meaning"), _named(meanings.CELL)),
        _section("`cell.axes`", ("axis", "unit", "meaning"), _with_units(meanings.AXES), _ABOUT_AXES),
        _section("Backends", ("backend", "waits", "notes"), map(_backend, BACKENDS)),
        _section(
            "Clients",
            ("client", "forms", "needs the provider", "open files a call", "library", "its default pool"),
            map(_client, CLIENTS),
            _ABOUT_CLIENTS,
        ),
        _section(
            "Workloads",
            ("workload", "calls", "arrival", "TTFT", "gap", "tokens a call", "total rate", "ideal wall"),
            (row for name in WORKLOADS for row in _loads(name)),
            "The sizes of the built-in profile, where nothing else is set; of tokens the median. Formulae "
            "and sources are in [workloads.md](workloads.md).",
        ),
        *_all_figures(),
        _section("`provider`", ("figure", "unit", "meaning"), _with_units(meanings.PROVIDER)),
        _section("`interpreter`", ("field", "meaning"), _named(meanings.INTERPRETER)),
        _section(
            "`machine`",
            ("field", "meaning"),
            _named(meanings.MACHINE),
            "A field is absent where the system does not tell, or sets no such limit.",
        ),
    ]
    return "\n".join(parts)


_ABOUT_CLIENTS = (
    "A client that is a library has a pool as large as the cell and no time limits; under its name with "
    "`-defaults` it runs as it comes. Each needs `pip install 'streamlanes[clients]'`. The default pool is "
    "of connections at once in one process; where none is named, nothing is in the calls' way. More is in "
    "[clients.md](clients.md)."
)

_ABOUT_AXES = (
    "Every axis stands in every record, `null` where it means nothing to the cell or where the process "
    "could not report it. TTFT, gap and tokens are a number, or `{median, sigma}` of a lognormal; tokens "
    "that come from a trace are `{of, median, p99}`."
)


def _all_figures() -> list[str]:
    """Every lane's figures; those that it shares with a lane before it stand there alone."""
    made: list[str] = []
    shown: set[Metric] = set()
    for one in _lanes():
        made += _figures(one, [metric for metric in one.metrics if metric not in shown])
        shown |= set(one.metrics)
    return made


def _figures(one: Lane, own: Sequence[Metric]) -> list[str]:
    """A lane's figures, a table for each group; a distribution is one row, its members stand apart."""
    groups: dict[str, list[Metric]] = {}
    for metric in own:
        groups.setdefault(metric.path.split(".")[0], []).append(metric)
    heads = ("path", "unit", "better", "repetitions", "quality", "meaning")
    made = []
    for name, metrics in groups.items():
        single = [metric for metric in metrics if metric.path.count(".") == 1]
        title = f"`{name}` ({one.name} lane)"
        if single:
            made.append(_section(title, heads, (_row(f"`{m.path}`", m, m.help) for m in single)))
        if len(single) < len(metrics):
            made.append(_distributions(title, [metric for metric in metrics if metric not in single]))
    return made


def _distributions(title: str, metrics: Sequence[Metric]) -> str:
    series: dict[str, str] = {}
    members: dict[str, Metric] = {}
    for metric in metrics:
        path, _, member = metric.path.rpartition(".")
        series[path] = metric.help.removesuffix(f": {member}")
        members.setdefault(member, metric)
    text = _section(title, ("distribution", "meaning"), _named(series), "Each has the members below.")
    heads = ("member", "unit", "better", "repetitions", "quality", "meaning")
    rows = (_row(f"`.{name}`", metric, _MEMBERS[name]) for name, metric in members.items())
    return text + "\n" + _table(heads, rows)


_MEMBERS = {
    "min": "the smallest",
    "p50": "half are no larger",
    "p90": "90 % are no larger",
    "p99": "99 % are no larger",
    "p999": "99.9 % are no larger",
    "max": "the largest",
    "early_share": "the share below 0",
    "count": "how many there are",
}


def _row(name: str, metric: Metric, text: str) -> tuple[str, ...]:
    return name, metric.unit, metric.better.value, metric.pool.value, metric.quality.value, text


def _backend(name: str) -> tuple[str, ...]:
    info: BackendInfo = BACKENDS[name]
    notes = []
    if info.bounded:
        notes.append("a pool of `width` processes" if info.pool_of_processes else "a pool of `width` threads")
    if info.threads_per_call:
        notes.append("a thread per call")
    if info.processes:
        notes.append("`workers` processes share the calls")
    if info.needs:
        notes.append(f"needs {info.needs}")
    return f"`{name}`", info.waits.value, ", ".join(notes)


def _client(name: str) -> tuple[str, ...]:
    info = CLIENTS[name]
    forms = " and ".join(each.value for each in info.forms)
    pool = "" if info.pool is None else plain(info.pool)
    network = "yes" if info.network else "no"
    return f"`{name}`", forms, network, str(info.fds_per_call), ", ".join(info.needs), pool


def _loads(name: str) -> Iterable[tuple[str, ...]]:
    if name == "trace":  # nothing without its file
        as_set = [f"{plain(load.median)} ms" for load in (real.TTFT_MS, real.GAP_MS)]
        return [("`trace`", "the first `-n`", "as recorded", *as_set, *["as recorded"] * 3)]
    return [_load(name, calls) for calls in _SIZES]


def _load(name: str, calls: int) -> tuple[str, ...]:
    load = resolve(name, calls, {})
    made = build(load, calls)
    arrival = f"{load.arrival.value}, {plain(round(load.ramp_s, 1))} s" if load.ramp_s else load.arrival.value
    if load.time_scale is not None:
        arrival += f", {number(load.time_scale)}x real time"
    return (
        f"`{name}`",
        plain(calls),
        arrival,
        f"{plain(load.ttft_ms.median)} ms",
        f"{plain(load.gap_ms.median)} ms",
        plain(load.tokens.median),
        f"{plain(round(made.rate_per_s))}/s",
        f"{made.ideal_wall_s:.2f} s",
    )


def _lanes() -> list[Lane]:
    return [lane(name) for name in LANES]


def _named(texts: Mapping[Any, str]) -> Iterable[tuple[str, str]]:
    return ((f"`{name}`", text) for name, text in texts.items())


def _with_units(texts: Mapping[str, tuple[str, str]]) -> Iterable[tuple[str, str, str]]:
    return ((f"`{name}`", unit, text) for name, (unit, text) in texts.items())


def _with_unit(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit else text


def _section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], about: str = "") -> str:
    lead = f"{about}\n\n" if about else ""
    return f"## {title}\n\n{lead}{_table(heads, rows)}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main() -> None:
    """Write the pages into the folder named, docs by default."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
