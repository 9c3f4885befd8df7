"""Walls: measured, projected, predicted."""

import dataclasses

import numpy as np
import pytest

from facts_made import facts, schedule, timed
from streamlanes.facts import Missing
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls
from streamlanes.walls import in_flight_target, projected_wall_s, wall_s


def figure(path: str, view: Calls) -> object:
    return next(metric for metric in LANE.metrics if metric.path == path).of(view)


def test_wall_overrun_and_efficiency():
    calls = Calls(facts())
    ideal = calls.facts.full_schedule.ideal_wall_s
    wall = wall_s(calls)
    assert wall == pytest.approx(ideal + 0.00675 + 1e-6)
    assert figure("time.overrun_s", calls) == pytest.approx(wall - ideal)
    assert figure("time.efficiency", calls) == pytest.approx(ideal / wall)


def test_over_budget_has_a_projection_and_no_wall():
    plan = schedule()
    pass_ = timed(plan)
    half = pass_.calls.received > np.median(pass_.calls.received)
    pass_.calls.received[half] = 0
    pass_.calls.end[:] = 0
    pass_.calls.outcome[:] = 0
    pass_ = dataclasses.replace(pass_, over_ns=pass_.origin_ns + 4 * 10**9)
    calls = Calls(facts(plan, timed=pass_, drained=False))
    assert isinstance(wall_s(calls), Missing)
    assert projected_wall_s(calls) == pytest.approx(8.0, rel=0.01)
    assert figure("counts.unfinished", calls) == 20
    assert figure("counts.tokens", calls) == (~half).sum()


def test_a_pool_that_admits_some_waves_is_projected_by_its_pace():
    full = schedule(40, arrival="burst", ramp_s=0)
    head = full.head(10)
    calls = Calls(facts(head, calls=40, full_schedule=full, width=5, timed=timed(head)))
    assert isinstance(wall_s(calls), Missing)
    assert "10 of 40" in wall_s(calls).reason
    assert projected_wall_s(calls) > figure("time.predicted_wall_s", calls) * 0.4
    assert in_flight_target(calls.facts) == 5
