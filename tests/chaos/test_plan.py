"""The plan of kills and the counting: pure."""

from collections import Counter
from dataclasses import fields

import pytest

from streamlanes.chaos.plan import ChaosPlan, Control, Counts, How, Kill, Scenario, Trial, Verdict
from streamlanes.chaos.scenarios import SCENARIOS, places, played
from streamlanes.durable.points import Point

STEPS = places([Scenario.STEPS])


def trial(kill: Kill, struck: bool = True, counts: Counts | None = None) -> Trial:
    return Trial(kill, struck, counts or Counts(), None)


def carried_out(plan: ChaosPlan, strikes: object = lambda kill: True) -> list[Trial]:
    done: list[Trial] = []
    while (kill := plan.next(done)) is not None:
        done.append(trial(kill, strikes(kill)))
    return done


def test_every_point_is_killed_and_stopped_evenly_on_each_store():
    pairs = len(STEPS) * len(How)
    done = carried_out(ChaosPlan(3 * pairs, ["sqlite", "postgres"], STEPS))
    by = Counter((one.kill.store, one.kill.point, one.kill.how) for one in done)
    assert len(by) == 2 * pairs
    assert set(by.values()) == {3}


def test_a_plan_is_its_seed():
    assert carried_out(ChaosPlan(20, ["sqlite"], STEPS, seed=1)) == carried_out(
        ChaosPlan(20, ["sqlite"], STEPS, seed=1)
    )
    assert carried_out(ChaosPlan(20, ["sqlite"], STEPS, seed=1)) != carried_out(
        ChaosPlan(20, ["sqlite"], STEPS, seed=2)
    )


def test_a_kill_that_did_not_strike_is_made_up_for():
    done = carried_out(ChaosPlan(10, ["sqlite"], STEPS), lambda kill: kill.number % 2)
    assert sum(one.struck for one in done) == 10
    assert len(done) == 20


def test_a_verdict_needs_clean_trials_and_sharp_controls():
    kill = Kill(0, Point.IN_COMMIT, How.KILL, 1, "sqlite")
    sharp = Control("list", "", ("lost",), Counts(lost=4))
    blunt = Control("list", "", ("lost",), Counts())
    must_be_clean = Control("every-step", "", (), Counts(duplicated=1))
    good, bad = trial(kill, counts=Counts(redone=3)), trial(kill, counts=Counts(duplicated=1))
    assert Verdict([good], [sharp]).passed
    assert not Verdict([good], [blunt]).passed
    assert not Verdict([good], [must_be_clean]).passed
    assert not Verdict([good, bad], [sharp]).passed
    assert Verdict([good, bad], []).counts == Counts(duplicated=1, redone=3)
    assert Verdict([good, trial(kill, struck=False)], []).kills == 1


def test_a_plan_may_be_of_one_point_and_one_signal():
    done = carried_out(ChaosPlan(5, ["sqlite"], [(Scenario.STEPS, Point.IN_COMMIT)], hows=(How.STOP,)))
    assert {(one.kill.point, one.kill.how) for one in done} == {(Point.IN_COMMIT, How.STOP)}
    assert len({one.kill.hit for one in done}) > 1, "at another passage each time"


def test_every_scenario_is_struck_at_each_of_its_points():
    ways = places(list(Scenario))
    done = carried_out(ChaosPlan(len(ways) * len(How), ["sqlite"], ways))
    struck = Counter((one.kill.scenario, one.kill.point, one.kill.how) for one in done)
    assert struck == {(scenario, point, how): 1 for scenario, point in ways for how in How}
    assert {scenario for scenario, _ in ways} == set(Scenario) == set(SCENARIOS)
    assert {point for _, point in ways} == set(Point), "every point is somewhere"
    assert all(len(set(played(scenario).points)) == len(played(scenario).points) for scenario in Scenario)


@pytest.mark.parametrize("name", [each.name for each in fields(Counts) if each.name != "redone"])
def test_whatever_went_wrong_is_not_clean(name: str):
    assert not Counts(**{name: 1}).clean
    assert Counts(redone=1).clean
