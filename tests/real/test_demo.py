"""The demo as a person runs it, with fewer calls; and workflows whose workers are killed."""

import json
from pathlib import Path

import pytest

from commands import left_behind, run
from streamlanes.demo.acts import ACTS


def test_the_demo_is_as_expected_and_leaves_nothing_behind(tmp_path: Path):
    done = run("durable", "demo", "--crash-at", "2", "-n", "30", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    played = [json.loads(line)["act"] for line in done.stdout.splitlines()]
    assert [act["name"] for act in played] == list(ACTS)
    assert all(act["holds"] and act["figures"] for act in played)
    assert list(tmp_path.iterdir()) == []
    assert left_behind(tmp_path) == []


def test_kills_in_workflows_lose_nothing_and_naive_retry_repeats(tmp_path: Path):
    done = run("durable", "chaos", "--kills", "4", "--scenario", "replay", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    (verdict,) = [one["verdict"] for one in said if "verdict" in one]
    assert verdict["kills"] == 4
    assert [verdict[name] for name in ("lost", "duplicated", "false_done", "unfinished")] == [0, 0, 0, 0]
    (control,) = [one["control"] for one in said if "control" in one]
    assert control["counts"]["duplicated"] == 3


def test_one_act_in_words(tmp_path: Path):
    done = run("durable", "demo", "--act", "clock", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("[1/1] clock: ")
    assert "ANSWER  1 acts, 4 figures, all as expected" in done.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["demo", "--crash-at", "0"], "--crash-at"),
        (["trace", "a", "--db", "nowhere.db"], "no store at nowhere.db; name its file"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, args: list[str], says: str):
    done = run("durable", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr
