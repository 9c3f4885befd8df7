"""The plan of kills and the counting: pure."""

from collections import Counter
from dataclasses import fields, replace

import pytest

from streamlanes.chaos.plan import (
    MORE_BEGUN,
    MOST_BEGUN,
    ChaosPlan,
    Control,
    Counts,
    How,
    Kill,
    Scenario,
    Trial,
    Verdict,
)
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


def test_workers_that_never_strike_are_not_waited_for_forever():
    done = carried_out(ChaosPlan(30, ["sqlite"], STEPS), lambda kill: False)
    assert len(done) == MOST_BEGUN * MORE_BEGUN
    told = [replace(one, errors=("the process exited with 1: no such module",)) for one in done]
    found = Verdict(told, [], wanted=30)
    assert not found.passed
    assert found.short == "only 0 of 30 kills struck, in 10 trials: the process exited with 1: no such module"
    assert Verdict([], [], wanted=1).short == "only 0 of 1 kills struck, in 0 trials"
    rarely = carried_out(ChaosPlan(10, ["sqlite"], STEPS), lambda kill: kill.number % 20 == 0)
    assert len(rarely) <= MOST_BEGUN * 10
    assert not Verdict(rarely, [], wanted=10).passed


def test_a_point_that_nobody_passes_is_named_though_others_make_up_for_it():
    done = carried_out(ChaosPlan(30, ["sqlite"], STEPS), lambda kill: kill.point is not Point.IN_COMMIT)
    found = Verdict(done, [], wanted=30)
    assert (found.kills, found.short) == (30, None)
    assert found.unreached == ["sqlite/steps/in-commit"]
    assert not found.passed
    assert Verdict(carried_out(ChaosPlan(30, ["sqlite"], STEPS)), [], wanted=30).passed


def test_a_verdict_names_what_each_store_promised():
    kills = [
        Kill(number, Point.IN_COMMIT, How.KILL, 1, store)
        for number, store in enumerate(("sqlite", "postgres"))
    ]
    done = [
        replace(trial(kill), durability=promised)
        for kill, promised in zip(kills, ("sqlite-full", "postgres"), strict=True)
    ]
    fields = Verdict(done, [], wanted=2).fields()
    assert fields["durability"] == {"sqlite": "sqlite-full", "postgres": "postgres"}
    assert (fields["wanted"], fields["kills"], fields["passed"]) == (2, 2, True)
