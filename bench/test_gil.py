"""Whether each kernel lets other threads run: two threads against one, and what a third one sees.

A kernel that gives up the GIL for its work does more in two threads (as far as this machine lets two
processes do so, see the ceiling), and a thread beside it that sleeps a millisecond wakes up on time. One
that holds the GIL does no more, and the sleeper waits for the switch interval. See gil.py.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.cpu import KERNELS, ceiling
from timing import Note

SECONDS = 0.3
PROGRAM = Path(__file__).parent / "gil.py"


def figures(name: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, str(PROGRAM), name, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_gil(benchmark: BenchmarkFixture, note: Note, name: str):
    seconds = SECONDS if benchmark.enabled else 0.01
    look = ceiling.measure(2, seconds)
    found = benchmark.pedantic(figures, args=(name, seconds), rounds=1)
    assert found["document_us"] > 0
    note(**found, two_processes=round(look["together_per_s"] / look["alone_per_s"], 2))
