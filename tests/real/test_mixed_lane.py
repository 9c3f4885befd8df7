"""The mixed lane: acceptance case D9, and the accounts of streams and texts."""

import json
from pathlib import Path

import pytest

from commands import records, run
from streamlanes.record import StatusName

PROFILE = """
[run]
lane = "mixed"
memory = false

[[cells]]
backends = ["asyncio"]
client = "streams"
workload = "flow"
calls = [20]
sweep = {{ offload = {offloads} }}
set = {{ tokens = 80, gap_ms = 10, ramp_s = 1.8, workers = 1, {work} }}
"""


def profile(tmp_path: Path, offloads: list[str], work: str) -> str:
    path = tmp_path / "mixed.toml"
    path.write_text(PROFILE.format(offloads=json.dumps(offloads), work=work))
    return str(path)


def test_d9_a_pure_python_thread_makes_every_token_late_and_a_process_does_not(tmp_path: Path):
    """One burner, 80 tokens at 10 ms. Whatever else runs on the machine only adds to lateness: it cannot
    make the thread look better than it is, and a process that was disturbed is tried again."""
    asked = profile(tmp_path, ["threads", "processes"], "load = 1.0")
    for attempt in range(3):
        done = run("run", asked, "--json", "--out", str(tmp_path / str(attempt)), cwd=tmp_path)
        found = {each["cell"]["axes"]["offload"]: each for each in records(done)}
        thread, process = (found[name]["mixed"]["lateness_ms"] for name in ("threads", "processes"))
        for made in found.values():
            assert made["status"]["name"] == StatusName.OK
            assert made["counts"]["ok"] == made["counts"]["calls"] == 20
            assert made["counts"]["lost_tokens"] == 0
            assert made["mixed"]["faults"] == 0
            assert made["interpreter"]["gil"] is True
            assert made["cell"]["axes"]["switch_ms"] == pytest.approx(5)
            assert made["mixed"]["lateness_ms"]["count"] > 0
        if found["threads"]["interpreter"]["gil"]:
            assert thread["p50"] >= 3, "a thread that holds the GIL keeps it for the switch interval"
        if process["p50"] < 1.5 and process["p50"] < thread["p50"] / 2:
            said = done.stderr[done.stderr.index("MIXED") :]
            assert said.index("processes") < said.index("threads"), "the report ranks them so"
            return
    pytest.fail(f"streams beside a process were late too: {process}, beside a thread: {thread}")


def test_without_work_nothing_is_handed_over(tmp_path: Path):
    done = run("run", profile(tmp_path, ["inline"], "load = 0"), "--json", cwd=tmp_path)
    (made,) = records(done)
    assert made["counts"]["ok"] == 20
    assert made["work"]["done"] == 0
    assert made["mixed"]["cores"] == 0
    assert made["mixed"]["lateness_ms"]["count"] > 0, "the window is there all the same"
