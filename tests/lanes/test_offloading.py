"""What lanes with CPU work let a person set, and what they say of the rest."""

import sys

import pytest

from streamlanes import estimate
from streamlanes.cells import Axes, Cell, check
from streamlanes.conduct import forbid, need
from streamlanes.errors import UserError
from streamlanes.fitting import crew_of
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import Interpreter
from streamlanes.lanes import LANES, lane
from streamlanes.lanes.base import Crew
from streamlanes.profile_files import load
from streamlanes.record import StatusName
from streamlanes.wishes import Wishes
from streamlanes.workload import build

WORK = {"mixed": {"load": 0.5}}


def cell(name: str = "cpu", **fields: object) -> Cell:
    usual = lane(name).usual
    axes = {**WORK.get(name, {}), **dict(fields.pop("axes", {}))}
    base = {"backend": "asyncio", "client": usual.client, "workload": usual.workload, "calls": 40}
    return Cell(lane=name, axes=Axes(**axes), **{**base, **fields})


@pytest.mark.parametrize("name", ["cpu", "mixed"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"axes": {"kernel": "hash-embde"}}, "did you mean 'hash-embed'?"),
        ({"axes": {"kernel": "a:b-c"}}, "names no function"),
        ({"axes": {"kernel": ":f"}}, "names no function"),
        ({"axes": {"workers": 5000}}, "from 1 to 1,000"),
        ({"axes": {"workers": 0}}, "from 1 to 1,000"),
        ({"backend": "process-pool"}, "has processes of its own"),
        ({"backend": "processes+uvloop"}, "has processes of its own"),
        ({"client": "strems"}, "unknown client"),
    ],
)
def test_what_cannot_be_meant_is_said(name: str, fields: dict[str, object], words: str):
    with pytest.raises(UserError) as error:
        check(cell(name, **fields))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (cell("cpu", client="streams"), "client of lane cpu"),
        (cell("cpu", axes={"gap_ms": 3}), "gap_ms means nothing to lane cpu"),
        (cell("cpu", axes={"load": 0.5}), "load means nothing to lane cpu; it is for lane mixed"),
        (cell("cpu", backend="threads", axes={"batch": 4, "offload": "threads"}), "leave batch out"),
        (cell("mixed", axes={"work_ms": 5}), "set the same thing"),
        (cell("mixed", workload="lesson"), "take -w flow"),
        (cell("mixed", axes={"batch": 3}), "batch means nothing to lane mixed"),
        (cell("mixed", axes={"load": 100}), "from 0 to 64"),
        (Cell(lane="mixed", backend="asyncio", client="streams", workload="flow", calls=4), "needs its work"),
        (
            Cell(
                lane="io", backend="asyncio", client="timer", workload="steady", calls=4,
                axes=Axes(kernel="tokenize"),
            ),
            "kernel means nothing to lane io; it is for lane",
        ),
    ],
)  # fmt: skip
def test_what_a_lane_does_not_have_is_said(made: Cell, words: str):
    with pytest.raises(UserError) as error:
        check(made)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["cpu", "mixed"])
def test_what_is_usual_can_be_meant(name: str):
    cells = Wishes(lane=name).applied(load("quick")).expand()
    assert {each.lane for each in cells} == {name}
    assert {each.axes.offload for each in cells} == {"inline", "threads", "processes"}
    assert all(estimate.seconds(each) > 0 for each in cells)


def test_the_profile_of_both_lanes_can_be_meant():
    cells = load("work").expand()
    assert {each.lane for each in cells} == {"cpu", "mixed"}
    assert {each.axes.start_method for each in cells} == {None, "fork", "forkserver", "spawn"}
    assert sum(map(estimate.seconds, cells)) < 1200


def test_what_is_set_takes_the_place_of_what_is_usual():
    wished = Wishes(lane="mixed", settings={"work_ms": [5, 10], "offload": ["inline"]}, calls=[20])
    cells = wished.applied(load("quick")).expand()
    assert [(each.axes.work_ms, each.axes.load, each.axes.offload) for each in cells] == [
        (5, None, "inline"),
        (10, None, "inline"),
    ]


def test_equal_cells_have_one_name():
    settings = {"offload": ["inline"], "workers": [2], "start_method": ["fork"], "batch": [4]}
    (inline,) = Wishes(lane="cpu", settings=settings).applied(load("quick")).expand()
    assert (inline.axes.workers, inline.axes.start_method, inline.axes.batch) == (None, None, None)
    (threads,) = (
        Wishes(lane="cpu", settings={**settings, "offload": ["threads"]}).applied(load("quick")).expand()
    )
    assert (threads.axes.workers, threads.axes.start_method, threads.axes.batch) == (2, None, 4)


def test_axes_are_resolved():
    one = cell("mixed", axes={"offload": "processes", "workers": 3})
    schedule = build(one.load(), one.calls)
    axes = one.resolved_axes(one.load(), schedule)
    assert (axes["kernel"], axes["offload"], axes["workers"], axes["load"]) == (
        "hash-embed",
        "processes",
        3,
        0.5,
    )
    pace = 39 / (schedule.start_ns.max() / 1e9)
    assert axes["work_ms"] == pytest.approx(500 / pace, abs=0.01)
    two = cell("mixed", axes={"load": None, "work_ms": 10})
    again = two.resolved_axes(two.load(), schedule)
    assert again["load"] == pytest.approx(10 * pace / 1000, abs=0.001)
    documents = cell("cpu")
    found = documents.resolved_axes(documents.load(), build(documents.load(), 40))
    assert all(found[axis] is None for axis in lane("cpu").asks.without)
    assert found["workers"] is None


def test_workers_count_against_the_machines_limits():
    few, many = (need(cell(axes={"offload": "processes", "workers": count}), 40, 128) for count in (1, 100))
    assert many.processes - few.processes == 99
    assert many.descriptors > few.descriptors
    threads = need(cell(axes={"offload": "threads", "workers": 50}), 40, 128)
    assert threads.threads == 50
    assert crew_of(cell("mixed")) == Crew(extra="cpu")


def test_what_a_kernel_or_an_offload_needs_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CellEnded, match=r"tiktoken is not installed.*streamlanes\[cpu\]"):
        forbid(cell(axes={"kernel": "tokenize"}))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python has them")
def test_a_python_without_subinterpreters_says_which_has_them():
    with pytest.raises(CellEnded, match=r"need Python 3\.14 or newer") as ended:
        forbid(cell(axes={"offload": "interpreters"}))
    assert ended.value.status.name is StatusName.UNSUPPORTED


def test_an_interpreter_says_what_it_lacks():
    old = Interpreter(path="p", name="cpython-3.12.1", lacks={"tiktoken": "ModuleNotFoundError"})
    assert "3.14 or newer" in (old.forbids_crew(Crew(since=(3, 14))) or "")
    assert "tiktoken cannot be imported" in (old.forbids_crew(Crew(needs=("tiktoken",), extra="cpu")) or "")
    assert old.forbids_crew(Crew(needs=("numpy",))) is None


def test_lanes_do_not_share_names_of_columns():
    for name in LANES:
        assert len(set(lane(name).columns)) == len(lane(name).columns)
