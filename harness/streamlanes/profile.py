"""A profile: the TOML file that names what a run measures. Strict: an unknown key is an error."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from streamlanes.backends import BACKENDS, Waits
from streamlanes.cells import TEXT_AXES, Axes, Cell, check, check_function
from streamlanes.clients import CALL
from streamlanes.errors import UserError, unknown
from streamlanes.fitting import fits
from streamlanes.knee import search_of
from streamlanes.lanes import lane
from streamlanes.lanes.base import Lane, Usual
from streamlanes.plan import FixedPlan, InTurn, Plan
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault
from streamlanes.search import BOUND_MS, MOST_CELLS, KneePlan, Search, search
from streamlanes.spares import Spares

MAX_BYTES = 1 << 20
MAX_CELLS = 10_000
CUSTOM = "custom"
"""The name of a profile whose matrix came from the command line."""

_YES_OR_NO = {"true": True, "false": False}
T = TypeVar("T", bound="Matrix")


class RunTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[run]`. seed: of the cells' order. repeats: repetitions of every cell that does not say its own.

    budget_s: of every cell. memory: whether cells have a memory pass. warmup: a small cell of each
    backend is run and thrown away before its first one counts. spares: how many more repetitions a cell
    may have in place of those that the host disturbed.
    """

    lane: str = "io"
    seed: int = 1
    repeats: int = 1
    budget_s: int | float | None = None
    memory: bool = True
    warmup: bool = False
    spares: int = 0


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every backend at every size, under every combination of the swept axes.

    backends: client `call` may leave them out: all of the lane's that fit its function. call: that function,
    "module:function". lane: another than the run's. sweep: axis -> values, one cell (or search) for each.
    set: axis -> value for all.
    """

    backends: list[str] = []
    client: str
    call: str | None = None
    workload: str
    calls: list[int]
    lane: str | None = None
    set: dict[str, Any] = {}
    sweep: dict[str, list[Any]] = {}


class CellsTable(Matrix, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[cells]]`. repeats, budget_s, memory: of each of its cells, the run's own if None."""

    repeats: int | None = None
    budget_s: int | float | None = None
    memory: bool | None = None


class KneeTable(Matrix, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[knee]]`: a search for the highest total token rate (see `search`).

    bound_ms: what stream lateness p99 is held to. start_per_s: the rate to begin with, the workload's own
    if None. most_cells: it may take, repetitions included.
    """

    workload: str = "steady"
    bound_ms: int | float = BOUND_MS
    start_per_s: int | float | None = None
    most_cells: int = MOST_CELLS


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole profile. workload: axis -> value for every cell. provider: of every cell that has one."""

    name: str = ""
    run: RunTable = RunTable()
    cells: list[CellsTable] = []
    knee: list[KneeTable] = []
    workload: dict[str, Any] = {}
    provider: Behaviour | None = None

    def pythons(self) -> list[str]:
        """The interpreters that cells are to run under, as they were written, each once.

        Raises UserError for what can be neither path nor command.
        """
        every: list[Matrix] = [*self.cells, *self.knee]
        tables = [self.workload, *(table.set for table in every)]
        swept = (value for table in every for value in table.sweep.get("python", []))
        written = [*(table["python"] for table in tables if "python" in table), *swept]
        for each in written:
            if not isinstance(each, str) or not each:
                raise UserError(f"python is {each!r}; it must be an interpreter's path or command, as text")
        return _distinct(written)

    def clients(self) -> list[str]:
        """The clients of all cells, each once; there may be none of some name."""
        every: list[Matrix] = [*self.cells, *self.knee]
        return _distinct(table.client for table in every)

    def plan(
        self,
        python_names: Mapping[str, str] = MappingProxyType({}),
        waits: Mapping[str, Waits] = MappingProxyType({}),
    ) -> Plan:
        """What is measured: the cells, those again that the host disturbed, then the searches.

        Raises UserError for anything not meant.

        python_names: interpreter as written -> its name; one without a name keeps what was written.
        waits: function -> how it waits, which says what backends fit it; one that is not there fits all.
        """
        cells = FixedPlan(self.expand(python_names, waits), self.run.seed)
        knees = KneePlan(self.searches(python_names, waits))
        return InTurn(cells, Spares(cells.cells, self.run.spares), knees)

    def expand(
        self,
        python_names: Mapping[str, str] = MappingProxyType({}),
        waits: Mapping[str, Waits] = MappingProxyType({}),
    ) -> list[Cell]:
        """Every cell of `[[cells]]` once per repetition, equal ones once. Raises UserError for anything not
        meant, and where there is neither a cell nor a search."""
        found: dict[str, Cell] = {}
        for table in self.cells:
            for repetition in range(1, (table.repeats or self.run.repeats) + 1):
                for cell in self._cells(table, python_names, waits, repetition):
                    found.setdefault(cell.id, cell)
                    if len(found) > MAX_CELLS:
                        raise UserError(f"more than {MAX_CELLS:,} cells; name fewer")
        if not found and not self.knee:
            raise UserError(f"profile {self.name or 'given'} names no cell; add a [[cells]] table")
        return list(found.values())

    def searches(
        self,
        python_names: Mapping[str, str] = MappingProxyType({}),
        waits: Mapping[str, Waits] = MappingProxyType({}),
    ) -> list[Search]:
        """Every search of `[[knee]]`, equal ones once. Raises UserError for anything not meant."""
        found: dict[str, Search] = {}
        for table in self.knee:
            for cell in self._cells(table, python_names, waits, repetition=1):
                one = search(cell, float(table.bound_ms), table.start_per_s, table.most_cells)
                found.setdefault(search_of(one.cell.id), one)
                if len(found) > MAX_CELLS:
                    raise UserError(f"more than {MAX_CELLS:,} searches; name fewer")
        if self.knee and not found:
            raise UserError(f"profile {self.name or 'given'}: [[knee]] names no backend or no size")
        return list(found.values())

    def _cells(
        self, table: Matrix, python_names: Mapping[str, str], waits: Mapping[str, Waits], repetition: int
    ) -> Iterator[Cell]:
        backends = table.backends or _fitting(table, lane(table.lane or self.run.lane), waits)
        for backend, calls in itertools.product(backends, table.calls):
            for combination in _combinations(table.sweep):
                axes = {**self.workload, **table.set, **combination}
                if "python" in axes:
                    axes["python"] = python_names.get(axes["python"], axes["python"])
                yield self._cell(table, backend, calls, axes, repetition)

    def _cell(self, table: Matrix, backend: str, calls: int, axes: dict[str, Any], repetition: int) -> Cell:
        asked, name = parse_axes(axes), table.lane or self.run.lane
        own = lane(name)
        budget_s, memory = self.run.budget_s, self.run.memory
        if isinstance(table, CellsTable):
            budget_s = budget_s if table.budget_s is None else table.budget_s
            memory = memory if table.memory is None else table.memory
        if backend in BACKENDS and table.client in own.clients:
            asked = asked.that_matter(BACKENDS[backend], own.clients[table.client], own.asks)
        cell = Cell(
            lane=name,
            backend=backend,
            client=table.client,
            call=table.call,
            workload=table.workload,
            calls=calls,
            axes=asked,
            repetition=repetition,
            budget_s=budget_s,
            memory=memory and repetition == 1,
            provider=self._provider(own, table.client),
        )
        check(cell)
        return cell

    def _provider(self, own: Lane, client: str) -> Behaviour | None:
        """What the table says, where it says anything and the client has a provider."""
        without = client in own.clients and not own.clients[client].network
        return None if without or self.provider == Behaviour() else self.provider


_TABLES = {"run": RunTable, "cells": CellsTable, "knee": KneeTable, "provider": Behaviour}


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks of a profile.

    Any of backends, clients, functions, calls, workload, lane and settings replaces the profile's matrix,
    with one repetition. What is not named is as usual in the lane; backends and client that it leaves open
    come from the profile, of the backends those that fit the client. For a function all backends that fit it
    are taken; a lane without calls takes it where its own code goes (Lane.own_code). knee: likewise, and in
    place of cells of the matrix their knees are sought.
    """

    backends: list[str] = []
    clients: list[str] = []
    functions: list[str] = []
    calls: list[int] = []
    workload: str | None = None
    lane: str | None = None
    settings: dict[str, list[Any]] = {}
    repeats: int | None = None
    budget_s: float | None = None
    knee: bool = False

    def applied(self, profile: Profile) -> Profile:
        """The profile with these wishes granted."""
        if self.functions and (axis := lane(self.lane or profile.run.lane).own_code):
            return self._set(axis).applied(profile)
        run = msgspec.structs.replace(
            profile.run,
            lane=self.lane or profile.run.lane,
            repeats=self.repeats or profile.run.repeats,
            budget_s=self.budget_s if self.budget_s is not None else profile.run.budget_s,
        )
        changed: dict[str, Any] = {"run": run}
        asked = (
            *(self.backends, self.clients, self.functions, self.calls),
            *(self.workload, self.lane, self.settings),
        )
        if self.knee:
            if self.repeats:
                raise UserError(
                    "--repeats means nothing to --knee: a search repeats what is in doubt; leave it out"
                )
            changed |= {"name": CUSTOM, "cells": [], "knee": self._matrix(profile, KneeTable)}
        elif any(asked):
            cells = self._matrix(profile, CellsTable, repeats=self.repeats or 1)
            changed |= {"name": CUSTOM, "cells": cells, "knee": []}
        else:
            each: dict[str, Any] = {"repeats": self.repeats} if self.repeats else {}
            each |= {"budget_s": None} if self.budget_s is not None else {}  # the run's own holds
            changed["cells"] = [msgspec.structs.replace(table, **each) for table in profile.cells]
        return msgspec.structs.replace(profile, **changed)

    def _set(self, axis: str) -> "Wishes":
        """The functions as values of an axis, after those that it was set to."""
        for name in self.functions:
            check_function(name)
        values = [*self.settings.get(axis, []), *self.functions]
        return msgspec.structs.replace(self, functions=[], settings={**self.settings, axis: values})

    def _matrix(self, profile: Profile, kind: type[T], **more: Any) -> list[T]:
        tables: list[Matrix] = [*profile.cells, *profile.knee]
        if not tables:
            raise UserError(f"profile {profile.name} names no cell to take the rest from")
        own = lane(self.lane or profile.run.lane)
        usual = own.usual
        names = list(usual.backends) or _distinct(name for one in tables for name in one.backends)
        if kind is KneeTable:  # a bounded backend keeps fewer in flight than a knee is sought with
            names = [name for name in names if name not in BACKENDS or not BACKENDS[name].bounded]
        replaced = {usual.instead.get(axis) for axis in self.settings}
        kept = {axis: list(values) for axis, values in usual.sweep.items() if axis not in replaced}
        sweep = kept | self.settings
        return [
            kind(
                backends=self.backends or ([] if client == CALL else _known_to_fit(own, names, client)),
                client=client,
                call=function,
                workload=self.workload or ("trace" if "trace" in self.settings else usual.workload),
                calls=self.calls or [usual.calls],
                set={axis: values[0] for axis, values in sweep.items() if len(values) == 1},
                sweep={axis: values for axis, values in sweep.items() if len(values) > 1},
                **more,
            )
            for client, function in self._ways(usual, tables)
        ]

    def _ways(self, usual: Usual, tables: Sequence[Matrix]) -> list[tuple[str, str | None]]:
        """Clients, `call` once for each function: those that were named, else the usual or the profile's."""
        clients = self.clients or ([CALL] if self.functions else [usual.client or tables[0].client])
        if self.functions and CALL not in clients:
            clients = [*clients, CALL]
        functions = self.functions or _distinct(each.call for each in tables if each.call)
        own: list[str | None] = [*functions] or [None]
        return [(client, function) for client in clients for function in (own if client == CALL else [None])]


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
    if not 0 <= found.run.spares <= 10:
        raise UserError(f"profile {source}: spares is {found.run.spares}; it must be from 0 to 10")
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
    """`axis=value[,value...]` from the command line: each value a number, true or false, a word,
    median~sigma or median^tail."""
    axis, equals, values = text.partition("=")
    if not equals or not values:
        raise UserError(f"--set {text!r}: write it as axis=value")
    if axis not in Axes.__struct_fields__:
        raise unknown("axis", axis, Axes.__struct_fields__)
    words = values.split(",")
    return axis, list(words) if axis in TEXT_AXES else [_value(each) for each in words]


def _value(text: str) -> Any:
    if text in _YES_OR_NO:
        return _YES_OR_NO[text]
    for mark, second in (("~", "sigma"), ("^", "tail")):
        median, marked, value = text.partition(mark)
        if marked:
            return {"median": _value(median), second: _value(value)}
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _known_to_fit(own: Lane, names: list[str], client: str) -> list[str]:
    """Those of the usual backends that the client has a form for; all where it has one for none."""
    return [name for name in names if fits(own, name, client)] or names


def _fitting(table: Matrix, own: Lane, waits: Mapping[str, Waits]) -> list[str]:
    """The backends of a table that names none: for a function all of its lane's that fit it, but for a search
    those that hold every call in flight."""
    if table.client != CALL:
        kind = "knee" if isinstance(table, KneeTable) else "cells"
        raise UserError(
            f"a [[{kind}]] table of client {table.client!r} names no backend; add backends = [...]"
        )
    function = table.call or ""
    fit = {name: info for name, info in own.backends.items() if info.waits is waits.get(function, info.waits)}
    return [name for name, info in fit.items() if not (info.bounded and isinstance(table, KneeTable))]


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _combinations(sweep: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def _hint(message: str) -> str:
    """msgspec's message, with the nearest key where it names an unknown one."""
    if fault := re.search(r"enum value '([^']*)' .*provider[.]faults", message):
        return str(unknown("fault", fault[1], Fault))
    found = re.search(r"unknown field `(\w+)`(?: - at `([^`]*)`)?", message)
    if not found:
        return message
    where = found[2] or ""
    table: Any = next((table for name, table in _TABLES.items() if f"$.{name}" in where), Profile)
    return str(
        unknown(f"key in {where.removeprefix('$.') or 'the profile'}", found[1], table.__struct_fields__)
    )
