"""The knee search as a plan: double (or halve) the rate until one is borne and one is not, then narrow
the ratio between the two. What a rate showed, and whether it takes another look, `knee` says. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import msgspec

from streamlanes.cells import Cell
from streamlanes.errors import UserError
from streamlanes.knee import LATE, RATE, RESOLUTION, Bracket, bracket, is_step, rate_of, search_of
from streamlanes.lanes import lane
from streamlanes.record import Record
from streamlanes.workload import TOGETHER

BOUND_MS = 50.0
MOST_CELLS = 16
"""Of one search, repetitions included, unless it is given fewer."""
MOST_HALVINGS = 5
"""From the first rate downwards: what does not bear a 32nd of it has no knee worth more cells."""
MOST_PER_S = 1_000_000
"""Tokens a second in all, beyond which no search goes."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search. cell: its first one, with rate and bound set. most_per_s: the highest rate to ask for.
    most_cells: it may take, repetitions included."""

    cell: Cell
    most_per_s: float
    most_cells: int = MOST_CELLS

    def next(self, done: Sequence[Record]) -> Cell | None:
        """The next cell, or None when the search is over."""
        mine = self.own(done)
        found = bracket(mine)
        rate = found.open_per_s if found.open_per_s is not None else self._rate(found, begun=bool(mine))
        if rate is None or len(mine) >= self.most_cells:
            return None
        return at_rate(self.cell, rate, 1 + sum(rate_of(step) == rate for step in mine))

    def own(self, done: Iterable[Record]) -> list[Record]:
        """The records of this search."""
        name = search_of(self.cell.id)
        return [record for record in done if is_step(record) and search_of(record.cell.id) == name]

    def _rate(self, found: Bracket, *, begun: bool) -> float | None:
        first = float(self.cell.axes.rate_per_s or 0.0)
        low, high = found.bears_per_s, found.fails_per_s
        if not begun:
            return first
        if found.not_run is not None:
            return None
        if low is None:
            reached = high is None or high * 2**MOST_HALVINGS < 1.5 * first  # rates are rounded
            return None if reached else _three_digits((high or 0.0) / 2)
        if high is None:
            return None if low >= self.most_per_s else min(_three_digits(2 * low), self.most_per_s)
        return _three_digits(sqrt(low * high)) if high > RESOLUTION * low else None


class KneePlan:
    """Several searches by turns, every other turn backwards: what drifts while they run touches all alike,
    and so does an interruption."""

    def __init__(self, searches: Sequence[Search]) -> None:
        self.searches = tuple(searches)

    def next(self, done: Sequence[Record]) -> Cell | None:
        """The next cell of the search that has had the fewest."""
        ready: list[tuple[int, int, Cell]] = []
        for place, one in enumerate(self.searches):
            if (cell := one.next(done)) is not None:
                turn = len(one.own(done))
                ready.append((turn, -place if turn % 2 else place, cell))
        return min(ready, key=lambda each: each[:2])[2] if ready else None

    def ahead(self, done: Sequence[Record]) -> list[Cell]:
        """As many cells as may be left at most: what rates they will have nobody knows, so each stands for
        the first of its search."""
        left: list[Cell] = []
        for one in self.searches:
            if one.next(done) is not None:
                left += [one.cell] * (one.most_cells - len(one.own(done)))
        return left


def search(
    cell: Cell,
    bound_ms: float = BOUND_MS,
    start_per_s: float | None = None,
    most_cells: int = MOST_CELLS,
) -> Search:
    """The search for the knee of a cell, whose workload and axes it keeps.

    start_per_s: the rate to begin with, the workload's own if None. Raises UserError for a load in which a
    rate cannot be sought.
    """
    _check(cell, bound_ms)
    if not 1 <= most_cells <= MOST_CELLS:
        raise UserError(f"most_cells is {most_cells:,}; it must be from 1 to {MOST_CELLS}")
    step = msgspec.structs.replace(cell, knee_bound_ms=bound_ms, memory=False, repetition=1)
    at_rate(step, cell.calls).load()  # the workload's own word on a rate, before the first one is reckoned
    # Tokens of a call nearer than one grain of the timers that pace them would come together.
    most = int(min(MOST_PER_S, cell.calls * 1000 / cell.grain_ms))
    most = next((less for halved in range(32) if _fits(at_rate(step, less := most >> halved))), 0)
    first = start_per_s if start_per_s is not None else 1000 * cell.calls / cell.load().gap_ms.median
    if not 0 < first <= most:
        raise UserError(
            f"start_per_s is {first:,.10g}; for {cell.calls:,} calls it must be above 0, and {most:,} at most"
        )
    return Search(cell=at_rate(step, _three_digits(first)), most_per_s=most, most_cells=most_cells)


def at_rate(cell: Cell, rate_per_s: float, repetition: int = 1) -> Cell:
    """The cell at this rate."""
    rate = int(rate_per_s) if rate_per_s == int(rate_per_s) else rate_per_s
    axes = msgspec.structs.replace(cell.axes, rate_per_s=rate)
    return msgspec.structs.replace(cell, axes=axes, repetition=repetition)


def _check(cell: Cell, bound_ms: float) -> None:
    if LATE not in {metric.path for metric in lane(cell.lane).metrics}:
        raise UserError(f"lane {cell.lane} has no {LATE}, so no knee; a knee is sought in the io lane")
    for axis in (RATE, "gap_ms", "tokens"):
        if getattr(cell.axes, axis) is not None:
            raise UserError(
                f"{axis} cannot be set for a knee search, which sets the rate itself; leave it out"
            )
    if not 0 < bound_ms <= 60_000:
        raise UserError(f"bound_ms is {bound_ms:,}; it must be above 0, and 60,000 at most")
    if cell.load().arrival not in TOGETHER:
        raise UserError(
            f"workload {cell.workload} lets calls come and go, and a knee is sought with all in flight; name "
            "steady, lockstep, paced or lesson"
        )
    if cell.width is not None and cell.width < cell.calls:
        raise UserError(
            f"{cell.backend} keeps {cell.width:,} of {cell.calls:,} calls in flight, and a knee is sought "
            f"with all; set width={cell.calls}, or another backend"
        )


def _fits(cell: Cell) -> bool:
    """Whether its tokens are no more than one cell may have."""
    try:
        cell.load()
    except UserError:
        return False
    return True


def _three_digits(rate_per_s: float) -> float:
    """Nobody wants to read more, and the resolution is coarser."""
    return float(f"{rate_per_s:.3g}")
