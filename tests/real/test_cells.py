"""Every backend under every client, small and real: all tokens, all calls, nothing foreign loaded."""

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CALL, CLIENTS
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.providers import Providers
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

CALLS = 8
STANDARD = [name for name, info in CLIENTS.items() if not info.needs and name != CALL]
"""Libraries are in test_clients.py, people's own functions in test_own_call.py."""
ALLOWED = {"asyncio": set(), "uvloop": {"uvloop", "cython_runtime"}}


def cell(backend: str, client: str, *, calls: int = CALLS, memory: bool = False, **axes: object) -> Cell:
    tiny = {"ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4.0, **axes}
    if BACKENDS[backend].bounded:
        tiny.setdefault("width", 3)
    return Cell(
        lane="io",
        backend=backend,
        client=client,
        workload="lesson",
        calls=calls,
        axes=Axes(**tiny),
        memory=memory,
        budget_s=60,
    )


def measured(bench: Bench, what: Cell) -> Record:
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize("client", STANDARD)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_call_and_token_is_accounted_for(bench: Bench, backend: str, client: str):
    made = measured(bench, cell(backend, client))
    counts = made.counts
    assert made.status.name is StatusName.OK
    assert counts["ok"] == counts["started"] == counts["calls"] == CALLS
    assert counts["tokens"] == counts["expected_tokens"] == CALLS * 4
    assert counts["lost_tokens"] == counts["extra_tokens"] == counts["unaccounted_calls"] == 0
    assert made.latency["lateness_ms"]["count"] == CALLS * 4
    assert counts["peak_in_flight"] <= (3 if BACKENDS[backend].bounded else CALLS)
    if CLIENTS[client].network:
        assert made.provider["requests"] == CALLS
        assert made.latency["provider_ms"]["min"] >= 0, "the provider sends no token early"
        assert made.latency["client_ms"]["min"] > 0, "nothing is received before it is sent"
    else:
        assert made.latency["provider_ms"]["p50"] is None
    assert made.work["cpu_us_per_unit"] > 0

    allowed = {"streamlanes"} | ALLOWED.get(backend.rpartition("+")[2] if "+" in backend else backend, set())
    assert set(made.interpreter["modules"]) <= allowed, "the measured process imports only what it measures"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_memory_pass_holds_every_call(bench: Bench, backend: str):
    made = measured(bench, cell(backend, "streams", memory=True))
    held = 3 if BACKENDS[backend].bounded else CALLS
    assert made.memory["held_calls"] == held
    assert made.memory["bare_bytes"] > 0
    assert made.memory["plateau_pss_bytes"] > made.memory["bare_bytes"]
    assert made.counts["fds_peak"] >= held
    if BACKENDS[backend].threads_per_call:
        assert made.counts["threads_peak"] >= held
    assert made.latency["lateness_ms"]["count"] == CALLS * 4, "the timed pass is another one"


def test_the_timer_holds_too(bench: Bench):
    for backend in ("asyncio", "threads"):
        assert measured(bench, cell(backend, "timer", memory=True)).memory["held_calls"] == CALLS


def test_stacks_of_threads_are_reserved_and_found(bench: Bench):
    small = measured(bench, cell("threads", "streams", memory=True, stack_kib=256)).memory
    large = measured(bench, cell("threads", "streams", memory=True, stack_kib=4096)).memory
    assert small["thread_stack_reserved_bytes"] >= CALLS * 250 * 1024
    assert large["thread_stack_reserved_bytes"] >= CALLS * 4000 * 1024
    assert 0 < large["thread_stack_resident_bytes"] < large["thread_stack_reserved_bytes"] / 10


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("backend", ["processes+asyncio", "process-pool"])
def test_every_start_method_runs(bench: Bench, backend: str, method: str):
    made = measured(bench, cell(backend, "streams", start_method=method))
    assert made.counts["ok"] == CALLS
    assert made.interpreter["start_method"] == method


def test_what_was_set_is_what_ran(bench: Bench):
    made = measured(bench, cell("threads", "timer", stack_kib=512, switch_ms=50.0, gc="freeze"))
    assert made.interpreter["stack_kib"] == 512
    assert made.interpreter["switch_ms"] == pytest.approx(50.0)
    assert made.cell.axes["gc"] == "freeze"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_was_set_holds_in_the_workers_too(bench: Bench, method: str):
    axes = {"stack_kib": 512, "switch_ms": 50.0, "gc": "freeze", "start_method": method}
    made = measured(bench, cell("processes+threads", "timer", **axes))
    assert made.interpreter["stack_kib"] == 512
    assert made.interpreter["switch_ms"] == pytest.approx(50.0)
    assert made.counts["ok"] == CALLS


def test_calls_of_one_token_are_held_too(bench: Bench):
    made = measured(bench, cell("asyncio", "streams", memory=True, tokens=1.0))
    assert made.memory["held_calls"] == CALLS
    assert made.counts["ok"] == CALLS


def test_a_process_that_dies_in_the_memory_pass_costs_the_memory_figures_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    def gone(self: Providers) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(Providers, "release", gone)
    made = measured(bench, cell("asyncio", "streams", memory=True))
    assert made.status.name is StatusName.OK
    assert made.memory["per_call_bytes"] is None
    assert "Connection refused" in made.missing["memory.per_call_bytes"]


def test_workers_share_the_calls(bench: Bench):
    made = measured(bench, cell("processes+uvloop", "floor", workers=3))
    assert made.interpreter["workers"] == 3
    assert made.interpreter["loop"] == "uvloop.Loop"
    assert made.counts["ok"] == CALLS
