"""A profile: the TOML file that names what a run measures. Strict: an unknown key is an error."""

import itertools
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from streamlanes.backends import BACKENDS
from streamlanes.cells import TEXT_AXES, Axes, Cell, check
from streamlanes.errors import UserError, unknown
from streamlanes.lanes import lane

MAX_BYTES = 1 << 20
MAX_CELLS = 10_000
CUSTOM = "custom"
"""The name of a profile whose matrix came from the command line."""

OneOrMore = int | list[int]


class RunTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[run]`. seed: of the cells' order. repeats: repetitions of every cell that does not say its own.

    budget_s: of every cell. memory: whether cells have a memory pass. warmup: a small cell of each
    backend is run and thrown away before its first one counts.
    """

    lane: str = "io"
    seed: int = 1
    repeats: int = 1
    budget_s: int | float | None = None
    memory: bool = True
    warmup: bool = False


class CellsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[cells]]`: every backend at every size, under every combination of the swept axes.

    lane: another than the run's. sweep: axis -> values, one cell for each. set: axis -> value for all.
    """

    backends: list[str]
    client: str
    workload: str
    calls: list[int]
    lane: str | None = None
    repeats: int | None = None
    set: dict[str, Any] = {}
    sweep: dict[str, list[Any]] = {}


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole profile. workload: axis -> value for every cell."""

    name: str = ""
    run: RunTable = RunTable()
    cells: list[CellsTable] = []
    workload: dict[str, Any] = {}

    def pythons(self) -> list[str]:
        """The interpreters that cells are to run under, as they were written, each once.

        Raises UserError for what can be neither path nor command.
        """
        tables = [self.workload, *(table.set for table in self.cells)]
        swept = (value for table in self.cells for value in table.sweep.get("python", []))
        written = [*(table["python"] for table in tables if "python" in table), *swept]
        for each in written:
            if not isinstance(each, str) or not each:
                raise UserError(f"python is {each!r}; it must be an interpreter's path or command, as text")
        return _distinct(written)

    def expand(self, python_names: Mapping[str, str] = MappingProxyType({})) -> list[Cell]:
        """Every cell once per repetition, equal ones once. Raises UserError for anything not meant.

        python_names: interpreter as written -> its name; one without a name keeps what was written.
        """
        found: dict[str, Cell] = {}
        for table in self.cells:
            for repetition in range(1, (table.repeats or self.run.repeats) + 1):
                for backend, calls in itertools.product(table.backends, table.calls):
                    for combination in _combinations(table.sweep):
                        axes = {**self.workload, **table.set, **combination}
                        if "python" in axes:
                            axes["python"] = python_names.get(axes["python"], axes["python"])
                        cell = self._cell(table, backend, calls, axes, repetition)
                        found.setdefault(cell.id, cell)
                        if len(found) > MAX_CELLS:
                            raise UserError(f"more than {MAX_CELLS:,} cells; name fewer")
        if not found:
            raise UserError(f"profile {self.name or 'given'} names no cell; add a [[cells]] table")
        return list(found.values())

    def _cell(
        self, table: CellsTable, backend: str, calls: int, axes: dict[str, Any], repetition: int
    ) -> Cell:
        asked, name = parse_axes(axes), table.lane or self.run.lane
        if backend in BACKENDS:
            asked = asked.for_cell(BACKENDS[backend], lane(name).asks)
        cell = Cell(
            lane=name,
            backend=backend,
            client=table.client,
            workload=table.workload,
            calls=calls,
            axes=asked,
            repetition=repetition,
            budget_s=self.run.budget_s,
            memory=self.run.memory and repetition == 1,
        )
        check(cell)
        return cell


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks of a profile.

    Any of backends, clients, calls, workload, lane and settings replaces the profile's matrix, with
    one repetition. What is not named is as usual in the lane; backends and client that it leaves open
    come from the profile.
    """

    backends: list[str] = []
    clients: list[str] = []
    calls: list[int] = []
    workload: str | None = None
    lane: str | None = None
    settings: dict[str, list[Any]] = {}
    repeats: int | None = None
    budget_s: float | None = None

    def applied(self, profile: Profile) -> Profile:
        """The profile with these wishes granted."""
        run = msgspec.structs.replace(
            profile.run,
            lane=self.lane or profile.run.lane,
            repeats=self.repeats or profile.run.repeats,
            budget_s=self.budget_s if self.budget_s is not None else profile.run.budget_s,
        )
        name, cells = profile.name, profile.cells
        if self.backends or self.clients or self.calls or self.workload or self.lane or self.settings:
            name, cells = CUSTOM, self._matrix(profile)
        elif self.repeats:
            cells = [msgspec.structs.replace(each, repeats=self.repeats) for each in cells]
        return msgspec.structs.replace(profile, name=name, run=run, cells=cells)

    def _matrix(self, profile: Profile) -> list[CellsTable]:
        if not profile.cells:
            raise UserError(f"profile {profile.name} names no cell to take the rest from")
        usual = lane(self.lane or profile.run.lane).usual
        known = list(usual.backends) or _distinct(name for one in profile.cells for name in one.backends)
        replaced = {usual.instead.get(axis) for axis in self.settings}
        kept = {axis: list(values) for axis, values in usual.sweep.items() if axis not in replaced}
        sweep = kept | self.settings
        return [
            CellsTable(
                backends=self.backends or known,
                client=client,
                workload=self.workload or ("trace" if "trace" in self.settings else usual.workload),
                calls=self.calls or [usual.calls],
                repeats=self.repeats or 1,
                set={axis: values[0] for axis, values in sweep.items() if len(values) == 1},
                sweep={axis: values for axis, values in sweep.items() if len(values) > 1},
            )
            for client in self.clients or [usual.client or profile.cells[0].client]
        ]


def load(name: str) -> Profile:
    """The profile at a path, or the built-in one of that name. Raises UserError in one line."""
    if "/" in name or name.endswith(".toml"):
        path = Path(name)
        try:
            if not path.is_file():
                path.stat()  # says what is wrong with a path that leads nowhere
                raise UserError(f"profile {path} is no regular file; name one")
            with path.open("rb") as file:
                text = file.read(MAX_BYTES + 1)
            if len(text) > MAX_BYTES:
                raise UserError(f"profile {path} is larger than 1 MiB; it is no profile")
        except OSError as error:
            raise UserError(f"cannot read profile {path}: {error.strerror or error}") from None
        return parse(text, str(path), path.stem)
    known = {each.name.removesuffix(".toml"): each for each in files("streamlanes.profiles").iterdir()}
    known = {each: file for each, file in known.items() if file.name.endswith(".toml")}
    if name not in known:
        raise unknown("profile", name, known)
    return parse(known[name].read_bytes(), name, name)


def parse(text: bytes, source: str, name: str) -> Profile:
    """A profile from its text; `source` names it in errors."""
    try:
        found = msgspec.toml.decode(text.removeprefix(b"\xef\xbb\xbf"), type=Profile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"profile {source}: {_hint(str(error))}") from None
    except RecursionError:
        raise UserError(f"profile {source}: nested too deeply; a profile has three levels") from None
    for repeats in (found.run.repeats, *(table.repeats for table in found.cells)):
        if repeats is not None and not 1 <= repeats <= 1000:
            raise UserError(f"profile {source}: repeats is {repeats}; it must be from 1 to 1000")
    name = found.name or name
    if not re.fullmatch(r"\w[\w.-]{0,63}", name, re.ASCII):
        raise UserError(f"profile {source}: the name {name!r} cannot name a folder; use letters and digits")
    return msgspec.structs.replace(found, name=name)


def parse_axes(values: dict[str, Any]) -> Axes:
    """Axes from plain values. Raises UserError that names the axis."""
    for axis in values:
        if axis not in Axes.__struct_fields__:
            raise unknown("axis", axis, Axes.__struct_fields__)
    try:
        return msgspec.convert(values, Axes)
    except msgspec.ValidationError as error:
        where = re.search(r"\$\.(\w+)", str(error))
        axis = where[1] if where else "axes"
        what = str(error).split(" - at ")[0]
        raise UserError(f"axis {axis}: {what} (given: {values.get(axis)!r})") from None


def parse_setting(text: str) -> tuple[str, list[Any]]:
    """`axis=value[,value...]` from the command line: each value a number, a word, or median~sigma."""
    axis, equals, values = text.partition("=")
    if not equals or not values:
        raise UserError(f"--set {text!r}: write it as axis=value")
    if axis not in Axes.__struct_fields__:
        raise unknown("axis", axis, Axes.__struct_fields__)
    words = values.split(",")
    return axis, list(words) if axis in TEXT_AXES else [_value(each) for each in words]


def _value(text: str) -> Any:
    median, tilde, sigma = text.partition("~")
    if tilde:
        return {"median": _value(median), "sigma": _value(sigma)}
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _combinations(sweep: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def _hint(message: str) -> str:
    """msgspec's message, with the nearest key where it names an unknown one."""
    found = re.search(r"unknown field `(\w+)`(?: - at `([^`]*)`)?", message)
    if not found:
        return message
    where = found[2] or ""
    table: Any = RunTable if ".run" in where else CellsTable if ".cells" in where else Profile
    return str(
        unknown(f"key in {where.removeprefix('$.') or 'the profile'}", found[1], table.__struct_fields__)
    )
