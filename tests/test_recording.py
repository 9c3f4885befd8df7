"""Records: complete, null with a reason, strict JSON."""

import json

import pytest

from facts_made import facts, schedule, timed
from streamlanes.cells import Axes, Cell
from streamlanes.lanes.io import LANE
from streamlanes.record import Record, Status, StatusName, decode, encode
from streamlanes.recording import failed, record

CELL = Cell(lane="io", backend="asyncio", client="streams", workload="steady", calls=20)


def leaves(group: dict[str, object], above: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in group.items():
        path = f"{above}.{name}"
        found |= leaves(value, path) if isinstance(value, dict) else {path: value}
    return found


def all_figures(made: Record) -> dict[str, object]:
    groups = ("time", "latency", "memory", "counts", "work", "gc")
    return {path: value for name in groups for path, value in leaves(getattr(made, name), name).items()}


@pytest.mark.parametrize(
    "made",
    [
        record(CELL, LANE, {}, facts()),
        record(CELL, LANE, {}, facts(memory="not read", drained=False)),
        record(CELL, LANE, {}, facts(timed=timed(schedule(), with_provider=False, gc={}))),
        failed(CELL, LANE, {}, Status(StatusName.CRASHED, "it died")),
    ],
)
def test_every_null_has_its_reason_and_every_reason_its_null(made: Record):
    figures = all_figures(made)
    assert {path for path, value in figures.items() if value is None} == set(made.missing)
    assert set(made.quality) <= {path for path, value in figures.items() if value is not None}
    assert {metric.path for metric in LANE.metrics} <= set(figures)
    assert decode(encode(made)) == made
    json.loads(encode(made), parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))


def test_a_good_cell_is_ok():
    made = record(CELL, LANE, {"cpu": "x"}, facts())
    assert made.status == Status(StatusName.OK)
    assert made.clean
    assert made.cell.axes["seed"] == 1
    assert made.figure("latency.stream_ms.p99") == pytest.approx(0.75)


def test_a_cell_with_failed_calls_is_not_clean_and_has_no_wall():
    pass_ = timed(schedule())
    pass_.calls.outcome[:8] = 2
    made = record(CELL, LANE, {}, facts(timed=pass_))
    assert not made.clean
    for name in ("wall_s", "overrun_s", "efficiency"):
        assert made.time[name] is None
    assert "8 of 20 calls did not end ok" in made.missing["time.wall_s"]
    assert made.latency["lateness_ms"]["count"] == 12 * 81


def test_over_budget_says_how_far_it_came():
    pass_ = timed(schedule())
    pass_.calls.received[::2] = 0
    pass_.calls.end[5:] = 0
    made = record(CELL, LANE, {}, facts(timed=pass_, drained=False))
    assert made.status.name is StatusName.OVER_BUDGET
    assert "50% of the tokens, 5 of 20 calls" in made.status.reason
    assert made.time["wall_s"] is None
    assert not made.clean


def test_a_pool_that_cannot_finish_is_over_budget_by_design():
    full, head = schedule(20), schedule(20).head(8)
    cell = Cell(
        lane="io", backend="thread-pool", client="streams", workload="steady", calls=20, axes=Axes(width=4)
    )
    made = record(cell, LANE, {}, facts(head, calls=20, full_schedule=full, width=4, timed=timed(head)))
    assert made.status.name is StatusName.OVER_BUDGET
    assert "8 of 20 calls" in made.status.reason
    assert made.cell.axes["width"] == 4
    assert made.time["projected_wall_s"] is not None


def test_axes_hold_what_really_ran():
    pass_ = timed(schedule(), interpreter={"switch_ms": 5.0, "stack_kib": 8192, "start_method": "fork"})
    made = record(CELL, LANE, {}, facts(timed=pass_))
    assert made.cell.axes["switch_ms"] == 5.0
    assert made.cell.axes["stack_kib"] == 8192
