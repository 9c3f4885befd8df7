"""What a client costs: side by side, with a reason where a figure cannot be had."""

from collections.abc import Iterable
from typing import Any

import pytest

from records import record
from streamlanes.costs import SETUP, TOKEN, Against, Cost, Growth, costs
from streamlanes.facts import Missing
from streamlanes.record import FlagName, Record, StatusName

MIB = 1 << 20
PSS, HELD = "memory.plateau_pss_bytes", "memory.held_calls"


def cell(
    client: str, backend: str = "uvloop", calls: int = 500, *, token: float = 30.0, **more: Any
) -> Record:
    """A cell whose process holds 10 MiB, and 50 KiB a call."""
    figures = {TOKEN: token, SETUP: 4 * token, PSS: 10 * MIB + calls * 51_200, HELD: calls}
    axes = {"tls": True} if more.pop("tls", True) else {}
    return record(backend, calls, client=client, figures=figures | more.pop("figures", {}), axes=axes, **more)


def found(records: Iterable[Record]) -> dict[tuple[str, str], Cost]:
    return {(cost.client, cost.way): cost for cost in costs(records)}


def pairs(client: str, ratios: Iterable[float], calls: int = 125, **more: Any) -> list[Record]:
    """As many repetitions of uvloop and asyncio, uvloop so many times asyncio."""
    made = []
    for repetition, ratio in enumerate(ratios, start=1):
        made.append(cell(client, "asyncio", calls, token=40.0, repetition=repetition, **more))
        made.append(cell(client, "uvloop", calls, token=40.0 * ratio, repetition=repetition, **more))
    return made


def test_nothing_is_said_where_no_two_libraries_ran_under_one_backend():
    apart = [cell("aiohttp"), cell("requests", "threads"), cell("streams"), cell("floor")]
    assert costs(apart) == []
    assert costs([]) == []
    assert len(costs([*apart, cell("httpx")])) == 5


def test_a_cost_is_of_one_client_one_backend_and_one_transport():
    made = found([cell("aiohttp"), cell("httpx"), cell("httpx", tls=False), cell("streams", "threads")])
    assert list(made) == [
        ("httpx", "uvloop, plain"),
        ("httpx", "uvloop, TLS"),
        ("aiohttp", "uvloop, TLS"),
        ("streams", "threads, TLS"),
    ]


def test_sizes_are_compared_at_the_one_that_most_have_and_beyond_it_at_the_largest():
    made = found([cell("aiohttp"), cell("aiohttp", calls=2000), cell("httpx"), cell("httpx", calls=125)])
    aiohttp, httpx = made["aiohttp", "uvloop, TLS"], made["httpx", "uvloop, TLS"]
    assert aiohttp.at == httpx.at == 500
    assert aiohttp.here is not None
    assert aiohttp.here.calls == 500
    assert aiohttp.largest is not None
    assert aiohttp.largest.calls == 2000
    assert httpx.largest is None


def test_memory_lies_on_a_line_through_three_sizes():
    made = found([cell("httpx"), *(cell("aiohttp", calls=calls) for calls in (125, 500, 2000))])
    growth = made["aiohttp", "uvloop, TLS"].growth
    assert isinstance(growth, Growth)
    assert growth.held == (125, 500, 2000)
    assert growth.fit.slope == pytest.approx(51_200)
    assert growth.fit.intercept == pytest.approx(10 * MIB)
    few = made["httpx", "uvloop, TLS"].growth
    assert few == Missing("a slope takes memory at 3 sizes, and it was read at 500")


def test_a_cell_that_was_stopped_has_memory_and_no_times():
    stopped = cell("httpx", calls=2000, status=StatusName.OVER_BUDGET)
    cost = found([cell("aiohttp"), cell("httpx"), cell("httpx", calls=125), stopped])["httpx", "uvloop, TLS"]
    assert isinstance(cost.growth, Growth)
    assert cost.largest is not None
    assert cost.largest.pooled(SETUP) is None


def test_memory_that_nobody_read_says_why():
    unread = {"figures": {PSS: None, HELD: None}, "missing": {PSS: "no memory pass was asked for"}}
    cost = found([cell("aiohttp"), cell("httpx", **unread)])["httpx", "uvloop, TLS"]
    assert cost.growth == Missing("no memory pass was asked for")


def test_uvloop_is_held_against_asyncio_in_pairs():
    made = found([*pairs("aiohttp", (0.7, 0.8, 0.75)), cell("httpx")])
    against = made["aiohttp", "uvloop, TLS"].against
    assert isinstance(against, Against)
    assert (against.calls, against.ratio.pairs) == (125, 3)
    assert against.ratio.value == pytest.approx(0.749, abs=0.001)
    assert against.ratio.low is not None
    assert against.ratio.low < 0.749
    assert isinstance(made["aiohttp", "asyncio, TLS"].against, Missing)


def test_another_transport_is_no_pair():
    made = found([*pairs("aiohttp", (0.7,), tls=False), cell("aiohttp", "uvloop", 125), cell("httpx")])
    assert isinstance(made["aiohttp", "uvloop, TLS"].against, Missing)
    assert isinstance(made["aiohttp", "uvloop, plain"].against, Against)


def test_flagged_cells_are_in_no_pair():
    noisy = pairs("aiohttp", (0.7, 0.8), flags=[FlagName.NOISY_HOST])
    against = found([*noisy, cell("httpx")])["aiohttp", "uvloop, TLS"].against
    assert against == Missing("no repetition in which both uvloop and asyncio are clean")


def test_the_knee_is_that_of_the_same_way():
    step = record(
        "uvloop",
        100,
        client="aiohttp",
        axes={"tls": True, "rate_per_s": 9000},
        figures={"latency.stream_ms.p99": 3.0},
        knee_bound_ms=50.0,
    )
    made = found([cell("aiohttp"), cell("aiohttp", tls=False), cell("httpx"), step])
    knee = made["aiohttp", "uvloop, TLS"].knee
    assert knee is not None
    assert knee.bears == ">= 9,000 tokens/s"
    assert made["aiohttp", "uvloop, plain"].knee is None
    assert made["httpx", "uvloop, TLS"].knee is None


def test_a_setting_of_the_client_makes_a_way_of_its_own():
    bare = record(
        "uvloop", 500, client="httpx", axes={"tls": True, "keep_alive": False}, figures={TOKEN: 1.0}
    )
    kept = record("uvloop", 500, client="httpx", axes={"tls": True, "keep_alive": True}, asked={"tls": True})
    ways = [way for client, way in found([cell("aiohttp"), kept, bare]) if client == "httpx"]
    assert ways == ["uvloop, TLS", "uvloop, keep alive off, TLS"]
