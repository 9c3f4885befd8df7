"""Real processes, real signals: kills at named points, stops past a lease, and the commands."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from commands import left_behind, run
from streamlanes import durable_cli
from streamlanes.cells import Axes, Cell
from streamlanes.chaos import plan
from streamlanes.chaos.cell import strike
from streamlanes.chaos.cells import run_killed
from streamlanes.chaos.place import place
from streamlanes.chaos.plan import Counts, How, Kill, Scenario, Size, Trial
from streamlanes.chaos.scenarios import played, steps
from streamlanes.chaos.trial import run_trial
from streamlanes.children import Launcher
from streamlanes.durable import postgres
from streamlanes.durable.points import Point
from streamlanes.errors import UserError
from streamlanes.hearing import CellEnded
from streamlanes.local_postgres import VARIABLE
from streamlanes.record import StatusName


def test_thirty_kills_lose_nothing_and_the_controls_do(tmp_path: Path):
    done = run("durable", "chaos", "--kills", "30", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    trials = [one["trial"] for one in said if "trial" in one]
    struck = Counter((one["kill"]["point"], one["kill"]["how"]) for one in trials if one["struck"])
    assert struck.total() == 30
    points = played(Scenario.STEPS).points
    assert {point for point, _ in struck} == set(points), "one that nobody ever passed proves nothing"
    assert len(struck) >= len(points) * len(How) - 2, "nearly every point, killed and stopped"
    (verdict,) = [one["verdict"] for one in said if "verdict" in one]
    wrong = ("lost", "duplicated", "false_done", "unfinished")
    assert [verdict[name] for name in wrong] == [0, 0, 0, 0]
    assert (verdict["durability"], verdict["passed"]) == ({"sqlite": "sqlite-full"}, True)
    assert {one["durability"] for one in trials} == {"sqlite-full"}
    assert "not a power loss" in verdict["not_tested"]
    controls = {one["control"]["name"]: one["control"]["counts"] for one in said if "control" in one}
    assert controls["python-list"]["lost"] == 5, "of 7: two were done"
    assert controls["naive-retry"]["duplicated"] == 3
    assert controls["die-after-every-step-bare"]["unfinished"] == 1
    assert not any(controls["die-after-every-step-sqlite"][name] for name in wrong)
    recovered = [one["recovery"] for one in trials if one["recovery"] and one["recovery"]["detection_ms"]]
    assert any(one["first_step_ms"] for one in recovered)
    assert left_behind(tmp_path) == []


def trial(tmp_path: Path, point: Point, how: How, hit: int, scenario: Scenario = Scenario.STEPS) -> Trial:
    launcher = Launcher()
    try:
        with place("sqlite", str(tmp_path / "s.db"), "", launcher) as at:
            return run_trial(Kill(0, point, how, hit, "sqlite", scenario), Size(executions=1), at)
    finally:
        launcher.close()


def test_a_worker_that_was_stopped_past_its_lease_changes_nothing(tmp_path: Path):
    """Both workers have the same name; the one that wakes is told that its lease is gone."""
    found = trial(tmp_path, Point.BEFORE_CHECKPOINT, How.STOP, 2)
    assert (found.struck, found.counts.clean, found.errors) == (True, True, ())
    assert found.refused == 1
    assert found.counts.redone == 1
    assert found.recovery is not None
    assert found.recovery.detection_ms is not None


def test_a_worker_that_was_stopped_with_the_file_is_let_go_on_though_it_had_no_lease(tmp_path: Path):
    """Its first commit takes a lease: nobody can see one, and nobody can go on."""
    found = trial(tmp_path, Point.IN_COMMIT, How.STOP, 1, Scenario.QUEUE)
    assert (found.struck, found.counts.clean, found.errors) == (True, True, ())
    assert found.recovery is not None
    assert found.recovery.detection_ms is None
    assert found.recovery.stood_ms is not None


def test_an_execution_that_stands_still_for_too_long_counts_as_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It was finished in the end, but only because the trial ended the standstill."""
    monkeypatch.setattr("streamlanes.chaos.plan.STOOD_MOST_MS", 10.0)
    found = trial(tmp_path, Point.BEFORE_CHECKPOINT, How.KILL, 2)
    assert found.recovery is not None
    assert found.recovery.stood_ms is not None
    assert found.recovery.stood_ms > 10
    assert found.counts == Counts(redone=found.counts.redone, unfinished=1)


def test_the_guarded_sender_makes_each_effect_once_and_the_wrong_ones_do_not(tmp_path: Path):
    """Acceptance case G3: every call is carried out and its answer lost; 200 calls, three retries."""
    done = run("durable", "effects", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    sent = {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert {one["durability"] for one in sent.values()} == {"sqlite-full"}
    assert (sent["guarded"]["effects"], sent["guarded"]["ok"]) == (200, 200)
    assert (sent["asked-first"]["effects"], sent["asked-first"]["ok"]) == (200, 200)
    assert sent["no-key"]["effects"] > 200
    for wrong in ("no-key", "key-per-attempt", "key-stored-after", "key-in-memory"):
        assert sent[wrong]["duplicated"] >= 200, wrong


RECEIVER = """
import sys
from streamlanes.durable.receiver import Receiver
print(Receiver().url, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("endpoint", "code", "duplicated"), [("naive", 1, 10), ("guarded", 0, 0)])
def test_ones_own_endpoint_in_its_place(tmp_path: Path, endpoint: str, code: int, duplicated: int):
    process = subprocess.Popen(
        [sys.executable, "-c", RECEIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    command = ["durable", "effects", "-n", "10", "--url", f"{url}/{endpoint}", "--json"]
    blind = run(*command, cwd=tmp_path)
    found = json.loads(blind.stdout)
    assert blind.returncode == 0, "without a ledger nothing is proven"
    assert found["duplicated"] is None
    assert "--ledger" in found["why_not_counted"]
    assert (found["ok"], found["differing"]) == (10, duplicated)
    counting = run(*command, "--ledger", f"{url}/{endpoint}/ledger", cwd=tmp_path)
    assert counting.returncode == code
    assert json.loads(counting.stdout)["duplicated"] == duplicated
    elsewhere = run(*command, "--ledger", f"{url}/nowhere", cwd=tmp_path)
    assert elsewhere.returncode == 3
    assert "JSON object of counts" in json.loads(elsewhere.stdout)["why_not_counted"]
    other = {"naive": "guarded", "guarded": "naive"}[endpoint]
    wrong = run(*command, "--ledger", f"{url}/{other}/ledger", cwd=tmp_path)
    assert (wrong.returncode, json.loads(wrong.stdout)["duplicated"]) == (3, None)
    process.communicate("")
    gone = run(*command, cwd=tmp_path)
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)


def test_workers_that_cannot_start_end_a_cell_of_the_lane(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "MOST_BEGUN", 2)
    monkeypatch.setattr(steps, "task", lambda *about: {"mode": "nobody"})
    cell = Cell(
        lane="chaos", backend="threads", client="none", workload="documents", calls=1, axes=Axes(kills=1)
    )
    with pytest.raises(
        CellEnded, match=r"only 0 of 1 kills struck, in 2 trials: .*KeyError: 'nobody'"
    ) as ended:
        strike(cell)
    assert ended.value.status.name is StatusName.CRASHED, "and so breaks the gate"


def test_killed_runs_repeat_no_cell_and_lose_none(tmp_path: Path):
    found = run_killed(1, tmp_path, seed=1, tell=lambda *_: None)
    assert found.passed, found
    assert found.kills == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["chaos", "--store", "sqlit"], "did you mean 'sqlite'?"),
        (["chaos", "--target", "runs"], "did you mean 'run'?"),
        (["chaos", "--scenario", "rainbw"], "did you mean 'rainbow'?"),
        (["chaos", "--kills", "0"], "--kills"),
        (["chaos", "--target", "run", "--store", "sqlite"], "--store means nothing to --target run"),
        (["chaos", "--target", "run", "--scenario", "steps"], "--scenario means nothing to --target run"),
        (["effects", "--url", "localhost:80"], "begins with http:// or https://"),
        (["effects", "--ledger", "http://x/"], "name that with --url"),
        (["effects", "-n", "0"], "--calls"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, args: list[str], says: str):
    done = run("durable", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr


def test_no_postgresql_is_the_users_to_mend(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "postgresql://me:secret@127.0.0.1:1/x")
    monkeypatch.setattr(postgres, "OPENING_S", 0.2)
    with pytest.raises(
        UserError, match=r"no PostgreSQL at 127\.0\.0\.1:1/x .*; start it, or name another"
    ) as no:
        durable_cli.chaos(kills=1, store="postgres")
    assert "secret" not in str(no.value)
    assert "\n" not in str(no.value)
