"""The simulated provider beside Starlette on uvicorn (uvloop, httptools). Long: run with -m long.

The same client, the same calls, the same due times; the CPU clock of the server's process is read from
outside in the time in which, by the schedule, all calls stream: it is the same for both, also where a server
falls behind. `json`: the peer dumps each chunk as it is due, the usual way. `ready`: it is spared that. Held
to: at most 0.3 times Starlette's CPU per token. Reported; only the tokens are asserted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from real import Measured, abba, bench_of, cell, compared, doubts, measured, shown
from streamlanes.children import Launcher
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.provider import frames
from streamlanes.provider.chat import chat
from streamlanes.readings import Window
from streamlanes.wire.http1 import ResponseDecoder
from timing import Note

LOADS = [(10_000, 20_000), (2_000, 20_000), (2_000, 10_000)]
"""Streams and tokens a second: the load of the yardsticks in C, the same rate through fewer streams, and half
of it, where neither server is near its limit."""
PAIRS = 4
SECONDS = 11
"""Of tokens for each call."""
SETTLE_S = 1.0
"""After the last call's first token is due: a server that is behind is still answering requests then."""
TINY = {"ramp_s": 0.0, "arrival": "burst", "ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4}

pytestmark = pytest.mark.long


class Peers(Launcher):
    """Starts the peer where a cell's provider would be started."""

    def __init__(self, events: str) -> None:
        super().__init__()
        self._argv = ["starlette_server", events]

    def spawn(self, argv: Sequence[str], cpus: Sequence[int] | None, fds: Sequence[int]) -> int:
        """As the launcher does."""
        if argv[-1] == "streamlanes.provider":
            argv = [*argv[:-1], *self._argv]
        return super().spawn(argv, cpus, fds)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = bench_of(LANE)
    yield made
    made.close()


@pytest.fixture(scope="module", params=["json", "ready"])
def peers(importable: None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench whose cells are served by the peer."""
    for name in ("starlette", "uvicorn", "httptools"):
        pytest.importorskip(name)
    made = bench_of(LANE)
    made.launcher.close()
    made.launcher = Peers(request.param)
    yield made
    made.close()


def test_the_peer_sends_what_the_provider_sends():
    """The same bytes, but for the HTTP head and chunks around them: those are uvicorn's."""
    peer = pytest.importorskip("starlette_server")
    tokens, name, body = 3, frames.call_id(7), ResponseDecoder()
    way = chat(usage=True, padding=False)
    writes = [frames.token(way, 7, k) for k in range(tokens)]
    writes[0] = way.first(name, 4) + writes[0]
    writes[-1] += way.last(name, 4, tokens)
    assert [body.feed(data) for data in writes] == [peer.events(7, k, tokens, 4) for k in range(tokens)]


@pytest.mark.parametrize(("calls", "rate_per_s"), LOADS)
def test_provider_against_starlette(
    benchmark: BenchmarkFixture, note: Note, bench: Bench, peers: Bench, calls: int, rate_per_s: int
):
    load = {"rate_per_s": float(rate_per_s), "tokens": SECONDS * rate_per_s // calls}
    calls, pairs, load = (calls, PAIRS, load) if benchmark.enabled else (20, 1, TINY)
    what = cell("uvloop", "floor", "steady", calls, **load)
    ours, theirs = benchmark.pedantic(
        abba,
        args=(pairs, lambda: measured(bench, what), lambda: measured(peers, what)),
        rounds=1,
    )
    for made in (ours, theirs):
        assert [one.record.counts["tokens"] for one in made] == [calls * load["tokens"]] * pairs
    assert all(one.record.provider for one in ours), "the provider answers /sim/stats"
    assert not any(one.record.provider for one in theirs), "the peer does not"
    a, b = [steady(one) for one in ours], [steady(one) for one in theirs]
    ratio = compared([one.us for one in a], [one.us for one in b])
    note(provider_to_starlette=ratio, window_s=shown([one.window_s for one in a]))
    for name, found in (("provider", a), ("starlette", b)):
        us, per_s = shown([one.us for one in found]), shown([one.per_s for one in found], 0)
        note(**{f"{name}_us": us, f"{name}_per_s": per_s})
    for name, made in (("provider", ours), ("starlette", theirs)):
        note(
            **{
                f"{name}_late_p99_ms": shown([one.record.figure("latency.provider_ms.p99") for one in made]),
                f"{name}_flags": doubts(made),
            }
        )


@dataclass(frozen=True)
class Steady:
    """The time in which all calls stream by the schedule: the server's CPU per token that came, and how many
    came a second. us: None where there is no such time."""

    us: float | None
    per_s: float | None
    window_s: float


def steady(made: Measured) -> Steady:
    """From the outside readings within that time."""
    calls = made.calls
    schedule, start_ns = calls.schedule, calls.start_ns
    from_ns = (start_ns + schedule.offset_ns[schedule.first[:-1]]).max() + SETTLE_S * 1e9
    until_ns = (start_ns + schedule.life_ns).min()
    inside = [reading for reading in calls.timed.readings if from_ns <= reading.at_ns <= until_ns]
    if len(inside) < 2:
        return Steady(None, None, 0.0)
    window = Window(inside[0], inside[-1])
    tokens = calls.received_within(window)
    window_s = (window.last.at_ns - window.first.at_ns) / 1e9
    cpu_ns = window.last.provider_ns - window.first.provider_ns
    return Steady(cpu_ns / 1e3 / tokens if tokens else None, tokens / window_s, window_s)
