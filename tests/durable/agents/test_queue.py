"""AgentQueue on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from durable_checks.agent_caps import AgentCapChecks
from durable_checks.agents import AgentChecks
from streamlanes.durable.sqlite import SQLite, Synchronous


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "store.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


class TestAgents(AgentChecks, AgentCapChecks):
    """See durable_checks."""
