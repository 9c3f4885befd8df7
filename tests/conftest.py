"""Fixtures that several folders share."""

import signal
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """A shell without job control starts what it puts in the background deaf to Ctrl-C, and so would be
    every command that the tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def bench() -> Iterator[object]:
    """One launcher for all real cells of a test run."""
    from streamlanes.lanes import lane
    from streamlanes.process import Bench

    made = Bench(lane("io"), 4096)
    yield made
    made.close()
