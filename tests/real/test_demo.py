"""The demo as a person runs it, with fewer calls; and the commands over a store."""

import json
import sqlite3
from pathlib import Path

import pytest

from commands import left_behind, run
from streamlanes.demo.acts import ACTS
from streamlanes.durable.activities import activity
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker
from streamlanes.durable.sqlite import SQLite


def test_the_demo_is_as_expected_and_leaves_nothing_behind(tmp_path: Path):
    done = run("durable", "demo", "--crash-at", "2", "-n", "30", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    played = [json.loads(line)["act"] for line in done.stdout.splitlines()]
    assert [act["name"] for act in played] == list(ACTS)
    assert all(act["holds"] and act["figures"] for act in played)
    assert list(tmp_path.iterdir()) == []
    assert left_behind(tmp_path) == []


def test_one_act_in_words(tmp_path: Path):
    done = run("durable", "demo", "--act", "clock", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("[1/1] clock: ")
    assert "ANSWER  1 acts, 4 figures, all as expected" in done.stdout


@activity
def pay(cents: int) -> int:
    return cents


def order(cents: int) -> object:
    return pay(cents)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    database = SQLite(tmp_path / "agents.db")
    worker = Worker(database, "w")
    run_or_replay(order, EventLog(worker, "order-17"), 100)
    worker.close()
    database.close()
    return tmp_path / "agents.db"


def test_a_log_is_shown_looked_through_and_carried_to_another_store(store: Path):
    folder = store.parent
    shown = run("durable", "trace", "agents.db", "order-17", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "ANSWER  workflow order order-17: done, 1 claims, last w" in shown.stdout
    spans = run("durable", "trace", "agents.db", "order-17", "--json", cwd=folder)
    assert [len(json.loads(line)["resourceSpans"]) for line in spans.stdout.splitlines()] == [1, 1, 1]
    looked = run("durable", "audit", "agents.db", cwd=folder)
    assert looked.returncode == 0, looked.stderr
    assert (
        "ANSWER  1 executions, 0 steps or attempts begun again, 0 effects in doubt, 0 things" in looked.stdout
    )
    assert run("durable", "export", "agents.db", "order-17", "--out", "log.jsonl", cwd=folder).returncode == 0
    printed = run("durable", "export", "agents.db", "order-17", cwd=folder)
    assert printed.stdout == (folder / "log.jsonl").read_text()
    checked = run("durable", "import", "other.db", "log.jsonl", "--check", cwd=folder)
    assert (checked.returncode, checked.stdout) == (0, "order-17: 4 events, the log is whole\n")
    assert not (folder / "other.db").exists()
    taken = run("durable", "import", "other.db", "log.jsonl", cwd=folder)
    assert (taken.returncode, taken.stdout) == (0, "order-17: 4 events, the log is in other.db\n")
    again = run("durable", "export", "other.db", "order-17", cwd=folder)
    assert again.stdout == printed.stdout


def test_rows_that_cannot_be_end_with_1(store: Path):
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM events WHERE number = 2")
    connection.close()
    looked = run("durable", "audit", "agents.db", "--json", cwd=store.parent)
    assert looked.returncode == 1
    (said,) = map(json.loads, looked.stdout.splitlines())
    assert "event 2 of its log is missing" in said["execution"]["problems"][0]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["trace", "nowhere.db", "a"], "there is no store nowhere.db"),
        (["trace", "agents.db", "a"], "no execution 'a' in agents.db"),
        (["audit", "agents.db", "a"], "no execution 'a' in agents.db"),
        (["export", "agents.db", "a"], "no execution 'a' in agents.db"),
        (["export", "agents.db", "order-17", "--out", "agents.db"], "cannot write agents.db"),
        (["import", "agents.db", "nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["import", "agents.db", "agents.db"], "agents.db is no text"),
        (["import", "agents.db", "cut.jsonl"], "it is cut after line 2: 1 of 4 events"),
        (["import", "agents.db", "log.jsonl"], "execution order-17: it is in this store already"),
        (["demo", "--act", "clok"], "did you mean 'clock'?"),
        (["demo", "--crash-at", "0"], "--crash-at"),
    ],
)
def test_a_mistake_is_one_line(store: Path, args: list[str], says: str):
    if args[0] == "import":
        lines = run("durable", "export", "agents.db", "order-17", cwd=store.parent).stdout.splitlines(True)
        (store.parent / "log.jsonl").write_text("".join(lines))
        (store.parent / "cut.jsonl").write_text("".join(lines[:2]))
    done = run("durable", *args, cwd=store.parent)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr
