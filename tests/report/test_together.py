"""Clients that share their charts."""

from pathlib import Path

from records import record
from streamlanes.lanes.io import LANE
from streamlanes.report import together
from streamlanes.report.charts import draw
from streamlanes.report.load import Run
from streamlanes.series import clients_of, points

LATE = {"latency.stream_ms.p99": 2.0}


def quick() -> list:
    """Libraries over TLS, the standard library, and the floor."""
    made = [
        record(backend, calls, client="aiohttp", axes={"tls": True}, figures=LATE)
        for backend in ("asyncio", "uvloop")
        for calls in (500, 2000)
    ]
    made += [
        record("threads", calls, client="requests", axes={"tls": True}, figures=LATE) for calls in (500, 2000)
    ]
    made += [record("uvloop", 2000, client="floor", figures=LATE)]
    return made + [record(backend, 500, figures=LATE) for backend in ("asyncio", "uvloop", "threads")] * 3


def shared(records: list) -> list[tuple[str, ...]]:
    return together.groups(clients_of(records), points(records))


def test_libraries_that_no_backend_has_both_of_are_drawn_together_and_first():
    assert shared(quick()) == [("aiohttp", "requests"), ("streams",), ("floor",)]


def test_a_common_backend_another_transport_or_another_kind_keeps_them_apart():
    tls = {"tls": True}
    assert shared([record(client="aiohttp", axes=tls), record(client="httpx", axes=tls)]) == [
        ("aiohttp",),
        ("httpx",),
    ]
    assert shared([record(client="aiohttp", axes=tls), record("threads", client="requests")]) == [
        ("aiohttp",),
        ("requests",),
    ]
    assert shared([record(client="aiohttp"), record("threads", client="streams")]) == [
        ("aiohttp",),
        ("streams",),
    ]


def test_lines_tell_their_client_where_there_are_several():
    some = [point for point in points(quick()) if point.client in ("aiohttp", "requests")]
    assert {point.line.label for point in together.named(some)} == {
        "asyncio, aiohttp",
        "uvloop, aiohttp",
        "threads, requests",
    }
    alone = [point for point in some if point.client == "aiohttp"]
    assert together.named(alone) == alone


def test_the_first_chart_is_of_the_libraries(tmp_path: Path):
    made = draw(Run(folder=tmp_path, info={}, records=quick()), LANE, tmp_path)
    first = next(chart for chart in made if chart.svg is not None)
    assert first.name == "lateness-aiohttp-requests"
    text = first.svg.read_text(encoding="utf-8")
    for label in ("uvloop, aiohttp", "threads, requests", "aiohttp over TLS, requests over TLS"):
        assert label in text
    assert {"lateness-streams", "lateness-floor"} <= {chart.name for chart in made}
