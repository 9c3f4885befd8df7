"""Agents under real kills, and mailboxes in memory as the control."""

from pathlib import Path

import pytest

from streamlanes.chaos.place import place
from streamlanes.chaos.plan import How, Kill, Scenario, Size
from streamlanes.chaos.scenarios.queue import in_memory
from streamlanes.chaos.trial import run_trial
from streamlanes.children import Launcher
from streamlanes.durable.points import Point


@pytest.fixture
def launcher():
    made = Launcher()
    yield made
    made.close()


@pytest.mark.parametrize(("point", "how"), [(Point.AFTER_ANSWER, How.KILL), (Point.BEFORE_ANSWER, How.STOP)])
def test_a_kill_costs_no_message_and_no_effect_happens_twice(
    tmp_path: Path, launcher: Launcher, point: Point, how: How
):
    with place("sqlite", str(tmp_path / "s.db"), "", launcher) as at:
        found = run_trial(Kill(0, point, how, 3, "sqlite", Scenario.QUEUE), Size(), at)
    assert (found.struck, found.errors) == (True, ())
    assert found.counts.clean, found.counts
    if how is How.STOP:
        assert found.counts.redone > 0, "its batch was done again by another"


def test_mailboxes_in_memory_are_found_out(tmp_path: Path, launcher: Launcher):
    with place("sqlite", str(tmp_path / "s.db"), "", launcher) as at:
        control = in_memory(at)
    assert control.as_expected
    assert control.counts.lost == 7, "of nine agents, those that were not woken yet"
