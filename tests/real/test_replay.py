"""Traces replayed for real: every token accounted for, and too much asked for refused beforehand."""

import json
import resource
from pathlib import Path

import pytest

from commands import records, run


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """300 requests of 2 to 4 tokens in 3 s."""
    path = tmp_path / "mine.csv"
    rows = (f"2023-11-16 18:15:{i / 100:010.7f},9,{2 + i % 3}" for i in range(300))
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]))
    return path


def test_a_trace_is_replayed_and_every_token_comes(tmp_path: Path, trace: Path):
    command = (
        "run -b asyncio,threads -n 100 --set time_scale=4 --set ttft_ms=30 --set gap_ms=5 --json".split()
    )
    done = run(*command, "--set", f"trace={trace}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for made in records(done):
        cell, counts = made["cell"], made["counts"]
        assert (cell["workload"], cell["calls"]) == ("trace", 100)
        assert cell["axes"]["time_scale"] == 4
        assert cell["axes"]["trace"].startswith("mine.csv@")
        assert counts["ok"] == counts["started"] == 100
        assert counts["tokens"] == counts["expected_tokens"] == sum(2 + i % 3 for i in range(100))
        assert counts["lost_tokens"] == counts["extra_tokens"] == 0
        assert 0 < counts["mean_in_flight"] < counts["peak_in_flight"] <= 100
        assert made["memory"]["held_calls"] == counts["in_flight_target"] < 30
    (folder,) = tmp_path.glob("results/runs/*")
    info = json.loads((folder / "run.json").read_text())
    assert info["profile"]["cells"][0]["axes"]["trace"].startswith("mine.csv@")
    for kept in ("run.json", "records.jsonl", "report/index.html"):
        assert str(tmp_path) not in (folder / kept).read_text()


def test_a_compression_beyond_the_machine_ends_by_name_and_the_slow_replay_runs(tmp_path: Path, trace: Path):
    """300 calls in all, some 20 of them together in real time: it is the peak that has to fit."""
    low = {resource.RLIMIT_NOFILE: (256, 256)}
    command = "run -b asyncio -n 300 --set time_scale=1,1000 --set gap_ms=5 --json".split()
    done = run(*command, "--set", f"trace={trace}", cwd=tmp_path, limits=low)
    assert done.returncode == 0, done.stderr
    found = {made["cell"]["axes"]["time_scale"]: made for made in records(done)}
    assert found[1]["status"]["name"] == "ok"
    assert found[1]["counts"]["ok"] == 300
    assert found[1000]["status"]["name"] == "unsupported"
    assert found[1000]["status"]["reason"].startswith("nofile")
    assert "ulimit -Hn" in found[1000]["status"]["reason"]
    assert found[1000]["counts"]["mean_in_flight"] is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2023-11-16 18:15:09,9,-3", ["line 302", "GeneratedTokens is -3"]),
        ("2023-11-16 18:15:00,9,3", ["line 302", "sort"]),
        ("2023-11-16,9", ["line 302", "2 fields"]),
    ],
)
def test_a_broken_trace_is_bad_input_in_one_line(tmp_path: Path, trace: Path, row: str, words: list[str]):
    trace.write_text(f"{trace.read_text()}\n{row}\n")
    done = run("run", "-b", "asyncio", "-n", "5", "--set", f"trace={trace}", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for word in [str(trace), *words]:
        assert word in done.stderr
    assert not (tmp_path / "results").exists()
