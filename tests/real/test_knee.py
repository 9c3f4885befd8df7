"""A small knee search, end to end: it ends, in its own order, and resumes where it was left."""

import json
from pathlib import Path

from commands import records, run
from streamlanes.knee import bracket, knees
from streamlanes.profile_files import load
from streamlanes.record import Record, decode
from streamlanes.search import MOST_CELLS

PROFILE = """
[run]
seed = 1

[[cells]]
backends = ["asyncio"]
client = "timer"
workload = "lesson"
calls = [4]
set = { ttft_ms = 10, gap_ms = 10, tokens = 2 }

[[knee]]
backends = ["asyncio"]
client = "timer"
workload = "lesson"
calls = [4]
start_per_s = 1000
set = { ttft_ms = 10 }
"""


def searched(lines: list[dict[str, object]]) -> list[Record]:
    return [decode(json.dumps(line).encode()) for line in lines]


def test_a_search_ends_and_goes_on_from_its_records(tmp_path: Path):
    profile = tmp_path / "tiny.toml"
    profile.write_text(PROFILE)
    command = ["run", str(profile), "--json", "--out", str(tmp_path / "out")]
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = searched(records(done))
    plan = load(str(profile)).plan()
    for place, record in enumerate(found):
        step = plan.next(found[:place])
        assert step is not None
        assert step.id == record.cell.id, "each cell follows from the records before it"
    assert plan.next(found) is None
    assert found[0].cell.knee_bound_ms is None, "cells come before searches"
    (knee,) = knees(found)
    assert 0 < len(knee.steps) <= MOST_CELLS
    assert knee.bracket == bracket(knee.steps)
    low, high = knee.bracket.bears_per_s, knee.bracket.fails_per_s
    assert low is None or high is None or low < high
    assert "at most 17 cells" in done.stderr
    assert "4 calls (lesson) bear" in " ".join(done.stderr.split())
    assert (tmp_path / "out" / "report" / "capacity.svg").is_file()

    path = tmp_path / "out" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    again = run(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "continuing" in again.stderr
    resumed = searched(records(again))
    assert [one.cell.id for one in resumed[: len(lines) - 1]] == [one.cell.id for one in found[:-1]]
    assert resumed[len(lines) - 1].cell.id == found[-1].cell.id, "the cell that was lost is measured again"


def test_a_flood_brings_every_token(tmp_path: Path):
    done = run(*"run -b asyncio -c streams -n 4 -w flood --set tokens=50 --json".split(), cwd=tmp_path)
    (made,) = records(done)
    assert made["status"]["name"] == "ok"
    assert made["counts"]["tokens"] == 200
    assert made["counts"]["lost_tokens"] == made["counts"]["extra_tokens"] == 0
    assert made["work"]["per_s"] > 0
    assert made["work"]["cpu_us_per_unit"] > 0
    assert "below-timer-grain" not in [flag["name"] for flag in made["flags"]]
