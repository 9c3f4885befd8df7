"""Thresholds as data: what a thresholds file may say (bench/thresholds.toml), and reading one. Pure."""

import tomllib
from typing import Any

import msgspec

from streamlanes.cells import Axes
from streamlanes.errors import UserError, unknown
from streamlanes.record import Record, StatusName
from streamlanes.words import plain

Names = str | list[str]


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every rule has. metric: the path judged. reason: why the rule exists, printed when it breaks.

    lane, backend, client, workload, calls, arrival, status: a name or several; none means any, but
    `status` means `ok` unless said otherwise: what a stopped cell counted says nothing of a whole one.
    arrival: of the workload (ramp, burst, poisson). axes: any other axis, with the value that was
    meant to run, or several.
    """

    metric: str
    reason: str
    lane: Names | None = None
    backend: Names | None = None
    client: Names | None = None
    workload: Names | None = None
    calls: int | list[int] | None = None
    arrival: Names | None = None
    axes: dict[str, Any] = {}
    status: StatusName | list[StatusName] = StatusName.OK

    def for_lane(self, name: str) -> bool:
        """Whether the filter lets this lane through."""
        return _allows(self.lane, name)

    def applies(self, record: Record) -> bool:
        """Whether the filters let this record through."""
        cell = record.cell
        return (
            self.for_lane(cell.lane)
            and _allows(self.backend, cell.backend)
            and _allows(self.client, cell.client)
            and _allows(self.workload, cell.workload)
            and _allows(self.calls, cell.calls)
            and _allows(self.arrival, cell.axes.get("arrival"))
            and all(_allows(wanted, cell.axes.get(axis)) for axis, wanted in self.axes.items())
            and _allows(self.status, record.status.name)
        )


class Exact(Rule, frozen=True, kw_only=True):
    """A figure that must have exactly one value in every record the filters let through.

    equals: the value, or the path of the figure it must equal. null_ok: whether a figure that was not
    obtained passes.
    """

    equals: float | str
    null_ok: bool = False

    def __str__(self) -> str:
        wanted = self.equals if isinstance(self.equals, str) else plain(self.equals)
        return f"{self.metric} = {wanted}"


class Bound(Rule, frozen=True, kw_only=True):
    """A figure whose median over a cell's repetitions has a ceiling, a floor, or both.

    repetitions: how many clean ones it takes to judge; fewer are inconclusive, not passed. doubted:
    flagged repetitions count too, for figures that no noise moves (memory).
    """

    at_most: float | None = None
    at_least: float | None = None
    repetitions: int = 3
    doubted: bool = False

    def __str__(self) -> str:
        return f"{self.metric} {limits(self.at_most, self.at_least)}"


class Ratio(Rule, frozen=True, kw_only=True):
    """A figure over the same figure of another cell, everything else equal, paired by repetition: the
    geometric mean has a ceiling, a floor, or both.

    against: the other cell's backend, or the axes in which it differs. repetitions: clean pairs it takes.
    doubted: flagged ones count too.
    """

    against: str | dict[str, Any]
    at_most: float | None = None
    at_least: float | None = None
    repetitions: int = 3
    doubted: bool = False

    @property
    def other(self) -> str:
        """What it is held against, in words."""
        if isinstance(self.against, str):
            return self.against
        return " ".join(f"{axis}={_said(value)}" for axis, value in self.against.items())

    def __str__(self) -> str:
        whose = f" of {self.backend}" if isinstance(self.against, str) else ""
        return f"{self.metric}{whose} over {self.other} {limits(self.at_most, self.at_least)}"


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of a thresholds file."""

    exact: list[Exact] = []
    bound: list[Bound] = []
    ratio: list[Ratio] = []


_TABLES: dict[str, type[Rule]] = {"exact": Exact, "bound": Bound, "ratio": Ratio}


def parse(text: str, source: str) -> Thresholds:
    """The rules of a thresholds file; `source` names it in errors. Raises UserError, one line each."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not valid TOML: {error}") from None
    _check_keys(source, raw, Thresholds)
    for table, struct in _TABLES.items():
        rules = raw.get(table, [])
        for place, rule in enumerate(rules if isinstance(rules, list) else [], start=1):
            if isinstance(rule, dict):
                where = f"{source}: [[{table}]] number {place}"
                _check_keys(where, rule, struct)
                for axes in (rule.get("axes"), rule.get("against")):
                    if isinstance(axes, dict):
                        _check_keys(where, axes, Axes)
    try:
        found = msgspec.convert(raw, Thresholds)
    except msgspec.ValidationError as error:
        raise UserError(f"{source}: {error}") from None
    bounds: list[Bound | Ratio] = [*found.bound, *found.ratio]
    for bound in bounds:
        if bound.at_most is None and bound.at_least is None:
            raise UserError(f"{source}: the rule on {bound.metric} needs at_most or at_least")
        if bound.repetitions < 1:
            raise UserError(f"{source}: the rule on {bound.metric} needs repetitions of 1 or more")
    return found


def limits(at_most: float | None, at_least: float | None) -> str:
    """A bound as it is printed."""
    parts = []
    if at_least is not None:
        parts.append(f">= {plain(at_least)}")
    if at_most is not None:
        parts.append(f"<= {plain(at_most)}")
    return " and ".join(parts)


def _allows(wanted: Any, value: Any) -> bool:
    return wanted is None or value in (wanted if isinstance(wanted, list) else [wanted])


def _said(value: Any) -> str:
    """As it stands in the name of a cell."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_keys(where: str, raw: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    for key in raw:
        if key not in struct.__struct_fields__:
            error = unknown("key", key, struct.__struct_fields__)
            raise UserError(f"{where}: {error}", error.exit_code)
