"""Which cells are measured once more, and for how long."""

from collections.abc import Sequence

from records import record
from streamlanes.cells import Cell
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.spares import Spares

CELLS = [
    Cell(lane="io", backend=backend, client="streams", workload="steady", calls=2000, repetition=r)
    for r in (1, 2, 3)
    for backend in ("asyncio", "uvloop")
]
NOISY = [FlagName.NOISY_HOST]


def done(*spoilt: tuple[str, int]) -> list[Record]:
    return [
        record(
            cell.backend,
            repetition=cell.repetition,
            flags=NOISY if (cell.backend, cell.repetition) in spoilt else (),
        )
        for cell in CELLS
    ]


def ids(cells: Sequence[Cell]) -> list[str]:
    return [cell.id for cell in cells]


def test_a_spoilt_repetition_has_another_in_its_place():
    [spare] = Spares(CELLS, 1).ahead(done(("uvloop", 2)))
    assert spare.id == "io/uvloop/streams/steady/2000/r4"
    assert not spare.memory, "memory was read in repetition 1"


def test_no_more_than_the_most_and_no_more_than_were_spoilt():
    once, twice = Spares(CELLS, 1), Spares(CELLS, 2)
    spoilt = done(("uvloop", 1), ("uvloop", 2))
    spoilt.append(record("uvloop", repetition=4))
    assert once.ahead(spoilt) == []
    assert ids(twice.ahead(spoilt)) == ["io/uvloop/streams/steady/2000/r5"]
    spoilt.append(record("uvloop", repetition=5, flags=NOISY))
    assert twice.ahead(spoilt) == []
    assert ids(Spares(CELLS, 3).ahead(spoilt)) == ["io/uvloop/streams/steady/2000/r6"]


def test_what_the_backend_did_itself_is_not_measured_again():
    records = done()
    records[0] = record("asyncio", flags=[FlagName.CLIENT_LIMITED])
    records[1] = record("uvloop", status=StatusName.OVER_BUDGET, flags=NOISY)
    assert Spares(CELLS, 1).next(records) is None


def test_nothing_is_due_before_the_cells_themselves_are_measured():
    spoilt = done(("uvloop", 1))
    assert Spares(CELLS, 1).ahead([]) == []
    assert Spares(CELLS, 1).ahead(spoilt[:-1]) == []
    assert Spares(CELLS, 0).ahead(spoilt) == []


def test_a_cell_that_is_measured_once_has_no_spare():
    assert Spares(CELLS[:1], 1).ahead([record("asyncio", flags=NOISY)]) == []
