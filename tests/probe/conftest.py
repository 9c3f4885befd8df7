"""Real processes for the probe to look at."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

Child = tuple[subprocess.Popen[str], str]


@pytest.fixture
def child() -> Iterator[Callable[[str], Child]]:
    """Starts a Python script in a process group of its own and waits for the one line it prints.

    The script gets the standard library only and is killed, with all it forked, after the test.
    """
    started: list[subprocess.Popen[str]] = []

    def start(script: str) -> Child:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):  # it may have ended, and been waited for
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
