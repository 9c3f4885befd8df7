"""The executions of a durable cell, from facts whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from executions_made import EXECUTIONS, SAID, STEPS, figure, made
from facts_made import MS, ORIGIN_NS, schedule
from streamlanes.facts import Missing
from streamlanes.samples import Outcome


def test_rate_and_cpu_are_those_of_the_window_in_which_all_are_under_way():
    found = made()
    assert figure(found, "durable.window_s") == pytest.approx(1.9), "readings at 0.1 and 2.0 s"
    assert figure(found, "work.per_s") == pytest.approx(400)
    assert figure(found, "work.cpu_us_per_unit") == pytest.approx(1250)
    assert figure(found, "durable.server_cpu_us_per_step") == pytest.approx(625)
    assert figure(found, "work.done") == EXECUTIONS * STEPS


def test_an_execution_that_begins_late_or_ends_early_makes_the_window_shorter():
    last = np.full(EXECUTIONS, ORIGIN_NS + 2000 * MS)
    last[2] = ORIGIN_NS + 1050 * MS
    found = made({"last_kept": last})
    assert figure(found, "durable.window_s") == pytest.approx(0.9)
    assert figure(found, "work.per_s") == pytest.approx(400)
    kept = np.full(EXECUTIONS, STEPS)
    kept[1] = 0
    none = figure(made({"kept": kept}), "work.per_s")
    assert none == Missing("an execution kept no step")


def test_acknowledgements_and_their_growth():
    found = made()
    assert figure(found, "durable.ack_ms.p50") == pytest.approx(3.0), "a little more than half took 3"
    assert figure(found, "durable.ack_ms.p99") == pytest.approx(3.0)
    assert figure(found, "durable.growth") == pytest.approx(1.5)
    few = {"acked_at": np.zeros(10, np.int64), "ack": np.zeros(10, np.int64)}
    assert isinstance(figure(made(few), "durable.growth"), Missing), "the early ones are overwritten"


def test_what_the_store_told_is_shared_out_over_the_steps():
    found = made()
    assert figure(found, "durable.syncs_per_step") == pytest.approx(0.5)
    assert figure(found, "durable.written_bytes_per_step") == pytest.approx(3000)
    assert figure(found, "durable.written_per_useful") == pytest.approx(3)
    assert figure(found, "durable.stored_bytes_per_step") == pytest.approx(2000)
    assert figure(found, "durable.steps_per_commit") == pytest.approx(9)
    assert figure(found, "durable.connection_wait_us") == pytest.approx(0.5)
    assert figure(found, "durable.fsync_us") == pytest.approx(250)


def test_what_is_not_known_says_why():
    unkept = made(interpreter={"durability": "none", "fsync_us": [200.0]})
    assert figure(unkept, "durable.syncs_per_step") == Missing("nothing is kept")
    assert figure(unkept, "durable.fsync_us") == pytest.approx(200)
    uncounted = made(interpreter={**SAID, "syncs": None, "fsync_us": None})
    assert figure(uncounted, "durable.syncs_per_step") == Missing("not counted here")
    assert isinstance(figure(uncounted, "durable.fsync_us"), Missing)
    stopped = replace(made(interpreter={}), drained=False)
    for path in ("durable.lost", "durable.duplicated", "durable.fsync_us", "durable.largest_commit"):
        assert isinstance(figure(stopped, path), Missing), path


@pytest.mark.parametrize(
    ("column", "path", "value"),
    [("left", "durable.lost", 3), ("twice", "durable.duplicated", 2), ("again", "durable.redone", 5)],
)
def test_what_must_not_be_is_counted(column: str, path: str, value: int):
    changed = np.full(EXECUTIONS, STEPS if column == "left" else 0)
    changed[1] += -value if column == "left" else value
    assert figure(made({column: changed}), path) == value
    for other in {"durable.lost", "durable.duplicated", "durable.redone"} - {path}:
        assert figure(made({column: changed}), other) == 0


def test_a_step_beyond_those_acknowledged_is_a_duplicate_unless_its_execution_failed():
    left = np.full(EXECUTIONS, STEPS)
    left[0] += 1
    assert figure(made({"left": left}), "durable.duplicated") == 1
    failed = made({"left": left})
    outcome = np.full(EXECUTIONS, int(Outcome.OK))
    outcome[0] = Outcome.JOB_ERROR
    calls = replace(failed.timed.calls, outcome=outcome)
    failed = replace(failed, timed=replace(failed.timed, calls=calls))
    assert figure(failed, "durable.duplicated") == 0


def test_the_ideal_pace_is_that_of_the_calls_alone():
    plan = schedule(EXECUTIONS)
    ideal = float((1e9 / plan.life_ns).sum())
    found = made(interpreter={**SAID, "calls_made": 1600})
    assert figure(found, "durable.of_ideal") == pytest.approx(400 / ideal)
    assert figure(found, "durable.calls_per_step") == pytest.approx(2.0)
    short = made(
        {"last_kept": np.full(EXECUTIONS, ORIGIN_NS + 900 * MS)}, interpreter={**SAID, "calls_made": 1}
    )
    assert figure(short, "durable.of_ideal") == Missing("all executions were under way for less than 1 s")
    bare = made()
    assert figure(bare, "durable.of_ideal") == Missing("bare steps have no ideal pace")
    assert isinstance(figure(bare, "durable.calls_per_step"), Missing)
