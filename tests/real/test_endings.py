"""However a run ends, nothing is left running and nothing measured is lost."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from commands import ARGV, end, left_behind, records, run, started

TINY = ["--set", "ttft_ms=20", "--set", "gap_ms=20", "--set", "tokens=5"]
COMMAND = ["run", "-b", "asyncio,threads,process-pool,processes+uvloop", "-n", "20", "-w", "lesson", *TINY]


def ids(folder: Path) -> list[str]:
    path = folder / "records.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line)["cell"]["id"] for line in lines]


def wait_for(what: object, timeout_s: float = 60.0) -> None:
    until = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < until, "it did not come to it"
        time.sleep(0.01)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_keeps_what_it_has_and_goes_on(tmp_path: Path, how: signal.Signals, code: int):
    out = tmp_path / "out"
    process = started(*COMMAND, "--out", str(out), cwd=tmp_path)
    wait_for(lambda: ids(out))
    returned, errors = end(process, how)
    assert returned == code, errors
    assert "kept" in errors
    assert "Traceback" not in errors
    assert left_behind(tmp_path) == []
    before = ids(out)
    done = run(*COMMAND, "--out", str(out), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "continuing" in done.stderr
    assert ids(out)[: len(before)] == before
    assert len(set(ids(out))) == len(ids(out)) == 4
    assert len(records(done)) == 4


def test_kill_9_at_ten_random_moments_then_complete(tmp_path: Path):
    out = tmp_path / "out"
    draw = random.Random(time.time_ns())
    for _ in range(10):
        process = started(*COMMAND, "--out", str(out), cwd=tmp_path)
        time.sleep(draw.uniform(0.0, 2.0))
        before = ids(out)
        end(process, signal.SIGKILL)
        assert left_behind(tmp_path) == []
        assert ids(out)[: len(before)] == before, "a written record stays"
    done = run(*COMMAND, "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(set(ids(out))) == len(ids(out)) == 4, "every cell once"


def test_two_runs_at_once_on_one_folder(tmp_path: Path):
    out = tmp_path / "out"
    first = started(*COMMAND, "--out", str(out), cwd=tmp_path)
    wait_for((out / "records.jsonl").exists)
    second = run(*COMMAND, "--out", str(out), cwd=tmp_path)
    assert second.returncode == 2
    assert "in use" in second.stderr
    assert second.stderr.count("\n") == 1
    _, errors = first.communicate(timeout=120)
    assert first.returncode == 0, errors
    assert len(ids(out)) == 4


def processes_of(cwd: Path, module: str) -> list[psutil.Process]:
    """The command's children that run this module."""
    found = []
    for each in psutil.process_iter():
        try:
            if each.cwd() == str(cwd) and module in each.cmdline():
                found.append(each)
        except psutil.Error:
            continue
    return found


DYING = """
run = { memory = false }
[[cells]]
backends = ["asyncio", "threads"]
client = "streams"
workload = "lesson"
calls = [20]
set = { ttft_ms = 2500 }
"""


@pytest.mark.parametrize(
    ("module", "word"), [("streamlanes.cell", "SIGKILL"), ("streamlanes.provider", "the provider's process")]
)
def test_a_process_that_dies_is_a_crashed_cell_and_the_run_goes_on(tmp_path: Path, module: str, word: str):
    # No memory pass: a process that dies there costs the cell its memory and nothing else.
    (tmp_path / "dying.toml").write_text(DYING)
    process = started("run", "dying.toml", "--json", cwd=tmp_path)
    wait_for(lambda: any(each.num_fds() > 20 for each in processes_of(tmp_path, "streamlanes.cell")))
    victims = processes_of(tmp_path, module)
    for each in victims:
        each.kill()
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert victims
    statuses = [json.loads(line)["status"] for line in out.splitlines()]
    assert sorted(status["name"] for status in statuses) == ["crashed", "ok"]
    assert word in next(status["reason"] for status in statuses if status["name"] == "crashed")
    assert left_behind(tmp_path) == []


def test_output_that_goes_nowhere_costs_no_record(tmp_path: Path):
    quick = ["run", "-b", "asyncio", "-c", "timer", "-n", "5", "-w", "lesson", "--set", "tokens=2", "--out"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*ARGV, *quick, "full"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *ARGV, *quick, "closed"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (0, "")
    assert len(ids(tmp_path / "closed")) == 1
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run([*ARGV, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (141, "")
