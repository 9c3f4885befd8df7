"""The commands over a store: traces, audits, exports, and one line for every mistake."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from streamlanes import durable_logs
from streamlanes.durable.activities import activity
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker
from streamlanes.durable.sqlite import SQLite
from streamlanes.errors import UserError

NO_A = "no execution 'a' in agents.db; list all with `streamlanes durable audit`"


@activity
def pay(cents: int) -> int:
    return cents


def order(cents: int) -> object:
    return pay(cents)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in the current folder, with one workflow that is done."""
    monkeypatch.chdir(tmp_path)
    database = SQLite(tmp_path / "agents.db")
    worker = Worker(database, "w", version=2)
    run_or_replay(order, EventLog(worker, "order-17"), 100)
    worker.close()
    database.close()
    return tmp_path


def test_a_log_is_shown(store: Path, capsys: pytest.CaptureFixture[str]):
    durable_logs.trace("order-17")
    assert "ANSWER  workflow order order-17: done, 1 claims, last w" in capsys.readouterr().out
    durable_logs.trace("order-17", json=True)
    lines = capsys.readouterr().out.splitlines()
    assert [len(json.loads(line)["resourceSpans"]) for line in lines] == [1, 1, 1]


def test_spans_without_times_are_counted(store: Path, capsys: pytest.CaptureFixture[str]):
    with sqlite3.connect("agents.db") as connection:
        connection.execute(
            "INSERT INTO executions (thread_id, status, owner, token, epoch, expires, lease_s) "
            "VALUES ('bare', 'open', 'w', '', 1, 0, 0)"
        )
        connection.execute("INSERT INTO checkpoints VALUES ('bare', 0, '{}', '[]', 1, 1)")
    connection.close()
    durable_logs.trace("bare", json=True)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "1 spans left out: nobody kept their times\n")


def test_a_store_is_looked_through(store: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(typer.Exit) as end:
        durable_logs.audit()
    assert end.value.exit_code == 0
    assert "ANSWER  1 executions, 0 steps or attempts begun again, 0 effects" in capsys.readouterr().out
    with pytest.raises(typer.Exit):
        durable_logs.audit("order-17", json=True)
    execution, latency = map(json.loads, capsys.readouterr().out.splitlines())
    assert execution["execution"]["problems"] == []
    assert latency["latency"]["name"] == "pay"
    assert len(latency["latency"]["buckets"]) == len(latency["latency"]["bounds_ms"]) + 1


def test_rows_that_cannot_be_end_with_1(store: Path, capsys: pytest.CaptureFixture[str]):
    with sqlite3.connect("agents.db") as connection:
        connection.execute("DELETE FROM events WHERE number = 2")
    connection.close()
    with pytest.raises(typer.Exit) as end:
        durable_logs.audit()
    assert end.value.exit_code == 1
    assert "WRONG   order-17: execution order-17: event 2 of its log is missing" in capsys.readouterr().out


def test_a_log_is_carried_to_another_store(store: Path, capsys: pytest.CaptureFixture[str]):
    durable_logs.export("order-17", Path("log.jsonl"))
    durable_logs.export("order-17")
    printed = capsys.readouterr().out
    assert printed == Path("log.jsonl").read_text()
    assert json.loads(printed.splitlines()[0])["version"] == 2
    durable_logs.import_(Path("log.jsonl"), check=True, db="other.db")
    assert capsys.readouterr().out == "order-17: 4 events, the log is whole\n"
    assert not Path("other.db").exists()
    durable_logs.import_(Path("log.jsonl"), db="other.db")
    assert capsys.readouterr().out == "order-17: 4 events, the log is in other.db\n"
    durable_logs.export("order-17", db="other.db")
    assert capsys.readouterr().out == printed


def _import(store: Path, name: str, text: Callable[[list[str]], list[str]]) -> None:
    durable_logs.export("order-17", store / "whole.jsonl")
    (store / name).write_text("".join(text((store / "whole.jsonl").read_text().splitlines(True))))
    durable_logs.import_(store / name, db="other.db")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda _: durable_logs.trace("a"), NO_A),
        (lambda _: durable_logs.audit("a"), NO_A),
        (lambda _: durable_logs.export("a"), NO_A),
        (
            lambda _: durable_logs.export("order-17", Path("agents.db")),
            "cannot write agents.db: File exists",
        ),
        (lambda _: durable_logs.import_(Path("no.jsonl"), db="other.db"), "cannot read no.jsonl"),
        (lambda _: durable_logs.import_(Path("agents.db"), db="other.db"), "agents.db is no text"),
        (lambda at: _import(at, "cut.jsonl", lambda lines: lines[:2]), "cut after line 2: 1 of 4 events"),
        (
            lambda at: _import(at, "cut.jsonl", lambda lines: [*lines[:2], lines[2][:9]]),
            "cut at line 3: 1 of 4 events",
        ),
        (lambda _: durable_logs.trace("a", db="pyproject.toml"), "pyproject.toml is damaged"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_taken(store: Path, ask: Callable[[Path], None], says: str):
    Path("pyproject.toml").write_text("no store, " * 99)
    with pytest.raises(UserError, match=r".") as mistake:
        ask(store)
    assert says in str(mistake.value)
    assert "\n" not in str(mistake.value)
    assert not Path("other.db").exists()


def test_a_log_that_is_there_already_is_left_as_it_is(store: Path):
    durable_logs.export("order-17", Path("log.jsonl"))
    with pytest.raises(UserError, match="execution order-17: it is in this store already"):
        durable_logs.import_(Path("log.jsonl"))
