"""People and versions under real kills, and an approval across processes."""

import json
from collections import Counter
from pathlib import Path

import pytest

from commands import left_behind, run
from streamlanes.chaos.place import place
from streamlanes.chaos.plan import Counts, How, Kill, Scenario, Size
from streamlanes.chaos.scenarios.approval import in_memory
from streamlanes.chaos.scenarios.rainbow import in_place
from streamlanes.chaos.trial import run_trial
from streamlanes.children import Launcher
from streamlanes.durable.points import Point


@pytest.fixture
def launcher():
    made = Launcher()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("scenario", "point", "how"),
    [
        (Scenario.APPROVAL, Point.AFTER_DECISION, How.KILL),
        (Scenario.APPROVAL, Point.AFTER_PARK, How.STOP),
        (Scenario.RAINBOW, Point.BEFORE_CHECKPOINT, How.KILL),
    ],
)
def test_a_kill_costs_no_approval_and_no_version(
    tmp_path: Path, launcher: Launcher, scenario: Scenario, point: Point, how: How
):
    kill = Kill(0, point, how, 2, "sqlite", scenario)
    with place("sqlite", str(tmp_path / "s.db"), "", launcher) as at:
        found = run_trial(kill, Size(executions=2), at)
    assert (found.struck, found.errors) == (True, ())
    assert found.counts.clean, found.counts


def test_approvals_in_memory_and_deployments_in_place_are_found_out(tmp_path: Path, launcher: Launcher):
    with place("sqlite", str(tmp_path / "s.db"), "", launcher) as at:
        controls = [in_memory(at), in_place(at)]
    assert [control.as_expected for control in controls] == [True, True]
    assert controls[0].counts == Counts(asked_again=3, duplicated=2, redone=3)
    assert controls[1].counts.wrong_version > 0


def test_chaos_over_people_and_versions_by_command(tmp_path: Path):
    scenarios = "approval,rainbow"
    done = run("durable", "chaos", "--kills", "4", "--scenario", scenarios, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    struck = Counter(one["trial"]["kill"]["scenario"] for one in said if "trial" in one)
    assert set(struck) <= {"approval", "rainbow"}
    (verdict,) = [one["verdict"] for one in said if "verdict" in one]
    wrong = ("lost", "duplicated", "false_done", "unfinished", "asked_again", "unapproved", "wrong_version")
    assert (verdict["kills"], [verdict[name] for name in wrong]) == (4, [0] * 7)
    controls = {one["control"]["name"]: one["control"]["as_expected"] for one in said if "control" in one}
    assert controls == {"approval-in-memory": True, "deployment-in-place": True}
    assert left_behind(tmp_path) == []
