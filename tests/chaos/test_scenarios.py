"""What each scenario counts: pure, from what a trial might have left."""

import json

import pytest

from streamlanes.chaos.plan import Counts, How, Kill, Scenario, Size
from streamlanes.chaos.scenarios import approval, rainbow, replay, steps
from streamlanes.chaos.workers.approval import REJECTED
from streamlanes.durable.events import Event, Kind
from streamlanes.durable.people import Request, Status
from streamlanes.durable.points import Point
from streamlanes.durable.values import Checkpoint
from streamlanes.durable.versions import point_of

SIZE = Size(executions=2, steps=2)
NAMES = ["a", "b"]
KEPT = {name: [{"total": 1}, {"total": 3}] for name in NAMES}
LEDGER = {f"{prefix}{name}/{step}": 1 for prefix in ("", "mail ") for name in NAMES for step in range(2)}
BEGUN = [(name, step) for name in NAMES for step in range(2)]


def test_steps_that_went_well_are_clean():
    assert steps.counted(SIZE, NAMES, KEPT, NAMES, LEDGER, BEGUN) == Counts()
    assert steps.expected_total(2) == 3


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"ledger": {**LEDGER, "a/0": 3}}, Counts(duplicated=2)),
        ({"ledger": {**LEDGER, "mail b/1": 2}}, Counts(duplicated=1)),
        ({"ledger": {**LEDGER, "mail b/1": 0}}, Counts(lost=1)),
        ({"ledger": {**LEDGER, "b/1": 0}}, Counts(lost=1, false_done=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}]}}, Counts(lost=1, false_done=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}]}, "finished": ["a"]}, Counts(lost=1, unfinished=1)),
        ({"kept": {**KEPT, "b": [{"total": 1}, {"total": 4}]}}, Counts(false_done=1)),
        ({"begun": [*BEGUN, ("a", 1), ("a", 1)]}, Counts(redone=2)),
    ],
)
def test_each_fault_of_steps_is_counted(changed: dict[str, object], expected: Counts):
    facts = {"kept": KEPT, "finished": NAMES, "ledger": LEDGER, "begun": BEGUN, **changed}
    assert steps.counted(SIZE, NAMES, **facts) == expected
    assert steps.counted(SIZE, NAMES, **facts).clean == (expected == Counts(redone=expected.redone))


# Approval

THREE = Size(executions=1, steps=3)
AGREED = {
    "a": [{"total": 1, "approved": True}, {"total": 3, "approved": True}, {"total": 6, "approved": False}]
}
PAID = {"a/0": 1, "a/1": 1, "ask a/0": 1, "ask a/1": 1, "ask a/2": 1}


def request(step: int, number: int = 1) -> Request:
    place = f"a/{step}/0"
    name = place if number == 1 else f"{place}.{number}"
    return Request(name, "a", place, number, None, Status.APPROVED, "p", "", 1.0, 2.0, 1)


ASKED = {"a": [request(step) for step in range(3)]}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, Counts()),
        ({"ledger": {**PAID, "a/0": 2}}, Counts(duplicated=1)),
        ({"ledger": {**PAID, "ask a/2": 0}}, Counts(lost=1)),
        ({"ledger": {**PAID, f"a/{REJECTED}": 1}}, Counts(unapproved=1)),
        ({"ledger": {**PAID, "ask a/0": 3}}, Counts(asked_again=2)),
        ({"ledger": {**PAID, "ask a/1": 3}}, Counts()),  # its policy wants that
        ({"asked": {"a": [*ASKED["a"], request(0, 2)]}}, Counts(asked_again=1)),
        ({"asked": {"a": [*ASKED["a"], request(1, 2)]}}, Counts()),
        ({"kept": {"a": [*AGREED["a"][:2], {"total": 6, "approved": True}]}}, Counts(false_done=1)),
        ({"kept": {"a": AGREED["a"][:2]}, "finished": []}, Counts(lost=1, unfinished=1)),
        ({"begun": [("a", 0)] * 2}, Counts()),  # the answer to its request
        ({"begun": [("a", 0)] * 4}, Counts(redone=2)),
    ],
)
def test_each_fault_of_approvals_is_counted(changed: dict[str, object], expected: Counts):
    facts = {"kept": AGREED, "asked": ASKED, "finished": ["a"], "ledger": PAID, "begun": [], **changed}
    assert approval.counted(THREE, **facts) == expected


# Rainbow


def rows(name: str, version: int, *, by: int | None = None, last: int = 2) -> list[Checkpoint]:
    totals = [version, version * 3]
    states = [json.dumps({"total": total, "version": by or version}).encode() for total in totals]
    return [Checkpoint(name, step, state, version=version) for step, state in enumerate(states[:last])]


STAY = {"a": 1, "b": 2}
HELD = {name: rows(name, version) for name, version in STAY.items()}
DONE = {f"{name}/{step}": 1 for name in STAY for step in range(2)}
RAN = [("a", 1), ("a", 1), ("b", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, Counts()),
        ({"ran": [*RAN, ("a", 2)]}, Counts(wrong_version=1)),
        ({"kept": {**HELD, "a": rows("a", 1, by=2)}}, Counts(wrong_version=2)),
        ({"kept": {**HELD, "a": rows("a", 2)}}, Counts(wrong_version=2, false_done=1)),
        ({"kept": {**HELD, "a": rows("a", 1, last=1)}}, Counts(lost=1, false_done=1)),
        ({"ledger": {**DONE, "b/1": 2}}, Counts(duplicated=1)),
        ({"ledger": {**DONE, "b/1": 0}}, Counts(lost=1, false_done=1)),
        ({"finished": ["a"]}, Counts(unfinished=1)),
        ({"begun": [("a", 0), ("a", 0)]}, Counts(redone=1)),
    ],
)
def test_each_fault_of_a_rainbow_is_counted(changed: dict[str, object], expected: Counts):
    facts = {"kept": HELD, "ran": RAN, "finished": ["a", "b"], "ledger": DONE, "begun": [], **changed}
    assert rainbow.counted(SIZE, STAY, **facts) == expected


@pytest.mark.parametrize("number", range(20))
def test_a_rainbow_has_both_versions_and_both_are_struck(number: int):
    kill = Kill(number, Point.IN_COMMIT, How.KILL, 1, "sqlite", Scenario.RAINBOW)
    stay = rainbow.expected(kill, Size())
    before, after = rainbow.executions(kill, Size())
    assert {stay[name] for name in before} == {1}
    assert {stay[name] for name in after} == {1, 2}
    assert all(stay[name] == (2 if point_of(name) >= 0.5 else 1) for name in after)
    struck, beside = rainbow.RAINBOW.tasks(kill, Size())
    assert {struck["version"], beside["version"]} == {1, 2}
    assert struck["version"] == 1 + (number + 1) % 2


# Replay


def log_of(name: str, *, epochs: tuple[int, int] = (1, 1), result: object = None) -> list[Event]:
    """Two activities, each with a reading before it."""
    made = [[f"{name}0", f"{name}/0"], [f"{name}1", f"{name}/1"]]
    told = [
        (Kind.SESSION, "", {}),
        *((kind, f"0/{2 * step + place + 1}", made[step][place]) for step in range(2) for place, kind in
          enumerate((Kind.RECORDED, Kind.COMPLETED))),
        (Kind.ENDED, "", made if result is None else result),
    ]  # fmt: skip
    return [
        Event(number, call, kind, "", json.dumps(data), 0.0, epochs[number > 3])
        for number, (kind, call, data) in enumerate(told, 1)
    ]


LOGS = {name: log_of(name) for name in NAMES}
DONE = {f"{name}/{step}": 1 for name in NAMES for step in range(2)}


def test_workflows_that_went_well_are_clean():
    assert replay.counted(SIZE, LOGS, NAMES, DONE, BEGUN) == Counts()
    later = {**LOGS, "b": log_of("b", epochs=(1, 2))}
    assert replay.counted(SIZE, later, NAMES, DONE, BEGUN) == Counts(), "another session went on"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"ledger": {**DONE, "a/0": 3}}, Counts(duplicated=2)),
        ({"ledger": {**DONE, "b/1": 0}}, Counts(lost=1)),
        ({"logs": {**LOGS, "b": []}, "finished": ["a"]}, Counts(lost=2, unfinished=1)),
        ({"logs": {**LOGS, "b": LOGS["b"][:-1]}}, Counts(false_done=1)),
        ({"logs": {**LOGS, "b": log_of("b", result=[["b0", "other"]])}}, Counts(false_done=1)),
        (
            {"logs": {**LOGS, "b": [*LOGS["b"][:5], LOGS["b"][4], LOGS["b"][5]]}},
            Counts(duplicated=1, false_done=1),
        ),
        ({"logs": {**LOGS, "b": log_of("b", epochs=(2, 1))}}, Counts(duplicated=1)),
        ({"begun": [*BEGUN, ("a", 1)]}, Counts(redone=1)),
    ],
)
def test_each_fault_of_replay_is_counted(changed: dict[str, object], expected: Counts):
    facts = {"logs": LOGS, "finished": NAMES, "ledger": DONE, "begun": BEGUN, **changed}
    assert replay.counted(SIZE, **facts) == expected
