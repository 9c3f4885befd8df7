"""The libraries as clients, small and real: all calls, all tokens, plain and TLS, nothing foreign loaded."""

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CLIENTS
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

CALLS = 8
SDK = (
    "httpx2 httpcore2 anyio h11 idna jiter sniffio truststore pydantic pydantic_core annotated_types "
    "typing_extensions typing_inspection"
)
LOADED = {
    "aiohttp": "aiohttp aiohappyeyeballs aiosignal attr cython_runtime frozenlist idna multidict propcache "
    "typing_extensions yarl",
    "httpx": "httpx httpcore anyio certifi h11 idna sniffio typing_extensions",
    "requests": "requests urllib3 certifi charset_normalizer cython_runtime idna",
    "openai": f"openai {SDK}",
    "anthropic": f"anthropic docstring_parser opentelemetry {SDK}",
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
    assert set(made.interpreter["modules"]) - loop - set(LOADED[client].split()) == {"streamlanes"}
