"""Repetitions in place of those that the host disturbed. Pure.

A shared machine spoils a cell now and then; what was spoilt enters no ratio and meets no threshold, so
a run may have a few repetitions to spare. A disturbed record stays and is drawn as what it is. A cell
that is measured once is in no ratio with an interval, and has no spare.
"""

from collections.abc import Iterable, Sequence

import msgspec

from streamlanes.cells import Cell
from streamlanes.knee import disturbed
from streamlanes.record import Record, StatusName


class Spares:
    """The plan that follows on a list of cells.

    most: further repetitions of one cell at the most. Memory is read in the first repetition, whatever
    the noise, so a spare one has no memory pass.
    """

    def __init__(self, cells: Iterable[Cell], most: int) -> None:
        self._most = most
        self._repetitions: dict[str, list[Cell]] = {}
        for cell in cells:
            self._repetitions.setdefault(_whose(cell.id), []).append(cell)

    def next(self, done: Sequence[Record]) -> Cell | None:
        """The first spare repetition that is due."""
        return next(iter(self.ahead(done)), None)

    def ahead(self, done: Sequence[Record]) -> list[Cell]:
        """The next spare repetition of every cell that is to have one, in the order of the cells."""
        if not self._most:
            return []
        records: dict[str, list[Record]] = {}
        for record in done:
            records.setdefault(_whose(record.cell.id), []).append(record)
        found = (self._spare(cells, records.get(whose, [])) for whose, cells in self._repetitions.items())
        return [cell for cell in found if cell is not None]

    def _spare(self, cells: list[Cell], measured: list[Record]) -> Cell | None:
        spent = len(measured) - len(cells)  # below 0 while the cells themselves are not all measured
        spoilt = sum(record.status.name is StatusName.OK and disturbed(record) for record in measured)
        if len(cells) == 1 or not 0 <= spent < min(self._most, spoilt):
            return None
        again = max(cell.repetition for cell in cells) + spent + 1
        return msgspec.structs.replace(cells[0], repetition=again, memory=False)


def _whose(cell_id: str) -> str:
    """A cell's identity without its repetition."""
    return cell_id.rpartition("/")[0]
