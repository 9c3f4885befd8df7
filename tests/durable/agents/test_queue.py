"""AgentQueue on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from durable_checks.agents import AgentChecks, queue_of, woken
from streamlanes.durable.sqlite import SQLite, Synchronous


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "store.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


class TestAgents(AgentChecks):
    """See AgentChecks."""


def test_an_agent_that_was_taken_before_a_restart_of_the_machine_is_taken_after_it(tmp_path: Path):
    now_s = [1_000_000.0]
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL, clock=lambda: now_s[0])
    queue = queue_of(database)
    before = woken(queue, "a0")
    assert queue.take("v", 1, 1.0).result() == [], "a shorter lease takes nothing from a longer one"
    now_s[0] = 0.0
    (after,) = queue.take("v", 1, 1.0).result()
    assert (after.agent, after.number, after.batch) == ("a0", 1, before.batch)
    database.close()
