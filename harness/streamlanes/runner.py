"""The loop over a plan: what is next, may it run here, measure it, write it down."""

from collections.abc import Callable
from typing import Protocol

from streamlanes.cells import Cell
from streamlanes.plan import Plan
from streamlanes.record import Record


class Keeps(Protocol):
    """Where records go."""

    @property
    def records(self) -> list[Record]: ...
    def append(self, record: Record) -> None: ...


class Tells(Protocol):
    """Who is told how it goes."""

    def begin(self, cell: Cell) -> None: ...
    def end(self, cell: Cell, record: Record) -> None: ...


def run(plan: Plan, journal: Keeps, measure: Callable[[Cell], Record], progress: Tells) -> None:
    """Measure until the plan is content. Each record is written before the next cell begins, so an
    interruption at any moment costs the cell under way and nothing else."""
    while (cell := plan.next(journal.records)) is not None:
        progress.begin(cell)
        record = measure(cell)
        journal.append(record)
        progress.end(cell, record)
