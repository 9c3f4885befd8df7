"""The yardsticks in bench/ at their smallest: every token comes on both sides. Nothing is timed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_yardstick_counts_what_it_compares():
    tests = (
        "bench/test_against_starlette.py::test_the_peer_sends_what_the_provider_sends",
        "bench/test_against_starlette.py::test_provider_against_starlette[json-10000-20000]",
        "bench/test_against_c.py::test_floor_and_provider_against_c",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "--benchmark-disable", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith(("PASSED", "SKIPPED"))]
    assert len(said) == len(tests)
    for line in said:
        assert line.startswith("PASSED") or "loopback_floor.c" in line, line
