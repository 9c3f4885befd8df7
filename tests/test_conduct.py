"""What is decided around a measurement: forbidden cells, warm-ups."""

import importlib.util
from pathlib import Path

import msgspec
import pytest

from streamlanes import conduct, limits
from streamlanes.backends import BACKENDS, Waits
from streamlanes.cells import Axes, Cell, check
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import Interpreter
from streamlanes.lanes.io import LANE
from streamlanes.profile import CellsTable, Profile, RunTable
from streamlanes.record import Status, StatusName

CELL = Cell(lane="io", backend="threads", client="streams", workload="steady", calls=2000)
HERE = conduct.Here(LANE, {})


class FakeBench:
    """A bench that notes what it was given and ends every cell."""

    def __init__(self) -> None:
        self.given: list[Cell] = []

    def measure(self, cell: Cell) -> object:
        self.given.append(cell)
        raise CellEnded(Status(StatusName.CRASHED, "fake"))


def test_each_backend_is_warmed_once_with_a_small_cell():
    bench = FakeBench()
    measure = conduct.Measure(bench, HERE, warmup=True)
    assert measure(CELL).status == Status(StatusName.CRASHED, "fake")
    measure(CELL)
    sizes = [(cell.calls, cell.workload, cell.memory) for cell in bench.given]
    assert sizes == [(50, "lesson", False), (2000, "steady", True), (2000, "steady", True)]


def test_each_client_of_a_backend_is_warmed():
    bench = FakeBench()
    measure = conduct.Measure(bench, HERE, warmup=True)
    for client in ("streams", "floor", "streams"):
        measure(msgspec.structs.replace(CELL, client=client))
    assert [cell.client for cell in bench.given if cell.workload == "lesson"] == ["streams", "floor"]


def test_a_backend_is_warmed_under_each_interpreter():
    bench = FakeBench()
    pythons = {name: Interpreter(path=f"/{name}", name=name) for name in ("cpython-3.12.1", "cpython-3.13.0")}
    measure = conduct.Measure(bench, conduct.Here(LANE, {}, pythons), warmup=True)
    cells = [msgspec.structs.replace(CELL, axes=Axes(python=name)) for name in pythons]
    for cell in [*cells, *cells]:
        measure(cell)
    assert [cell.axes.python for cell in bench.given if cell.workload == "lesson"] == list(pythons)


def test_without_warm_up_only_the_cell_is_measured():
    bench = FakeBench()
    conduct.Measure(bench, HERE, warmup=False)(CELL)
    assert bench.given == [CELL]


def test_a_warm_up_keeps_what_makes_the_backend_what_it_is():
    cell = Cell(
        lane="io",
        backend="threads",
        client="floor",
        workload="steady",
        calls=10,
        axes=Axes(stack_kib=256, rate_per_s=9000),
    )
    small = conduct.warming(cell)
    assert (small.backend, small.client, small.calls) == ("threads", "floor", 10)
    assert small.axes.stack_kib == 256
    assert small.axes.rate_per_s is None


def test_a_library_that_is_not_there_forbids_its_backend(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    cell = Cell(lane="io", backend="uvloop", client="timer", workload="steady", calls=10)
    with pytest.raises(CellEnded) as ended:
        conduct.forbid(cell)
    assert ended.value.status.name is StatusName.UNSUPPORTED
    assert "pip install uvloop" in str(ended.value.status.reason)


def test_a_client_that_does_not_fit_its_backend_is_forbidden_before_anything_starts():
    with pytest.raises(CellEnded) as ended:
        conduct.forbid(Cell(lane="io", backend="asyncio", client="requests", workload="steady", calls=10))
    assert ended.value.status.name is StatusName.UNSUPPORTED
    assert "no asynchronous form" in str(ended.value.status.reason)


def test_a_limit_forbids_a_cell_before_it_starts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "read_limits", lambda: limits.Limits(nofile_soft=256, nofile_hard=256))
    with pytest.raises(CellEnded) as ended:
        conduct.forbid(CELL)
    assert str(ended.value.status.reason).startswith("nofile")


def test_calls_that_come_and_go_are_held_to_the_schedules_peak(monkeypatch: pytest.MonkeyPatch):
    """A chat of 2,000 calls has some 450 in flight; compressed into no time it has all of them."""
    monkeypatch.setattr(limits, "read_limits", lambda: limits.Limits(nofile_soft=1024, nofile_hard=1024))
    chat = Cell(lane="io", backend="threads", client="streams", workload="chat", calls=2000)
    conduct.forbid(chat)
    with pytest.raises(CellEnded) as ended:
        conduct.forbid(msgspec.structs.replace(chat, axes=Axes(time_scale=1e6)))
    assert str(ended.value.status.reason).startswith("nofile: 2064")


def test_a_warm_up_is_no_replay():
    cell = Cell(
        lane="io", backend="asyncio", client="streams", workload="chat", calls=9, axes=Axes(time_scale=3)
    )
    check(conduct.warming(cell))


def test_functions_are_asked_before_backends_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "agent.py").write_text("def answer(base_url, prompt): yield ''\n")
    monkeypatch.chdir(tmp_path)
    table = CellsTable(client="call", call="agent:answer", workload="lesson", calls=[5])
    plan, functions = conduct._planned(Profile(cells=[table]), {}, {})
    assert {cell.backend for cell in plan.ahead([])} == {
        name for name, info in BACKENDS.items() if info.waits is Waits.BLOCKING
    }
    assert [found.form for found in functions.values()] == ["generator"]


def test_more_spare_repetitions_go_on_with_the_same_run():
    table = CellsTable(backends=["asyncio"], client="timer", workload="lesson", calls=[10])
    profiles = [Profile(run=RunTable(spares=spares), cells=[table]) for spares in (0, 3)]
    infos = [conduct._info(profile, profile.plan({}).ahead([]), HERE) for profile in profiles]
    assert infos[0]["hash"] == infos[1]["hash"]
    assert infos[1]["profile"]["spares"] == 3
