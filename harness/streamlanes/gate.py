"""Whether a run keeps the thresholds: records and rules in, verdict out. Pure.

Exact rules hold for every record they apply to and break at once: a lost token is a fault however
rarely it happens, so nothing is averaged. Bounds and ratios are about figures that vary: they need
their number of clean repetitions, and without them the verdict is inconclusive, never passed.
"""

import enum
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import msgspec

from streamlanes.errors import unknown
from streamlanes.knee import without_searches
from streamlanes.record import CellInfo, Record, StatusName
from streamlanes.rules import Bound, Exact, Ratio, Rule, Thresholds, limits
from streamlanes.stats import paired, paired_ratio
from streamlanes.words import number, plain, why_missing


class VerdictName(enum.StrEnum):
    """What the gate found."""

    PASS = "pass"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"  # nothing to judge, or too few clean repetitions


_NO_FIGURES = frozenset({"schema", "flags", "missing", "quality"})

EXIT_CODES = {VerdictName.PASS: 0, VerdictName.BROKEN: 1, VerdictName.INCONCLUSIVE: 3}


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One cell that broke one rule; its text is one line."""

    cell: str
    metric: str
    found: str
    wanted: str
    reason: str

    def __str__(self) -> str:
        text = f"{self.cell}: {self.metric} is {self.found}, wanted {self.wanted}; {self.reason}"
        return " ".join(text.split())  # a crash may bring a reason of several lines


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """judged: records at least one rule was held against. idle: rules no record came under. open: what
    could not be decided, each in a line."""

    name: VerdictName
    broken: tuple[Breach, ...]
    judged: int
    idle: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The command's exit status."""
        return EXIT_CODES[self.name]

    def lines(self) -> list[str]:
        """The verdict as it is printed: breaches, what is open, rules that judged nothing, the sum."""
        undecided = f", {len(self.open)} undecided" if self.open else ""
        return [
            *(f"BROKEN  {breach}" for breach in self.broken),
            *(f"OPEN    {text}" for text in self.open),
            *(f"IDLE    {rule}: no record comes under this rule" for rule in self.idle),
            f"GATE    {self.name}: {self.judged} records judged, {len(self.broken)} breaches{undecided}",
        ]


@dataclass
class _Findings:
    """What is gathered while rules are held against records."""

    broken: list[Breach] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)

    def name(self) -> VerdictName:
        if self.broken:
            return VerdictName.BROKEN
        return VerdictName.PASS if self.judged and not self.open else VerdictName.INCONCLUSIVE


def judge(records: Sequence[Record], thresholds: Thresholds) -> Verdict:
    """Hold every rule against every record it applies to.

    A path no record of a lane has is another lane's, and the rule does not apply there; a path no
    record at all has is a mistake in the rule (UserError). A crashed cell always breaks the gate.
    """
    # A step of a knee search overloads on purpose: only its crash is a fault.
    compared = without_searches(records)
    known = _paths_by_lane(compared)
    found = _Findings(broken=[_crash(r) for r in records if r.status.name is StatusName.CRASHED])
    found.judged.update(breach.cell for breach in found.broken)
    idle = []
    rules: list[Rule] = [*thresholds.exact, *thresholds.bound, *thresholds.ratio]
    for rule in rules:
        candidates = [record for record in compared if rule.applies(record)]
        if candidates:
            _check_paths(rule, known)
        held = [record for record in candidates if rule.metric in known[record.cell.lane]]
        if not held:
            idle += [str(rule)] if _concerns(rule, known) else []
        elif isinstance(rule, Exact):
            found.judged.update(record.cell.id for record in held)
            found.broken += [breach for record in held if (breach := _exact(rule, record)) is not None]
        elif isinstance(rule, Bound):
            _bound(rule, held, found)
        elif isinstance(rule, Ratio) and not _ratio(rule, held, compared, found):
            idle.append(str(rule))
    return Verdict(
        name=found.name(),
        broken=tuple(found.broken),
        judged=len(found.judged),
        idle=tuple(idle),
        open=tuple(found.open),
    )


def _concerns(rule: Rule, lanes: Collection[str]) -> bool:
    """Whether a run of these lanes would be expected to come under the rule: not where it is for others."""
    return rule.lane is None or not lanes or any(rule.for_lane(name) for name in lanes)


def _exact(rule: Exact, record: Record) -> Breach | None:
    found = record.figure(rule.metric)
    wanted = record.figure(rule.equals) if isinstance(rule.equals, str) else rule.equals
    if rule.null_ok and (found is None or wanted is None):
        return None
    if found is not None and found == wanted:
        return None
    return Breach(
        cell=record.cell.id,
        metric=rule.metric,
        found=_shown(record, rule.metric, found),
        wanted=f"{_shown(record, rule.equals, wanted)} ({rule.equals})"
        if isinstance(rule.equals, str)
        else plain(rule.equals),
        reason=rule.reason,
    )


def _bound(rule: Bound, held: Sequence[Record], found: _Findings) -> None:
    for cell, repetitions in _by_cell(held).items():
        pairs = [(r, r.figure(rule.metric)) for r in repetitions if r.clean or rule.doubted]
        values = [value for _, value in pairs if value is not None]
        if len(values) < rule.repetitions:
            found.open.append(f"{cell}: {rule}: {len(values)} of {rule.repetitions} clean repetitions")
            continue
        found.judged.update(record.cell.id for record in repetitions)
        middle = median(values)
        if not _within(middle, rule):
            found.broken.append(_breach(cell, rule, number(middle)))


def _ratio(rule: Ratio, held: Sequence[Record], records: Sequence[Record], found: _Findings) -> bool:
    """Judge the cells that have another one; returns whether any has."""
    cells = _by_cell(records)
    pairs = [(cell, one, _other(rule, cell, one[0], cells)) for cell, one in _by_cell(held).items()]
    for cell, repetitions, other in pairs:
        if other is None:
            continue
        ours, theirs = paired(_figures(repetitions, rule), _figures(cells.get(other, []), rule))
        if len(ours) < rule.repetitions:
            found.open.append(f"{cell}: {rule}: {len(ours)} of {rule.repetitions} clean pairs")
            continue
        found.judged.update(record.cell.id for record in (*repetitions, *cells[other]))
        value = paired_ratio(ours, theirs).value
        if not _within(value, rule):
            found.broken.append(_breach(cell, rule, f"{value:.3f}"))
    return any(other is not None for _, _, other in pairs)


def _other(rule: Ratio, name: str, record: Record, cells: Mapping[str, Sequence[Record]]) -> str | None:
    """The name of the cell that this one is held against. None where a run has none that differs in those
    axes: whoever sweeps none of them asks nothing; a backend that is not there is missed."""
    if isinstance(rule.against, str):
        return name.replace(f"/{record.cell.backend}/", f"/{rule.against}/", 1)
    wanted = {**record.cell.axes, **rule.against}
    for other, repetitions in cells.items():
        if repetitions[0].cell.axes == wanted and _same_but_axes(repetitions[0].cell, record.cell):
            return other
    return None


def _same_but_axes(one: CellInfo, other: CellInfo) -> bool:
    names = ("lane", "backend", "client", "call", "workload", "calls", "provider", "knee_bound_ms")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _figures(records: Iterable[Record], rule: Ratio) -> dict[int, float]:
    """Positive figures of records that count, by repetition."""
    counting = (record for record in records if record.clean or rule.doubted)
    pairs = ((record.cell.repetition, record.figure(rule.metric)) for record in counting)
    return {repetition: value for repetition, value in pairs if value is not None and value > 0}


def _within(value: float, rule: Bound | Ratio) -> bool:
    low = rule.at_least is None or value >= rule.at_least
    return low and (rule.at_most is None or value <= rule.at_most)


def _breach(cell: str, rule: Bound | Ratio, found: str) -> Breach:
    metric = rule.metric if isinstance(rule, Bound) else f"{rule.metric} over that of {rule.other}"
    return Breach(
        cell=cell, metric=metric, found=found, wanted=limits(rule.at_most, rule.at_least), reason=rule.reason
    )


def _by_cell(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Repetitions by cell, named without the repetition."""
    cells: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        cells[record.cell.id.rpartition("/")[0]].append(record)
    return cells


def _crash(record: Record) -> Breach:
    return Breach(
        cell=record.cell.id,
        metric="status.name",
        found=StatusName.CRASHED,
        wanted="any other",
        reason=record.status.reason or "a crash has no place in a run that passes",
    )


def _shown(record: Record, path: str, value: float | None) -> str:
    return f"null ({why_missing(record, path)})" if value is None else plain(value)


def _paths_by_lane(records: Iterable[Record]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for record in records:
        raw = {name: group for name, group in msgspec.to_builtins(record).items() if name not in _NO_FIGURES}
        known.setdefault(record.cell.lane, set()).update(_paths(raw, ""), record.missing)
    return known


def _paths(group: dict[str, Any], above: str) -> Iterable[str]:
    for name, value in group.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{above}{name}.")
        else:
            yield above + name


def _check_paths(rule: Rule, known: dict[str, set[str]]) -> None:
    paths = set().union(*known.values())
    equals = rule.equals if isinstance(rule, Exact) and isinstance(rule.equals, str) else rule.metric
    for path in (rule.metric, equals):
        if path not in paths:
            raise unknown("metric", path, paths)
