"""How long a log of completed activities takes to be replayed, and what an activity costs when it is logged.

Held to: 10,000 completed activities in at most 1 s on one core.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.durable.activities import activity
from streamlanes.durable.events import Events
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker
from streamlanes.durable.sqlite import SQLite, Synchronous
from timing import Note, fastest_s, ns_each

ACTIVITIES = 10_000
MOST_S = 1.0
PAYLOAD = {"text": "x" * 200, "scores": [0.5, 0.25], "place": 7}


@activity
def plain(number: int, payload: object) -> object:
    return {"number": number, "payload": payload}


@activity
async def awaited(number: int, payload: object) -> object:
    return {"number": number, "payload": payload}


def in_thread(count: int) -> int:
    for number in range(count):
        plain(number, PAYLOAD)
    return count


async def in_loop(count: int) -> int:
    for number in range(count):
        await awaited(number, PAYLOAD)
    return count


@pytest.mark.parametrize("workflow", [in_thread, in_loop])
@pytest.mark.usefixtures("awake")
def test_replay(benchmark: BenchmarkFixture, note: Note, tmp_path: Path, workflow: Callable[[int], object]):
    count = ACTIVITIES if benchmark.enabled else 20
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL)
    worker = Worker(database)
    log = EventLog(worker, "a")
    run_or_replay(workflow, log, count)
    before = len(Events(database).read("a"))
    result = benchmark.pedantic(
        lambda: run_or_replay(workflow, log, count), rounds=5 if benchmark.enabled else 1
    )
    assert result == count
    assert len(Events(database).read("a")) == before == 2 * count + 2
    note(activities=count, replay_s=fastest_s(benchmark), ns_an_activity=ns_each(benchmark, count))
    worker.close()
    database.close()
    took_s = fastest_s(benchmark)
    assert took_s is None or took_s <= MOST_S
