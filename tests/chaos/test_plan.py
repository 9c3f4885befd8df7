"""The plan of kills and the counting: pure."""

from collections import Counter

import pytest

from streamlanes.chaos.plan import (
    ChaosPlan,
    Control,
    Counts,
    How,
    Kill,
    Size,
    Trial,
    Verdict,
    counted,
    expected_total,
)
from streamlanes.durable.points import Point

SIZE = Size(executions=2, steps=2)
NAMES = ["a", "b"]
KEPT = {name: [{"total": 1}, {"total": 3}] for name in NAMES}
LEDGER = {f"{prefix}{name}/{step}": 1 for prefix in ("", "mail ") for name in NAMES for step in range(2)}
BEGUN = [(name, step) for name in NAMES for step in range(2)]


def trial(kill: Kill, struck: bool = True, counts: Counts | None = None) -> Trial:
    return Trial(kill, struck, counts or Counts(), None)


def carried_out(plan: ChaosPlan, strikes: object = lambda kill: True) -> list[Trial]:
    done: list[Trial] = []
    while (kill := plan.next(done)) is not None:
        done.append(trial(kill, strikes(kill)))
    return done


def test_every_point_is_killed_and_stopped_evenly_on_each_store():
    pairs = len(Point) * len(How)
    done = carried_out(ChaosPlan(3 * pairs, ["sqlite", "postgres"]))
    by = Counter((one.kill.store, one.kill.point, one.kill.how) for one in done)
    assert len(by) == 2 * pairs
    assert set(by.values()) == {3}


def test_a_plan_is_its_seed():
    assert carried_out(ChaosPlan(20, ["sqlite"], seed=1)) == carried_out(ChaosPlan(20, ["sqlite"], seed=1))
    assert carried_out(ChaosPlan(20, ["sqlite"], seed=1)) != carried_out(ChaosPlan(20, ["sqlite"], seed=2))


def test_a_kill_that_did_not_strike_is_made_up_for():
    done = carried_out(ChaosPlan(10, ["sqlite"]), lambda kill: kill.number % 2)
    assert sum(one.struck for one in done) == 10
    assert len(done) == 20


def test_all_well_is_clean():
    assert counted(SIZE, NAMES, KEPT, NAMES, LEDGER, BEGUN) == Counts()
    assert expected_total(2) == 3


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"ledger": {**LEDGER, "a/0": 3}}, Counts(duplicated=2)),
        ({"ledger": {**LEDGER, "mail b/1": 2}}, Counts(duplicated=1)),
        ({"ledger": {**LEDGER, "mail b/1": 0}}, Counts(lost=1)),
        ({"ledger": {**LEDGER, "b/1": 0}}, Counts(lost=1, false_done=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}]}}, Counts(lost=1, false_done=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}]}, "done": ["a"]}, Counts(lost=1, unfinished=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}, {"total": 4}]}}, Counts(false_done=1)),
        ({"begun": [*BEGUN, ("a", 1), ("a", 1)]}, Counts(redone=2)),
    ],
)
def test_each_fault_is_counted(changed: dict[str, object], expected: Counts):
    facts = {"kept": KEPT, "done": NAMES, "ledger": LEDGER, "begun": BEGUN, **changed}
    assert counted(SIZE, NAMES, **facts) == expected
    assert counted(SIZE, NAMES, **facts).clean == (expected == Counts(redone=expected.redone))


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
