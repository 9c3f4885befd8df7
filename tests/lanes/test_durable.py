"""What a cell of the durable lane may ask and is told, and what its records come to in words."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from executions_made import EXECUTIONS, SAID, STEPS, made
from facts_made import MS
from streamlanes.cells import Axes, Cell, check
from streamlanes.durable.architectures import ARCHITECTURES
from streamlanes.durable.points import OF_STEPS
from streamlanes.errors import UserError
from streamlanes.estimate import seconds
from streamlanes.lanes import lane
from streamlanes.lanes.durable import LANE
from streamlanes.lanes.durable_asks import STORES
from streamlanes.profile_files import load, parse
from streamlanes.provider.behaviour import Behaviour
from streamlanes.record import Record, StatusName
from streamlanes.recording import record
from streamlanes.report import style
from streamlanes.series import Line
from streamlanes.workload import build


def cell(store: str | None = "sqlite-full", backend: str = "asyncio", client: str = "none", **axes: object):
    return Cell(
        lane="durable", backend=backend, client=client, workload="documents", calls=EXECUTIONS,
        axes=Axes(store=store, **axes),
    )  # fmt: skip


def recorded(rate: float = 1.0, **axes: object) -> Record:
    """A record whose clock ran so many times as fast."""
    found = made()
    readings = tuple(replace(each, done=round(each.done * rate)) for each in found.timed.readings)
    return record(cell(**axes), LANE, {}, replace(found, timed=replace(found.timed, readings=readings)))


def test_the_record_has_its_own_group_and_the_answer_its_lines():
    found = recorded()
    assert found.status.name is StatusName.OK
    assert found.flags == []
    assert found.durable["lost"] == 0
    assert found.cell.axes["store"] == "sqlite-full"
    assert found.cell.axes["run_s"] == 12
    assert "cpu" not in msgspec.to_builtins(found)
    assert LANE.answer is not None
    said = LANE.answer([found, recorded(0.1, group_commit=False), recorded(20.0, store="none")])
    assert said == [
        "DURABLE 4 executions of bare steps under asyncio, steps/s: none 8,000 (acknowledged p99 3.0 ms), "
        "sqlite-full 400 (acknowledged p99 3.0 ms); a sync takes 250 us here",
        "        group commit over a commit a step, 4 executions of bare steps under asyncio: "
        "sqlite-full 10.0x",
        "        of 2,400 steps acknowledged: 0 lost, 0 duplicated",
    ]


def test_what_is_so_anyway_makes_no_other_cell():
    text = b"""
    [run]
    lane = "durable"
    [[cells]]
    backends = ["asyncio"]
    client = "none"
    workload = "documents"
    calls = [5]
    sweep = { store = ["none", "sqlite-full"], group_commit = [true], sync_ms = [0, 2] }
    """
    ids = [each.id for each in parse(text, "t.toml", "t").expand()]
    assert ids == [
        "durable/asyncio/none/documents/5/store=none/r1",
        "durable/asyncio/none/documents/5/store=sqlite-full/r1",
        "durable/asyncio/none/documents/5/store=sqlite-full/sync_ms=2/r1",
    ]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"store": "sqlite"}, "unknown store 'sqlite'"),
        ({"architecture": "checkpoint"}, "did you mean 'checkpoints'"),
        (
            {"architecture": "rows", "store": "sqlite-normal"},
            "rows has no store sqlite-normal; it is for postgres: add --set store=postgres",
        ),
        ({"architecture": "rows", "store": None}, "rows has no store sqlite-full; it is for postgres: add"),
        ({"architecture": "queue", "store": "none"}, "sqlite, postgres: add --set store=sqlite-normal"),
        ({"sync_ms": 101}, "sync_ms is 101; it must be from 0 to 100"),
        ({"steps": 0}, "steps is 0; it must be from 1"),
        ({"tokens": 5}, "tokens means nothing to steps that do nothing; name a client"),
        ({"backend": "thread-pool"}, "lane durable takes asyncio, uvloop or threads, not thread-pool"),
        ({"kernel": "tokenize"}, "kernel means nothing to lane durable"),
    ],
)
def test_what_cannot_be_meant_is_said(asked: dict[str, object], words: str):
    with pytest.raises(UserError, match=words):
        check(cell(**asked))


def test_a_job_is_told_all_it_needs():
    asked = cell("sqlite-normal", "threads", "timer", group_commit=False, sync_ms=2, steps=7)
    check(asked)
    asks = LANE.asks
    assert asks is not None
    assert asks.setting(asked, build(asked.load(), asked.calls)) == {
        "store": "sqlite",
        "synchronous": "normal",
        "grouped": False,
        "sync_ms": 2.0,
        "architecture": "checkpoints",
        "steps": 7,
        "run_s": None,
        "state_bytes": 1024,
        "retry": "none",
        "waits": "blocking",
        "bare": False,
    }
    assert asks.crew(cell("postgres")).needs == ("psycopg", "psycopg_pool")
    assert lane("durable").lasts_s(cell(run_s=3)) == 3


def test_every_store_has_a_look_of_its_own():
    assert set(style.STORES) == set(STORES)
    assert len({one.colour for one in style.STORES.values()}) == len(STORES)


def test_retry_is_for_steps_that_call():
    assert LANE.asks is not None
    check(cell(client="streams", retry="backoff"))
    asked = cell(client="streams", retry="backoff")
    assert LANE.asks.setting(asked, build(asked.load(), asked.calls))["retry"] == "backoff"
    with pytest.raises(UserError, match="retry means nothing to steps that do nothing; name a client"):
        check(cell(retry="backoff"))


def test_several_architectures_are_told_apart_by_what_breaks_first():
    assert LANE.answer is not None
    slow = made({"ack": np.full(EXECUTIONS * STEPS, 150 * MS)})
    queue = record(cell(architecture="queue"), LANE, {}, slow)
    said = LANE.answer([recorded(), queue])
    assert "        checkpoints on sqlite-full holds 4, the most that were tried" in said
    assert "        queue on sqlite-full breaks at 4: acknowledged within 150 ms at p99 (100 at most)" in said
    assert not any("holds" in each for each in LANE.answer([recorded()])), "one has nothing to be told from"


def test_a_storm_in_which_nothing_can_hold_says_so():
    asked = cell(client="streams", architecture="queue", retry="at-once")
    found = made(interpreter={**SAID, "calls_made": 1600})
    ways = [
        record(msgspec.structs.replace(each, provider=Behaviour(limit_per_s=0.5)), LANE, {}, found)
        for each in (asked, cell(client="streams", retry="at-once"))
    ]
    assert LANE.answer is not None
    said = [each for each in LANE.answer(ways) if "none can hold" in each]
    start = (
        "        none can hold 4: the provider lets 0.50 calls a second through, and 0.90 of the ideal pace"
    )
    assert [each.startswith(start) for each in said] == [True]


def test_a_storm_says_what_all_the_asking_came_to():
    asked = [cell(client="streams", architecture=way, retry="at-once") for way in ("queue", "replay")]
    none_was_kept_by_all = made({"kept": np.arange(EXECUTIONS)}, interpreter={**SAID, "calls_made": 1600})
    ways = [
        record(
            msgspec.structs.replace(each, provider=Behaviour(limit_per_s=0.5)), LANE, {}, none_was_kept_by_all
        )
        for each in asked
    ]
    assert LANE.answer is not None
    said = LANE.answer(ways)
    assert said[0] == f"DURABLE {EXECUTIONS} executions at once, what breaks first:"
    steps = sum(range(EXECUTIONS))
    assert [f"; {steps} steps kept, {1600 / steps:.0f} calls each" in each for each in said[1:3]] == [
        True
    ] * 2


@pytest.mark.parametrize(
    ("name", "sizes"), [("architectures", {10, 50, 100, 200, 500, 1000}), ("storm", {200})]
)
def test_the_profiles_hold_every_architecture_to_the_same(name: str, sizes: set[int]):
    cells = load(name).expand()
    assert {each.axes.architecture for each in cells} == {"replay", "queue", "actors", "rows"}
    assert {each.calls for each in cells} == sizes
    for each in cells:
        check(each)
    by_way: dict[str | None, set[str]] = {}
    for each in cells:
        same = f"{each.calls} {each.workload} {each.axes.retry} {each.axes.store} {each.provider}"
        by_way.setdefault(each.axes.architecture, set()).add(same)
    assert len({frozenset(each) for each in by_way.values()}) == 1


def test_every_architecture_has_a_look_of_its_own():
    assert set(ARCHITECTURES) <= set(style.ARCHITECTURES)
    assert len({one.colour for one in style.ARCHITECTURES.values()}) == len(style.ARCHITECTURES)
    queue = style.look(Line("asyncio", (("architecture", "queue"),)))
    assert queue == style.ARCHITECTURES["queue"]
    stormed = style.look(Line("asyncio", (("architecture", "queue"), ("retry", "backoff"))))
    assert (stormed.colour, stormed.marker) == (queue.colour, queue.marker)


def test_a_cell_lasts_as_long_as_its_executions_go_on():
    asked = cell(run_s=30)
    plan = build(asked.load(), asked.calls)
    assert asked.budget(plan) == pytest.approx(2 * 30 + LANE.extra_s)
    assert seconds(asked) > 30
    by_steps = cell(steps=5)
    assert by_steps.budget(plan) == pytest.approx(2 * plan.ideal_wall_s + LANE.extra_s)
    assert LANE.lasts_s(cell()) == 12, "10 s and the edges"


def test_the_built_in_profile_asks_for_what_there_is_and_takes_ten_minutes_at_most():
    profile = load("durable")
    made = profile.expand()
    assert {each.lane for each in made} == {"durable", "chaos"}
    assert {each.axes.point for each in made if each.lane == "chaos"} == set(OF_STEPS)
    assert sum(map(seconds, made)) <= 600


def test_every_chart_tells_what_a_sync_takes_here():
    assert {path for chart in LANE.charts for path, _ in chart.told} == {"durable.fsync_us"}
    assert all(chart.told for chart in LANE.charts)
