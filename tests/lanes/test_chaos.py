"""The chaos lane: what trials come to, from trials that are made up."""

from pathlib import Path

import pytest

from streamlanes.cells import Axes, Cell, check
from streamlanes.chaos.plan import Control, Counts, How, Kill, Recovery, Trial
from streamlanes.durable.points import Point
from streamlanes.errors import UserError
from streamlanes.facts import Missing
from streamlanes.gate import judge
from streamlanes.lanes.chaos import LANE, Kills
from streamlanes.recording import record_of
from streamlanes.rules import parse

ROOT = Path(__file__).parents[2]

KILL = Kill(0, Point.IN_COMMIT, How.KILL, 1, "sqlite")
CONTROL = Control("naive-retry", "says", ("duplicated",), Counts(duplicated=3))


def trial(detection_ms: float | None, struck: bool = True, first_step_ms: float | None = 20.0, **counts: int):
    share = None if detection_ms is None else detection_ms / 400
    stood_ms = None if detection_ms is None else detection_ms + 130.0
    recovery = Recovery(detection_ms, share, 100.0, 5.0, first_step_ms, stood_ms) if struck else None
    return Trial(KILL, struck, Counts(**counts), recovery, refused=1)


TRIALS = (
    trial(380.0, redone=2),
    trial(420.0, redone=4),
    trial(None, redone=0),
    trial(0.0, struck=False),
    trial(500.0, first_step_ms=None),
)


def figure(name: str, trials: tuple[Trial, ...] = TRIALS) -> object:
    (metric,) = [each for each in LANE.metrics if each.path == f"chaos.{name}"]
    return metric.of(Kills(trials, CONTROL))


def test_counts_are_of_all_trials_and_medians_of_those_that_have_the_part():
    assert (figure("kills"), figure("not_struck")) == (4, 1)
    assert (figure("redone"), figure("redone_per_kill")) == (6, 1.5)
    assert figure("lost") == figure("duplicated") == figure("false_done") == figure("unfinished") == 0
    assert figure("refused") == 5
    assert figure("detection_ms") == 420
    assert figure("detection_share") == pytest.approx(1.05)
    assert figure("first_step_ms") == 20
    assert figure("way_back_ms") == pytest.approx(525), "of the two that have every part"
    assert figure("way_back_most_ms") == 630
    assert figure("control_duplicated") == 3


def test_what_goes_wrong_is_counted():
    wrong = (trial(380.0, lost=1, duplicated=2, false_done=3, unfinished=4),)
    found = [figure(name, wrong) for name in ("lost", "duplicated", "false_done", "unfinished")]
    assert found == [1, 2, 3, 4]


def test_parts_that_no_trial_has_say_why():
    assert figure("detection_ms", (trial(None),)) == Missing("no worker held a lease when it was struck")
    assert isinstance(figure("redone_per_kill", (trial(0.0, struck=False),)), Missing)
    assert isinstance(figure("way_back_ms", (trial(None),)), Missing)
    assert isinstance(figure("way_back_most_ms", (trial(None),)), Missing)


def cell(**axes: object) -> Cell:
    return Cell(
        lane="chaos", backend="threads", client="none", workload="documents", calls=3, axes=Axes(**axes)
    )


def test_the_record_and_the_answer():
    found = record_of(cell(point="in-commit", kills=4), LANE, {}, LANE.view(Kills(TRIALS, CONTROL)))
    assert found.cell.axes["store"] == "sqlite-full"
    assert found.cell.axes["strike"] == "kill"
    assert found.clean
    assert found.chaos["kills"] == 4
    assert LANE.answer is not None
    assert LANE.answer([found]) == [
        "CHAOS   sqlite-full: 4 kills at 1 point: 0 lost, 0 duplicated, 0 false done, 0 unfinished; "
        "6 steps redone",
        "        the way back after a kill: detection 420 ms, start 100 ms, replay 5.0 ms, "
        "first new step 20 ms (a lease lapses after 105 % of its length)",
        "        the longest way back: 630 ms, kill at in-commit",
        "        a process crash is not a power loss: the operating system kept what was written",
    ]
    assert LANE.answer([]) == []
    assert "power loss" in LANE.charts[0].note


@pytest.mark.parametrize(("lost", "verdict"), [(0, "pass"), (1, "broken")])
def test_the_shipped_gate_judges_a_run_of_this_lane_alone(lost: int, verdict: str):
    shipped = parse((ROOT / "bench" / "thresholds.toml").read_text(), "thresholds.toml")
    made = record_of(cell(), LANE, {}, Kills((trial(380.0, lost=lost),), CONTROL))
    found = judge([made], shipped)
    assert found.name == verdict
    assert found.judged == 1
    assert [str(each).split(": ")[1].split(" is ")[0] for each in found.broken] == ["chaos.lost"] * lost


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"point": "in-comit"}, "did you mean 'in-commit'"),
        ({"store": "none"}, "unknown store of lane chaos 'none'"),
        ({"gap_ms": 3}, "gap_ms means nothing to lane chaos"),
        ({"run_s": 3}, "run_s means nothing to lane chaos; it is for lane durable"),
        ({"kills": 0}, "kills is 0"),
    ],
)
def test_what_cannot_be_meant_is_said(asked: dict[str, object], words: str):
    with pytest.raises(UserError, match=words):
        check(cell(**asked))
