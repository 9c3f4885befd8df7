"""The libraries as clients, small and real: all tokens, all calls, plain and over TLS, nothing foreign loaded."""

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CLIENTS
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

CALLS = 8
HTTPX_NEEDS = {"anyio", "certifi", "h11", "idna", "typing_extensions"}
SDK_NEEDS = set[str]()
LOADED = {
    "aiohttp": {"aiohttp"},
    "httpx": {"httpx", "httpcore", *HTTPX_NEEDS},
    "requests": {"requests", "urllib3"},
    "openai": {"openai", *SDK_NEEDS},
    "anthropic": {"anthropic", *SDK_NEEDS},
}
"""What a cell may have in its memory beside the standard library and its backend's."""


def measured(bench: Bench, backend: str, client: str, **axes: object) -> Record:
    tiny = {"ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4.0, **axes}
    what = Cell(
        lane="io", backend=backend, client=client, workload="lesson", calls=CALLS, axes=Axes(**tiny),
        memory=False, budget_s=60,
    )  # fmt: skip
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize(
    ("backend", "client", "tls"),
    [
        ("asyncio", "aiohttp", False),
        ("uvloop", "aiohttp", True),
        ("asyncio", "httpx", True),
        ("uvloop", "httpx", False),
        ("threads", "httpx", True),
        ("threads", "requests", False),
        ("threads", "requests", True),
        ("asyncio", "openai", False),
        ("uvloop", "openai", True),
        ("threads", "openai", True),
        ("asyncio", "anthropic", True),
        ("uvloop", "anthropic", False),
        ("processes+asyncio", "aiohttp", False),
        ("process-pool", "requests", False),
    ],
)
def test_every_call_and_token_is_accounted_for(bench: Bench, backend: str, client: str, tls: bool):
    axes = {"width": 3} if BACKENDS[backend].bounded else {}
    made = measured(bench, backend, client, tls=tls, **axes)
    counts = made.counts
    assert made.status.name is StatusName.OK
    assert counts["ok"] == counts["started"] == counts["calls"] == made.provider["requests"] == CALLS
    assert counts["tokens"] == counts["expected_tokens"] == CALLS * 4
    assert counts["lost_tokens"] == counts["extra_tokens"] == counts["unaccounted_calls"] == 0
    assert made.latency["lateness_ms"]["count"] == CALLS * 4
    assert made.latency["connect_ms"]["min"] > 0, "the library says when a request is written"
    assert made.latency["client_ms"]["min"] > 0, "nothing is received before it is sent"
    assert (made.cell.axes["tls"], made.cell.axes["keep_alive"]) == (tls, True)

    info = CLIENTS[client]
    assert set(made.interpreter["libraries"]) <= set(info.libraries)
    assert info.needs in made.interpreter["libraries"]
    loop = {"uvloop", "cython_runtime"} if backend == "uvloop" else set()
    assert set(made.interpreter["modules"]) <= {"streamlanes", *loop, *LOADED[client]}
