"""Whether a run keeps the thresholds: records and rules in, verdict out. Pure.

A threshold is data (bench/thresholds.toml). Exact rules hold for every record they apply to and
break at once: a lost token is a fault however rarely it happens, so nothing is averaged.
"""

import enum
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from streamlanes.errors import UserError, unknown
from streamlanes.record import Record, StatusName
from streamlanes.words import plain, why_missing

Names = str | list[str]


class VerdictName(enum.StrEnum):
    """What the gate found."""

    PASS = "pass"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"  # nothing was there to judge


_NO_FIGURES = frozenset({"schema", "flags", "missing", "quality"})

EXIT_CODES = {VerdictName.PASS: 0, VerdictName.BROKEN: 1, VerdictName.INCONCLUSIVE: 3}


class Exact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that must have exactly one value in every record the filters let through.

    metric: the path judged. equals: the value, or the path of the figure it must equal. reason: why
    the rule exists, printed when it breaks. null_ok: whether a figure that was not obtained passes.
    arrival: of the workload (ramp, burst, poisson).
    lane, backend, client, workload, calls, status: a name or several; none means any, but `status`
    means `ok` unless said otherwise: what a stopped cell counted says nothing of a whole one.
    """

    metric: str
    equals: float | str
    reason: str
    null_ok: bool = False
    lane: Names | None = None
    backend: Names | None = None
    client: Names | None = None
    workload: Names | None = None
    calls: int | list[int] | None = None
    arrival: Names | None = None
    status: StatusName | list[StatusName] = StatusName.OK

    def applies(self, record: Record) -> bool:
        """Whether the filters let this record through."""
        cell = record.cell
        return (
            _allows(self.lane, cell.lane)
            and _allows(self.backend, cell.backend)
            and _allows(self.client, cell.client)
            and _allows(self.workload, cell.workload)
            and _allows(self.calls, cell.calls)
            and _allows(self.arrival, cell.axes.get("arrival"))
            and _allows(self.status, record.status.name)
        )


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of a thresholds file."""

    exact: list[Exact] = []


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One record that broke one rule; its text is one line."""

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
    """judged: records at least one rule was held against. idle: rules no record came under."""

    name: VerdictName
    broken: tuple[Breach, ...]
    judged: int
    idle: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The command's exit status."""
        return EXIT_CODES[self.name]

    def lines(self) -> list[str]:
        """The verdict as it is printed: every breach, every rule that judged nothing, then the sum."""
        return [
            *(f"BROKEN  {breach}" for breach in self.broken),
            *(f"IDLE    {rule}: no record comes under this rule" for rule in self.idle),
            f"GATE    {self.name}: {self.judged} records judged, {len(self.broken)} breaches",
        ]


def parse(text: str, source: str) -> Thresholds:
    """The rules of a thresholds file; `source` names it in errors. Raises UserError, one line each."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not valid TOML: {error}") from None
    _check_keys(source, raw, Thresholds)
    rules = raw.get("exact", [])
    for place, rule in enumerate(rules if isinstance(rules, list) else [], start=1):
        if isinstance(rule, dict):
            _check_keys(f"{source}: [[exact]] number {place}", rule, Exact)
    try:
        return msgspec.convert(raw, Thresholds)
    except msgspec.ValidationError as error:
        raise UserError(f"{source}: {error}") from None


def judge(records: Sequence[Record], thresholds: Thresholds) -> Verdict:
    """Hold every rule against every record it applies to.

    A path no record of a lane has is another lane's, and the rule does not apply there; a path no
    record at all has is a mistake in the rule (UserError). A crashed cell always breaks the gate.
    """
    known = _paths_by_lane(records)
    broken = [_crash(record) for record in records if record.status.name is StatusName.CRASHED]
    judged = {breach.cell for breach in broken}
    idle = []
    for rule in thresholds.exact:
        candidates = [record for record in records if rule.applies(record)]
        if candidates:
            _check_path(rule.metric, known)
        if isinstance(rule.equals, str) and candidates:
            _check_path(rule.equals, known)
        held = [record for record in candidates if rule.metric in known[record.cell.lane]]
        judged.update(record.cell.id for record in held)
        broken += [breach for record in held if (breach := _exact(rule, record)) is not None]
        if not held:
            idle.append(f"{rule.metric} = {_wanted(rule)}")
    return Verdict(name=_name(broken, judged), broken=tuple(broken), judged=len(judged), idle=tuple(idle))


def _name(broken: Sequence[Breach], judged: set[str]) -> VerdictName:
    if broken:
        return VerdictName.BROKEN
    return VerdictName.PASS if judged else VerdictName.INCONCLUSIVE


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


def _wanted(rule: Exact) -> str:
    return rule.equals if isinstance(rule.equals, str) else plain(rule.equals)


def _allows(wanted: Any, value: Any) -> bool:
    return wanted is None or value in (wanted if isinstance(wanted, list) else [wanted])


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


def _check_path(path: str, known: dict[str, set[str]]) -> None:
    paths = set().union(*known.values())
    if path not in paths:
        raise unknown("metric", path, paths)


def _check_keys(where: str, raw: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    for key in raw:
        if key not in struct.__struct_fields__:
            error = unknown("key", key, struct.__struct_fields__)
            raise UserError(f"{where}: {error}", error.exit_code)
