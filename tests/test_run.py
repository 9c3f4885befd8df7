"""Plan, runner and journal together, with a fake measurement: no process, no clock."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import record as made_record
from streamlanes import journal as journal_module
from streamlanes.cells import Cell
from streamlanes.errors import UserError
from streamlanes.journal import Journal, open_run, read_records
from streamlanes.plan import FixedPlan, ordered
from streamlanes.record import CellInfo, Record, Status, StatusName, encode
from streamlanes.runner import run

INFO = {"schema": "streamlanes.run/1", "hash": "abc", "profile": {"name": "test"}}


def cells(backends: str = "asyncio uvloop threads", repeats: int = 2) -> list[Cell]:
    return [
        Cell(lane="io", backend=name, client="timer", workload="steady", calls=10, repetition=repetition)
        for repetition in range(1, repeats + 1)
        for name in backends.split()
    ]


def measured(cell: Cell) -> Record:
    info = CellInfo(
        cell.id, cell.lane, cell.backend, cell.client, cell.workload, cell.calls, cell.repetition, {}
    )
    return Record(cell=info, machine={}, status=Status(StatusName.OK))


class Quiet:
    """Progress that notes the order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self, cell: Cell) -> None:
        self.told.append(f"begin {cell.id}")

    def end(self, cell: Cell, record: Record) -> None:
        self.told.append(f"end {record.cell.id}")


def nothing_left(done: Sequence[Record]) -> bool:
    return False


def cells_left(done: Sequence[Record]) -> bool:
    return FixedPlan(cells(), 1).next(done) is not None


def opened(folder: Path) -> Journal:
    return open_run(folder, folder / "run", INFO, nothing_left)[0]


def test_a_run_measures_every_cell_once_and_writes_as_it_goes(tmp_path: Path):
    plan, journal, progress = FixedPlan(cells(), 1), opened(tmp_path), Quiet()
    on_disk: list[int] = []

    def measure(cell: Cell) -> Record:
        on_disk.append(len(read_records(tmp_path / "run" / "records.jsonl")[0]))
        return measured(cell)

    run(plan, journal, measure, progress)
    journal.close()
    assert [record.cell.id for record in journal.records] == [cell.id for cell in plan.cells]
    assert on_disk == [0, 1, 2, 3, 4, 5]
    assert progress.told[:2] == [f"begin {plan.cells[0].id}", f"end {plan.cells[0].id}"]
    assert plan.next(journal.records) is None


def test_blocks_hold_every_cell_once_and_the_next_goes_backwards():
    order = ordered(cells("a b c d e f", repeats=3), seed=7)
    blocks = [[cell.backend for cell in order if cell.repetition == r] for r in (1, 2, 3)]
    assert [cell.repetition for cell in order] == [1] * 6 + [2] * 6 + [3] * 6
    assert sorted(blocks[0]) == list("abcdef")
    assert blocks[1] == blocks[0][::-1]
    assert blocks[2] == blocks[0]
    assert blocks[0] != list("abcdef"), "the order is drawn, not the profile's"
    assert [cell.id for cell in ordered(cells("a b c d e f", 3), 7)] == [cell.id for cell in order]
    assert any(ordered(cells("a b c d e f", 3), seed)[0].backend != order[0].backend for seed in range(8))


@given(stop_after=st.lists(st.integers(0, 4), max_size=6))
def test_interrupted_at_any_cell_it_goes_on_and_repeats_nothing(
    tmp_path_factory: pytest.TempPathFactory, stop_after: list[int]
):
    folder = tmp_path_factory.mktemp("run")
    count: dict[str, int] = {}
    for limit in [*stop_after, 99]:
        journal = opened(folder)
        left = limit

        def measure(cell: Cell) -> Record:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            count[cell.id] = count.get(cell.id, 0) + 1
            return measured(cell)

        try:
            run(FixedPlan(cells(), 3), journal, measure, Quiet())
        except KeyboardInterrupt:
            pass
        finally:
            journal.close()
    assert count == {cell.id: 1 for cell in cells()}
    assert len(read_records(folder / "run" / "records.jsonl")[0]) == 6


def test_a_line_cut_in_the_middle_is_measured_again(tmp_path: Path):
    journal = opened(tmp_path)
    run(FixedPlan(cells(repeats=1), 1), journal, measured, Quiet())
    journal.close()
    path = tmp_path / "run" / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    journal = opened(tmp_path)
    assert len(journal.records) == 2
    again: list[str] = []
    run(
        FixedPlan(cells(repeats=1), 1), journal, lambda cell: again.append(cell.id) or measured(cell), Quiet()
    )
    journal.close()
    assert len(again) == 1
    assert len(read_records(path)[0]) == 3
    assert path.read_bytes().endswith(b"\n")


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    line = encode(measured(cells()[0]))
    path.write_bytes(line + b'{"schema": \n' + line)
    with pytest.raises(UserError, match="line 2"):
        read_records(path)


def test_two_runs_on_one_folder_are_refused(tmp_path: Path):
    journal = opened(tmp_path)
    with pytest.raises(UserError, match="in use"):
        opened(tmp_path)
    journal.close()
    opened(tmp_path).close()


def test_a_full_disk_loses_nothing_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    journal = opened(tmp_path)
    plan = FixedPlan(cells(), 1)
    journal.append(measured(plan.cells[0]))

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"No space left.*1 records are kept"):
        run(plan, journal, measured, Quiet())
    journal.close()
    monkeypatch.undo()
    assert [each.cell.id for each in read_records(tmp_path / "run" / "records.jsonl")[0]] == [
        plan.cells[0].id
    ]
    journal = opened(tmp_path)
    run(plan, journal, measured, Quiet())
    journal.close()
    assert len(journal.records) == 6


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_really_full_device_is_one_line(tmp_path: Path):
    journal = opened(tmp_path)
    journal._file.close()
    journal._file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115  # the journal closes it
    with pytest.raises(UserError, match="cannot write"):
        journal.append(measured(cells()[0]))
    journal.close()


def test_without_out_an_unfinished_run_of_the_same_hash_is_continued(tmp_path: Path):
    journal, continued = open_run(tmp_path, None, INFO, cells_left)
    assert not continued
    journal.append(measured(cells()[0]))
    journal.close()
    other, continued = open_run(tmp_path, None, {**INFO, "hash": "other"}, cells_left)
    assert not continued
    assert other.folder != journal.folder
    other.close()
    again, continued = open_run(tmp_path, None, INFO, cells_left)
    assert continued
    assert again.folder == journal.folder
    run(FixedPlan(cells(), 1), again, measured, Quiet())
    again.close()
    fresh, continued = open_run(tmp_path, None, INFO, cells_left)
    assert not continued, "a finished run starts a new one"
    assert fresh.folder not in (journal.folder, other.folder)
    fresh.close()


def test_the_same_command_twice_at_once_is_refused(tmp_path: Path):
    journal, _ = open_run(tmp_path, None, INFO, cells_left)
    with pytest.raises(UserError, match="in use"):
        open_run(tmp_path, None, INFO, cells_left)
    journal.close()


def test_out_takes_the_same_run_and_refuses_another(tmp_path: Path):
    opened(tmp_path).close()
    with pytest.raises(UserError, match="another run"):
        open_run(tmp_path, tmp_path / "run", {**INFO, "hash": "other"}, nothing_left)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        open_run(tmp_path, tmp_path / "mine", INFO, nothing_left)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot use"):
        open_run(tmp_path, tmp_path / "file" / "run", INFO, nothing_left)


def test_latest_is_a_relative_link_to_the_newest(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        journal_module.link_latest(tmp_path, tmp_path / "runs" / name)
    assert os.readlink(tmp_path / "latest") == "runs/two"


def test_records_of_another_schema_are_refused(tmp_path: Path):
    line = encode(made_record()).replace(b"streamlanes.cell/1", b"streamlanes.cell/9")
    (tmp_path / "records.jsonl").write_bytes(line + encode(made_record()))
    with pytest.raises(UserError, match="cell/9"):
        read_records(tmp_path / "records.jsonl")
