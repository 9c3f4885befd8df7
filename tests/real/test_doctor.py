"""The command itself: what it prints where, its exit codes, and a small real measurement."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import commands
from commands import end, left_behind, run

SMALL = (
    "from streamlanes import checkup; "
    "checkup.SIZE = checkup.Size(timer_gap_ms=3.7, timers=20, identical=2, calls=5, ramp_s=0.1); "
    "from streamlanes.cli import main; main()"
)


def test_json_is_one_object_with_measured_timers_and_noise(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", SMALL, "doctor", "--json", "-n", "50", "-b", "threads"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    made = json.loads(done.stdout)
    assert (made["schema"], made["fits"], made["calls"]) == ("streamlanes.doctor/1", True, 50)
    checkup = made["checkup"]
    for timer in ("asyncio", "uvloop", "time.sleep"):
        assert checkup["timers"][timer]["count"] == 20
        assert checkup["timers"][timer]["p50_ms"] <= checkup["timers"][timer]["p99_ms"]
    assert checkup["timers"]["time.sleep"]["early_share"] == 0, "a blocking sleep never ends early"
    assert checkup["noise"]["memory.per_call_bytes"]["repetitions"] == 2
    assert checkup["noise"]["time.cpu_us_per_token"]["median"] > 0
    assert checkup["ramp_up"]["first_ms"] >= checkup["ramp_up"]["best_ms"] > 0
    assert not list(tmp_path.iterdir()), "it leaves no file"
    assert left_behind(tmp_path) == []


def test_quick_reads_limits_only_and_answers(tmp_path: Path):
    done = run("doctor", "--quick", "-n", "50", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "LIMITS" in done.stdout
    assert "TIMERS" not in done.stdout
    assert "ANSWER    50 calls of the streams client under asyncio fit" in done.stdout


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_limit_that_forbids_the_calls_is_exit_4_and_named(tmp_path: Path, extra: list[str]):
    limits = {resource.RLIMIT_NOFILE: (256, 256)}
    done = run("doctor", "--quick", "-n", "500", *extra, cwd=tmp_path, limits=limits)
    assert done.returncode == 4
    assert "nofile: 564 open files needed, 256 allowed" in " ".join(done.stdout.split())
    if extra:
        made = json.loads(done.stdout)
        assert made["limits"][0]["limit"] == "nofile"
        assert made["limits"][0]["bites_at_calls"] == 193
        assert made["open_files_hard"] == 256


def test_it_can_be_interrupted(tmp_path: Path):
    process = commands.started("doctor", cwd=tmp_path)
    assert process.stderr is not None
    assert "measuring" in process.stderr.readline()
    code, errors = end(process, signal.SIGTERM)
    assert code == 143
    assert "Traceback" not in errors
    assert left_behind(tmp_path) == []
