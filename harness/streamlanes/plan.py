"""Plans: pure functions from the records so far to the next cell, or none."""

import random
from collections.abc import Iterable, Sequence
from typing import Protocol

from streamlanes.cells import Cell
from streamlanes.record import Record


class Plan(Protocol):
    """What a run measures, decided one cell at a time.

    next: the cell that comes after these records, or None when the plan is content. ahead: the cells that
    are left; of a plan that decides on the way, as many as there may be at most.
    """

    def next(self, done: Sequence[Record]) -> Cell | None: ...
    def ahead(self, done: Sequence[Record]) -> list[Cell]: ...


class FixedPlan:
    """A list of cells in blocks (DESIGN.md, rule 11): repetition r is a block with every cell that has
    one, in seeded random order; the next block goes in reverse, so that drift cancels."""

    def __init__(self, cells: Iterable[Cell], seed: int) -> None:
        self.cells = ordered(cells, seed)

    def next(self, done: Sequence[Record]) -> Cell | None:
        """The first cell without a record."""
        return next(iter(self.ahead(done)), None)

    def ahead(self, done: Sequence[Record]) -> list[Cell]:
        """The cells without a record, in their order."""
        have = {record.cell.id for record in done}
        return [cell for cell in self.cells if cell.id not in have]


class InTurn:
    """Plans one after the other."""

    def __init__(self, *plans: Plan) -> None:
        self.plans = plans

    def next(self, done: Sequence[Record]) -> Cell | None:
        """The next cell of the first plan that has one."""
        return next((cell for plan in self.plans if (cell := plan.next(done)) is not None), None)

    def ahead(self, done: Sequence[Record]) -> list[Cell]:
        """What all of them have left."""
        return [cell for plan in self.plans for cell in plan.ahead(done)]


def ordered(cells: Iterable[Cell], seed: int) -> tuple[Cell, ...]:
    """Cells in the order of measurement."""
    blocks: dict[int, list[Cell]] = {}
    for cell in cells:
        blocks.setdefault(cell.repetition, []).append(cell)
    place: dict[tuple[object, ...], float] = {}
    draw = random.Random(seed)
    out: list[Cell] = []
    for which, repetition in enumerate(sorted(blocks)):
        block = sorted(blocks[repetition], key=lambda cell: cell.id)
        for cell in block:
            place.setdefault(_without_repetition(cell), draw.random())
        block.sort(key=lambda cell: place[_without_repetition(cell)], reverse=which % 2 == 1)
        out += block
    return tuple(out)


def _without_repetition(cell: Cell) -> tuple[object, ...]:
    return tuple(cell.id.split("/")[:-1])
