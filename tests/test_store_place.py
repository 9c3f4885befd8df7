"""Where a cell's steps are kept: what is left where its server is away."""

import pytest

from streamlanes.cells import Axes, Cell
from streamlanes.hearing import CellEnded
from streamlanes.local_postgres import VARIABLE
from streamlanes.record import Status, StatusName
from streamlanes.store_place import store_place

NOBODY = "postgresql://me:secret@127.0.0.1:1/x"


def test_a_server_that_is_away_does_not_hide_why_the_cell_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, NOBODY)
    axes = Axes(store="postgres")
    asked = Cell(lane="durable", backend="asyncio", client="none", workload="documents", calls=1, axes=axes)
    why = CellEnded(Status(StatusName.CRASHED, "no PostgreSQL at 127.0.0.1:1/x"))
    with pytest.raises(CellEnded) as ended, store_place(asked):
        raise why
    assert ended.value is why
