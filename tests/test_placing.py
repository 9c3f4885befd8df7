"""What a pass has beside its cell, and that its absence is a named status."""

from dataclasses import replace

import pytest

from places_made import GONE
from streamlanes.cells import Cell
from streamlanes.hearing import CellEnded
from streamlanes.lanes import lane
from streamlanes.lanes.base import Place
from streamlanes.placing import placed_for
from streamlanes.record import StatusName

CELL = Cell(lane="io", backend="asyncio", client="timer", workload="steady", calls=1)


def test_a_lane_without_a_place_has_an_empty_one():
    with placed_for(lane("io"), CELL) as found:
        assert found == Place()


def test_a_place_is_gone_after_its_pass():
    GONE.clear()
    with placed_for(replace(lane("io"), place="places_made:somewhere"), CELL) as found:
        assert dict(found.told) == {"where": "asyncio"}
        assert GONE == []
    assert GONE == ["asyncio"]


def test_what_cannot_be_had_is_an_ending_and_names_no_folder():
    none = replace(lane("io"), place="places_made:nowhere")
    with pytest.raises(CellEnded) as ended, placed_for(none, CELL):
        pass
    assert ended.value.status.name is StatusName.UNSUPPORTED
    assert ended.value.status.reason == "no server in here: start one"
