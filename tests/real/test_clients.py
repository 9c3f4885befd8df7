"""The libraries as clients, small and real: all calls, all tokens, plain and TLS, nothing foreign loaded."""

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CLIENTS
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.record import FlagName, Record, StatusName
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
    "httpx-http2": "httpx httpcore h2 hpack hyperframe anyio certifi h11 idna sniffio typing_extensions",
    "requests": "requests urllib3 certifi charset_normalizer cython_runtime idna",
    "openai": f"openai {SDK}",
    "anthropic": f"anthropic docstring_parser opentelemetry {SDK}",
}
"""What a cell may have in its memory beside the standard library and its backend's."""


def measured(bench: Bench, backend: str, client: str, calls: int = CALLS, **axes: object) -> Record:
    tiny = {"ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4.0, **axes}
    what = Cell(
        lane="io", backend=backend, client=client, workload="lesson", calls=calls, axes=Axes(**tiny),
        memory=False, budget_s=60,
    )  # fmt: skip
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize(
    ("backend", "client", "tls"),
    [
        ("uvloop", "aiohttp", True),
        ("asyncio", "httpx", True),
        ("threads", "httpx", False),
        ("threads", "requests", True),
        ("uvloop", "httpx-http2", True),
        ("threads", "httpx-http2", False),
        ("uvloop", "openai", False),
        ("threads", "openai", True),
        ("asyncio", "anthropic", True),
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
    assert set(info.needs) <= set(made.interpreter["libraries"])
    loop = {"uvloop", "cython_runtime"} if backend == "uvloop" else set()
    assert set(made.interpreter["modules"]) - loop - set(LOADED[client].split()) == {"streamlanes"}


@pytest.mark.parametrize(("client", "admitted"), [("aiohttp", 300), ("aiohttp-defaults", 100)])
def test_b3_a_librarys_own_pool_never_passes_for_the_backend(bench: Bench, client: str, admitted: int):
    """Acceptance case B3: 300 calls of 10 tokens, all at once, over a second. Other pools: test_pools.py."""
    made = measured(bench, "asyncio", client, 300, ttft_ms=100.0, gap_ms=100.0, tokens=10.0)
    assert made.counts["ok"] == made.provider["requests"] == 300
    assert made.provider["peak_in_flight"] == admitted, "as the provider saw it"
    capped = [flag.evidence for flag in made.flags if flag.name is FlagName.CAPPED]
    assert capped == ([] if admitted == 300 else [{"peak_in_flight": 100, "target": 300}])


@pytest.mark.parametrize(("keep_alive", "connections"), [(None, 1), (False, CALLS)])
def test_one_call_after_the_other_comes_over_a_kept_connection_or_over_new_ones(
    bench: Bench, keep_alive: bool | None, connections: int
):
    made = measured(bench, "thread-pool", "requests", width=1, keep_alive=keep_alive, tls=True)
    assert made.counts["ok"] == made.provider["requests"] == CALLS
    assert made.provider["connections"] == connections
    assert made.cell.axes["keep_alive"] is (keep_alive is None)
