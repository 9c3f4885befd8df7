"""What executions are held to, and what is said of the first break."""

import msgspec
import pytest

from records import record
from streamlanes.lanes.durable import LANE
from streamlanes.lanes.slo import SLOS, Held, broken, held, line, out_of_reach
from streamlanes.record import FlagName, Record, StatusName

GOOD = {
    "durable.lost": 0,
    "durable.duplicated": 0,
    "counts.job_error": 0,
    "counts.unfinished": 0,
    "counts.cancelled": 0,
    "counts.unaccounted_calls": 0,
    "durable.ack_ms.p99": 12.0,
    "durable.of_ideal": 0.97,
}


def of(calls: int, repetition: int = 1, status: StatusName = StatusName.OK, **changes: object) -> Record:
    figures = {**GOOD, **{path.replace("__", "."): value for path, value in changes.items()}}
    return record(calls=calls, repetition=repetition, lane="durable", status=status, figures=figures)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"durable__lost": 1234}, ["1,234 steps lost"]),
        ({"durable__duplicated": 1}, ["1 steps duplicated"]),
        ({"counts__job_error": 7}, ["7 executions failed"]),
        ({"counts__unfinished": 3}, ["3 executions unfinished"]),
        ({"counts__cancelled": 2}, ["2 executions cancelled"]),
        ({"counts__unaccounted_calls": 1}, ["1 executions never begun"]),
        ({"durable__ack_ms__p99": 182.4}, ["acknowledged within 182 ms at p99 (100 at most)"]),
        ({"durable__ack_ms__p99": 100.0}, []),
        ({"durable__of_ideal": 0.714}, ["0.71 of the ideal pace (0.90 at least)"]),
        ({"durable__of_ideal": None}, []),
        (
            {"durable__of_ideal": 0.5, "durable__lost": 2},
            ["2 steps lost", "0.50 of the ideal pace (0.90 at least)"],
        ),
    ],
)
def test_each_bound_is_broken_by_its_figure_and_the_gravest_is_first(
    changes: dict[str, object], said: list[str]
):
    assert broken(of(10, **changes)) == said


def test_every_way_in_which_an_execution_does_not_end_breaks_a_bound():
    """What a record counts of executions, but how many there were and how many ended well."""
    counted = {each.path for each in LANE.metrics if each.path.startswith("counts.")}
    ends = counted - {"counts.calls", "counts.started", "counts.ok"}
    assert {each.path for each in SLOS if each.path.startswith("counts.")} == ends


def test_a_cell_without_acknowledgements_holds_nothing():
    path = "durable.ack_ms.p99"
    figures = {other: value for other, value in GOOD.items() if other != path}
    made = record(calls=10, lane="durable", figures=figures, missing={path: "an execution kept no step"})
    assert broken(made) == ["nothing acknowledged to judge: an execution kept no step"]


def test_a_cell_that_was_stopped_breaks_by_that():
    assert broken(of(10, status=StatusName.OVER_BUDGET)) == ["over budget"]


def test_the_first_break_ends_what_an_architecture_holds():
    slow = {"durable__ack_ms__p99": 150.0}
    records = [of(10), of(100), of(500, **slow, durable__of_ideal=0.8), of(1000)]
    found = held("queue", records)
    assert (found.holds, found.breaks_at) == (100, 500)
    assert line(found) == (
        "queue holds 100 and breaks at 500: acknowledged within 150 ms at p99 (100 at most); "
        "also 0.80 of the ideal pace (0.90 at least)"
    )
    assert line(held("queue", [of(10, **slow)])).startswith("queue breaks at 10: acknowledged")
    assert line(held("queue", [of(10), of(1000)])) == "queue holds 1,000, the most that were tried"


def test_a_break_on_a_noisy_host_says_so():
    figures = {**GOOD, "durable.ack_ms.p99": 150.0}
    noisy = record(calls=10, lane="durable", figures=figures, flags=[FlagName.NOISY_HOST])
    assert line(held("q", [noisy])).endswith("(100 at most) (noisy host)")
    again = record(calls=10, repetition=2, lane="durable", figures=figures)
    assert not held("q", [noisy, again]).noisy


def test_most_repetitions_decide_and_what_did_not_run_does_not():
    slow = {"durable__ack_ms__p99": 150.0}
    assert held("q", [of(10, 1, **slow), of(10, 2), of(10, 3)]) == Held("q", 10, None, ())
    assert held("q", [of(10, 1, **slow), of(10, 2, **slow), of(10, 3)]).breaks_at == 10
    none = held("q", [of(10, status=StatusName.UNSUPPORTED)])
    assert (none, line(none)) == (Held("q", 0, None, ()), "q did not run")


def limited(limit_per_s: float | None, calls: int = 200, **changes: object) -> Record:
    made = of(calls, **changes)
    table = {} if limit_per_s is None else {"limit_per_s": limit_per_s}
    return msgspec.structs.replace(made, cell=msgspec.structs.replace(made.cell, provider=table))


def test_a_pace_that_the_provider_does_not_let_through_is_said_to_be_out_of_reach():
    at_once = limited(90, work__per_s=60.0, durable__of_ideal=0.3)  # ideal: 200 a second
    assert out_of_reach([limited(90, durable__of_ideal=None), at_once, limited(90, 500)]) == (
        "none can hold 200: the provider lets 90 calls a second through, and 0.90 of the ideal pace is 180"
    )
    assert out_of_reach([limited(None, work__per_s=60.0, durable__of_ideal=0.3)]) is None
    assert out_of_reach([limited(180, work__per_s=60.0, durable__of_ideal=0.3)]) is None
