"""A loop that stands still is told apart from one that works; with a fake loop and fake clocks."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from streamlanes.clients import heartbeat
from streamlanes.clients.heartbeat import BEAT_S, Heartbeat, busy_clock


class Loop:
    """Holds the callback that was asked for last."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.asked.append((delay_s, callback))


@pytest.mark.parametrize(
    ("took_ms", "busy_ms", "told"),
    [
        (101, 1, 0),  # on time
        (199, 0, 0),  # late, but less than the bound
        (201, 5, 1),  # stood still
        (700, 100, 1),  # worked a little, stood still for most of it
        (700, 600, 0),  # late because it worked, or because others had the CPU
        (700, 310, 0),  # in doubt it was busy
    ],
)
def test_only_a_loop_that_stands_still_is_told(took_ms: int, busy_ms: int, told: int):
    loop, clock, busy, heard = Loop(), [0], [0], []
    Heartbeat(loop, lambda: heard.append(1), lambda: busy[0], lambda: clock[0])
    for beats in (1, 2):
        delay_s, beat = loop.asked[-1]
        assert delay_s == BEAT_S
        clock[0] += took_ms * 1_000_000
        busy[0] += busy_ms * 1_000_000
        beat()
        assert len(heard) == told * beats
    assert len(loop.asked) == 3, "it goes on"


def test_a_threads_clock_runs_while_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    read = busy_clock()
    if read is None:
        pytest.skip("this kernel keeps no such clock")
    before = read()
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    assert read() - before >= 40_000_000
    for text in ("0 0 0\n", None):
        path = tmp_path / "schedstat"
        path.write_text(text) if text else path.unlink()
        monkeypatch.setattr(heartbeat, "SCHEDSTAT", str(path))
        assert busy_clock() is None
