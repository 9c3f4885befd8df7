"""A profile: what a run measures, as the tables of its TOML file, and the cells and searches they mean."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from streamlanes.axis_values import parse_axes
from streamlanes.backends import BACKENDS, Waits
from streamlanes.cells import Cell, check
from streamlanes.clients import CALL
from streamlanes.errors import UserError
from streamlanes.knee import search_of
from streamlanes.lanes import lane
from streamlanes.lanes.base import Lane
from streamlanes.plan import FixedPlan, InTurn, Plan
from streamlanes.provider.behaviour import Behaviour
from streamlanes.search import BOUND_MS, MOST_CELLS, KneePlan, Search, search
from streamlanes.spares import Spares

MAX_CELLS = 10_000


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
        return distinct(written)

    def clients(self) -> list[str]:
        """The clients of all cells, each once; there may be none of some name."""
        every: list[Matrix] = [*self.cells, *self.knee]
        return distinct(table.client for table in every)

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


def distinct(names: Iterable[str]) -> list[str]:
    """Each name once, in their order."""
    return list(dict.fromkeys(names))


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


def _combinations(sweep: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]
