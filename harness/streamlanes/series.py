"""Which records belong together: the repetitions of a point, and the points of a line. Pure.

A line is a backend; where one backend was measured with several settings of an axis side by side
(thread stacks of 256 KiB and 8 MiB), each setting is a line of its own and named so, but for the one
it has when nothing is asked. Of people's own functions each is a line too, named where there are several.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamlanes.backends import BACKENDS
from streamlanes.clients import CALL, CLIENTS
from streamlanes.lanes.base import Pool
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.stats import pool
from streamlanes.words import plain, why_missing

_UNKNOWN = "default"
"""A value that nothing set and no cell that ran has told."""

_UNITS = (("_per_s", "/s"), ("_kib", " KiB"), ("_ms", " ms"), ("_s", " s"))
_TLS = "tls"
_BARE = ("call", "client", "over")
"""What a line's variant says without naming what it is of."""
YARDSTICKS = ("floor", "timer")
"""Clients that nobody uses: the fastest there can be, and one without a network."""

_Family = tuple[str, str | None, str, int, str]
"""Client, function, workload, calls, backend: what is the same in all settings of an axis side by side."""


@dataclass(frozen=True)
class Line:
    """One way of running: a backend, and what sets it apart from its own other lines: a person's function
    (`call`), settings of axes."""

    backend: str
    variant: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The name a person reads: `threads, stack 256 KiB`."""
        return ", ".join([self.backend, *(setting(axis, value) for axis, value in self.variant)])

    def without(self, axis: str) -> "Line":
        """The same line where this axis is drawn, and so needs no name."""
        return Line(self.backend, tuple(pair for pair in self.variant if pair[0] != axis))


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cell over all its repetitions, in their order."""

    client: str
    workload: str
    calls: int
    line: Line
    records: tuple[Record, ...]

    @property
    def clean(self) -> tuple[Record, ...]:
        """The repetitions nothing casts doubt on: the only ones a ratio may use."""
        return tuple(record for record in self.records if record.clean)

    @property
    def stopped(self) -> tuple[Record, ...]:
        """The repetitions that did not end `ok`."""
        return tuple(record for record in self.records if record.status.name is not StatusName.OK)

    @property
    def bounded(self) -> bool:
        """Whether the backend keeps fewer calls in flight than there are, by design."""
        return any(_bounded(record) for record in self.records)

    def figures(self, path: str) -> list[tuple[Record, float]]:
        """Each repetition that has the figure. A cell that was stopped has timings of another load, so
        they are left out; its memory was read in a pass of its own, at its full number in flight."""
        pairs = ((record, record.figure(path)) for record in self.records)
        own_pass = path.startswith("memory.")
        return [(r, v) for r, v in pairs if v is not None and (own_pass or r.status.name is StatusName.OK)]

    def pooled(self, path: str, how: Pool = Pool.MEDIAN, *, clean: bool = False) -> float | None:
        """One figure for all repetitions (only the clean ones if asked); None where none has it."""
        values = [value for record, value in self.figures(path) if record.clean or not clean]
        return pool(values, how) if values else None

    def why_missing(self, path: str) -> str:
        """Why no repetition has this figure."""
        ended_ok = [record for record in self.records if record.status.name is StatusName.OK]
        return why_missing((ended_ok or list(self.records))[0], path)


def points(records: Iterable[Record]) -> list[Point]:
    """The records as points, by client, workload, calls and line; backends in the registry's order. Of a
    client that was measured both plain and over TLS, the latter is a line of its own at every size."""
    known = list(records)
    varied = _varied(known)
    plainly = _plainly(known, varied)
    several = len({record.cell.call for record in known if record.cell.call}) > 1
    secure = {(record.cell.client, bool(record.cell.axes.get(_TLS))) for record in known}
    groups: dict[tuple[str, str, int, Line], list[Record]] = defaultdict(list)
    for record in known:
        cell = record.cell
        family = _family(record)
        function = [("call", cell.call)] if cell.call and several else []
        over = [("over", "TLS")] if secure >= {(cell.client, False), (cell.client, True)} else []
        settings = (
            (axis, _text(cell.axes.get(axis)))
            for axis in varied[family]
            if axis != _TLS and axis in cell.asked and _text(cell.axes.get(axis)) != plainly[family].get(axis)
        )
        line = Line(cell.backend, (*function, *(over if cell.axes.get(_TLS) else []), *settings))
        groups[cell.client, cell.workload, cell.calls, line].append(record)
    found = [
        Point(
            client=client,
            workload=workload,
            calls=calls,
            line=line,
            records=tuple(sorted(group, key=lambda r: r.cell.repetition)),
        )
        for (client, workload, calls, line), group in groups.items()
    ]
    return sorted(found, key=lambda p: (p.client, p.workload, p.calls, line_order(p.line)))


def select(
    records: Iterable[Record], varied: str | None, *, single: bool = False, lines: Collection[str] = ()
) -> list[Record]:
    """The records a chart is about: those that sweep the axis `varied`, or without one those of the
    main comparison, in which every backend runs as it comes.

    single: also of a family that has one value of the axis only. lines: axes that may be swept besides, as
    the transport always may.
    What all cells of a family were asked for (a seed, a token count) is the run's frame and no sweep.
    """
    families: dict[_Family, list[Record]] = defaultdict(list)
    for record in records:
        families[_family(record)].append(record)
    found: list[Record] = []
    for family in families.values():
        asked = {axis for record in family for axis in record.cell.asked}
        swept = asked - _common(family) - {*lines, _TLS}
        if varied is None:
            default = [record for record in family if not swept & set(record.cell.asked)]
            found += default or family
        elif single or len(_values(varied, family)) > 1:
            found += [record for record in family if not (swept - {varied}) & set(record.cell.asked)]
    return found


def _values(axis: str, family: Sequence[Record]) -> set[str]:
    """What an axis was set to. A cell that never ran does not know what its interpreter would set."""
    return {_text(value) for record in family if (value := record.cell.axes.get(axis)) is not None}


def _common(family: Sequence[Record]) -> set[str]:
    """The axes for which every cell was asked the same value."""
    first = family[0].cell.asked
    return {axis for axis, value in first.items() if all(r.cell.asked.get(axis) == value for r in family)}


def clients_of(records: Iterable[Record]) -> list[str]:
    """The clients of these records. The libraries that people use, and their own code, stand first, then the
    standard library, then what only tells how fast one could be; of a kind what was measured most."""
    cells = Counter(record.cell.client for record in records)
    return sorted(cells, key=lambda name: (client_kind(name), -cells[name], name))


def client_kind(name: str) -> int:
    """0 for a library or people's own code, 1 for the standard library, 2 for a yardstick."""
    info = CLIENTS.get(name)
    if name == CALL or (info is not None and info.libraries):
        return 0
    return 2 if name in YARDSTICKS else 1


def client_words(client: str, records: Iterable[Record]) -> str:
    """A client as a person reads it: `aiohttp client over TLS` where all of its cells were."""
    over = " over TLS" if all(record.cell.axes.get("tls") for record in records) else ""
    return f"{client} client{over}"


def line_order(line: Line) -> tuple[int, str, tuple[tuple[float, str], ...]]:
    """The registry's order, then by name; variants by size where they are numbers."""
    place = list(BACKENDS).index(line.backend) if line.backend in BACKENDS else len(BACKENDS)
    return place, line.backend, tuple(_size(value) for _, value in line.variant)


def setting(axis: str, value: str) -> str:
    """An axis and its value in words: `stack_kib`, `256` is `stack 256 KiB`; of a function or a client its
    name."""
    if axis in _BARE:
        return value
    for suffix, unit in _UNITS:
        if axis.endswith(suffix):
            amount = value if value == _UNKNOWN else f"{value}{unit}"
            return f"{axis.removesuffix(suffix)} {amount}".replace("_", " ")
    return f"{axis} {value}".replace("_", " ")


def by_reason(found: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """(name, reason) pairs as reason -> names, in the order in which the reasons first came."""
    groups: dict[str, list[str]] = {}
    for name, reason in found:
        names = groups.setdefault(reason, [])
        if name not in names:
            names.append(name)
    return list(groups.items())


def _family(record: Record) -> _Family:
    cell = record.cell
    return cell.client, cell.call, cell.workload, cell.calls, cell.backend


def _varied(records: Sequence[Record]) -> dict[_Family, list[str]]:
    """The axes that differ within one repetition of one family: settings compared side by side.

    Only those that one cell at the least was asked for: the others follow from them. Across repetitions
    nothing is compared, so a seed of its own for each makes no line of its own.
    """
    asked: dict[_Family, set[str]] = defaultdict(set)
    seen: dict[_Family, dict[tuple[int, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        asked[_family(record)] |= record.cell.asked.keys()
        for axis, value in record.cell.axes.items():
            if value is not None:  # a cell that never ran does not know what its interpreter would set
                seen[_family(record)][record.cell.repetition, axis].add(_text(value))
    return defaultdict(
        list,
        {
            family: sorted({axis for (_, axis), values in axes.items() if len(values) > 1} & asked[family])
            for family, axes in seen.items()
        },
    )


def _plainly(
    records: Sequence[Record], varied: Mapping[_Family, Sequence[str]]
) -> dict[_Family, dict[str, str]]:
    """The value of each varied axis where a family was not asked for any."""
    found: dict[_Family, dict[str, str]] = defaultdict(dict)
    for record in records:
        axes = varied[_family(record)]
        if not set(axes) & record.cell.asked.keys():
            values = {axis: value for axis in axes if (value := record.cell.axes.get(axis)) is not None}
            found[_family(record)] |= {axis: _text(value) for axis, value in values.items()}
    return found


def _bounded(record: Record) -> bool:
    width = record.figure("cell.axes.width")
    by_width = width is not None and width < record.cell.calls
    return by_width or any(flag.name is FlagName.BOUNDED for flag in record.flags)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return plain(value)
    return _UNKNOWN if value is None else str(value)


def _size(value: str) -> tuple[float, str]:
    try:
        return float(value.replace(",", "")), ""
    except ValueError:
        return float("inf"), value
