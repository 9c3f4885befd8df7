"""The durable lane and the chaos lane, real and small: every store, every backend, kills as records."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import left_behind, records, run
from streamlanes.cells import Axes, Cell
from streamlanes.durable.vfs import Unavailable, Watch
from streamlanes.hearing import CellEnded
from streamlanes.lanes.durable import LANE
from streamlanes.process import Bench
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

EXECUTIONS, STEPS = 6, 40


@pytest.fixture(scope="module")
def durable_bench() -> Iterator[Bench]:
    made = Bench(LANE, 128)
    yield made
    made.close()


def measured(
    bench: Bench,
    store: str,
    backend: str = "asyncio",
    client: str = "none",
    *,
    memory: bool = False,
    **axes: object,
) -> Record:
    what = Cell(
        lane="durable",
        backend=backend,
        client=client,
        workload="documents",
        calls=EXECUTIONS,
        axes=Axes(store=store, **({"steps": STEPS} | axes)),
        memory=memory,
        budget_s=60,
    )
    return record(what, LANE, {}, bench.measure(what))


def whole(made: Record) -> None:
    """Every step is kept and counted once."""
    assert made.status.name is StatusName.OK
    assert made.errors == {}
    assert made.counts["ok"] == made.counts["calls"] == EXECUTIONS
    assert made.work["done"] == EXECUTIONS * STEPS
    assert made.durable["lost"] == made.durable["duplicated"] == made.durable["redone"] == 0


@pytest.mark.parametrize(
    ("store", "backend"), [("none", "asyncio"), ("sqlite-normal", "uvloop"), ("sqlite-full", "threads")]
)
def test_every_step_is_kept_under_every_backend(durable_bench: Bench, store: str, backend: str):
    made = measured(durable_bench, store, backend)
    whole(made)
    assert made.durable["fsync_us"] > 0
    assert made.interpreter["durability"] == store
    if store == "none":
        assert made.durable["written_per_useful"] is None
        assert made.missing["durable.written_per_useful"] == "nothing is kept"
    else:
        assert made.durable["written_per_useful"] > 1
        assert made.durable["stored_bytes_per_step"] > 1024
        assert made.interpreter["requests"] >= EXECUTIONS * STEPS


def test_a_commit_a_step_syncs_each_and_a_delay_is_slept_in_each(durable_bench: Bench):
    try:
        Watch()
    except Unavailable as why:
        pytest.skip(f"not tested: {why}")
    made = measured(durable_bench, "sqlite-full", group_commit=False, sync_ms=2)
    whole(made)
    assert made.durable["largest_commit"] == 1
    assert made.durable["syncs_per_step"] >= 1
    assert made.durable["ack_ms"]["p50"] is None or made.durable["ack_ms"]["p50"] >= 2
    assert made.time["wall_s"] >= 0.002 * EXECUTIONS * STEPS, "no sleep is shorter than asked for"
    shared = measured(durable_bench, "sqlite-full")
    assert shared.durable["syncs_per_step"] < 1
    assert shared.durable["largest_commit"] > 1


def test_a_cell_that_goes_on_for_a_time_has_its_window(durable_bench: Bench):
    before = set(os.listdir(tempfile.gettempdir()))
    made = measured(durable_bench, "sqlite-normal", memory=True, steps=None, run_s=0.6)
    left = set(os.listdir(tempfile.gettempdir())) - before
    assert not [name for name in left if name.startswith("streamlanes-steps-")]
    assert made.status.name is StatusName.OK
    assert made.durable["window_s"] > 0
    assert made.work["per_s"] > 0
    assert made.work["cpu_us_per_unit"] > 0
    assert made.durable["ack_ms"]["count"] > 0
    assert made.durable["lost"] == made.durable["duplicated"] == 0
    assert made.counts["ok"] == EXECUTIONS
    assert made.memory["plateau_pss_bytes"] > made.memory["bare_bytes"] > 0


@pytest.mark.parametrize(("backend", "client"), [("asyncio", "streams"), ("threads", "timer")])
def test_a_step_can_be_a_call(durable_bench: Bench, backend: str, client: str):
    made = measured(durable_bench, "sqlite-normal", backend, client, steps=3, tokens=4)
    assert made.errors == {}
    assert made.work["done"] == 3 * EXECUTIONS
    assert made.durable["lost"] == made.durable["duplicated"] == 0
    if client == "streams":
        assert made.provider["requests"] == 3 * EXECUTIONS


@pytest.mark.parametrize("backend", ["asyncio", "threads"])
def test_on_postgres_too(durable_bench: Bench, backend: str):
    pytest.importorskip("psycopg")
    try:
        made = measured(durable_bench, "postgres", backend, sync_ms=1)
    except CellEnded as ended:
        if ended.status.name is not StatusName.UNSUPPORTED:
            raise
        pytest.skip(f"not tested: {ended.status.reason}")
    whole(made)
    assert made.interpreter["fsync"] == "on"
    assert made.durable["syncs_per_step"] > 0
    assert made.durable["written_bytes_per_step"] > 1024
    assert made.durable["stored_bytes_per_step"] > 1024
    assert made.durable["connection_wait_us"] >= 0
    assert made.time["wall_s"] >= 0.001 * STEPS, "each commit waited for a delayed flush"


def test_the_commands_of_both_lanes(tmp_path: Path):
    durable = "run --lane durable -n 4 --set steps=20 --set store=none,sqlite-normal --json"
    done = run(*durable.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {each["cell"]["axes"]["store"]: each for each in records(done)}
    assert set(found) == {"none", "sqlite-normal"}
    assert {each["work"]["done"] for each in found.values()} == {80}
    (page,) = tmp_path.glob("results/runs/*/report/index.html")
    assert page.is_file()
    chaos = "run --lane chaos --set point=before-checkpoint --set kills=1 --json --out killed"
    done = run(*chaos.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (made,) = records(done)
    assert made["status"]["name"] == "ok"
    counted = {
        name: made["chaos"][name] for name in ("kills", "lost", "duplicated", "false_done", "unfinished")
    }
    assert counted == {"kills": 1, "lost": 0, "duplicated": 0, "false_done": 0, "unfinished": 0}
    assert made["chaos"]["control_duplicated"] > 0
    assert made["chaos"]["way_back_ms"] > 0
    assert (tmp_path / "killed" / "report" / "what-a-kill-costs.svg").is_file()
    assert "CHAOS   sqlite-full: 1 kill at 1 point: 0 lost" in done.stderr
    assert json.loads((tmp_path / "killed" / "run.json").read_text())["profile"]["name"] == "custom"
    assert left_behind(tmp_path) == []
