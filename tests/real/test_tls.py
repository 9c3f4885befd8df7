"""TLS as an axis: every call verified and accounted for, in both forms, in both passes."""

import os

import pytest

from streamlanes.cells import Axes, Cell
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

CALLS = 6
TOKENS = 4
ALLOWED = {"asyncio": set(), "uvloop": {"uvloop", "cython_runtime"}, "threads": set()}


def measured(bench: Bench, backend: str, client: str, *, memory: bool = False, **axes: object) -> Record:
    tiny = {"ttft_ms": 20.0, "gap_ms": 10.0, "tokens": float(TOKENS), "tls": True, **axes}
    what = Cell(
        lane="io",
        backend=backend,
        client=client,
        workload="lesson",
        calls=CALLS,
        axes=Axes(**tiny),
        memory=memory,
        budget_s=60,
    )
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize(
    ("backend", "client"), [("asyncio", "streams"), ("uvloop", "floor"), ("threads", "streams")]
)
def test_every_call_and_token_is_accounted_for_and_every_call_held(bench: Bench, backend: str, client: str):
    made = measured(bench, backend, client, memory=True)
    assert made.status.name is StatusName.OK
    assert made.cell.axes["tls"] is True
    assert made.counts["ok"] == made.provider["requests"] == CALLS
    assert made.counts["tokens"] == CALLS * TOKENS
    assert made.latency["provider_ms"]["min"] >= 0, "the provider sends no token early"
    assert made.latency["client_ms"]["min"] > 0, "nothing is received before it is sent"
    assert made.memory["held_calls"] == CALLS
    assert set(made.interpreter["modules"]) <= {"streamlanes"} | ALLOWED[backend], "nothing foreign is loaded"
    if backend == "asyncio":
        plain = measured(bench, backend, client, memory=True, tls=False)
        assert plain.cell.axes["tls"] is False
        more = made.memory["per_call_bytes"] - plain.memory["per_call_bytes"]
        assert more > 200_000, "asyncio keeps 256 KiB for each connection over TLS"


@pytest.mark.parametrize(("client", "method"), [("streams", "spawn"), ("floor", "fork")])
def test_a_worker_makes_a_context_of_its_own(bench: Bench, client: str, method: str):
    made = measured(bench, "processes+asyncio", client, start_method=method, workers=2)
    assert made.counts["ok"] == CALLS


def test_the_certificate_goes_with_the_run(bench: Bench):
    run = Bench(LANE, 4096)
    made = run.certificate
    assert os.path.exists(made.key)
    assert run.certificate is made, "one for all cells"
    run.close()
    assert not os.path.exists(made.trusted)
    assert not os.path.exists(made.key)
