"""Places of a lane that are made up: what a pass has beside its cell."""

import contextlib
from collections.abc import Iterator

from streamlanes.cells import Cell
from streamlanes.errors import UserError
from streamlanes.lanes.base import Place

GONE: list[str] = []


@contextlib.contextmanager
def somewhere(cell: Cell) -> Iterator[Place]:
    yield Place(told={"where": cell.backend})
    GONE.append(cell.backend)


@contextlib.contextmanager
def nowhere(cell: Cell) -> Iterator[Place]:
    raise UserError("no server in /srv/data/here: start one")
    yield Place()
