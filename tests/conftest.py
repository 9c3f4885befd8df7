"""Fixtures that several folders share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def bench() -> Iterator[object]:
    """One launcher for all real cells of a test run."""
    from streamlanes.lanes import lane
    from streamlanes.process import Bench

    made = Bench(lane("io"), 4096)
    yield made
    made.close()
