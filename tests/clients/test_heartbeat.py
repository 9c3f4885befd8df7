"""A loop that stands still is told apart from one that works; with a fake loop and fake clocks."""

from collections.abc import Callable

import pytest

from streamlanes.clients.heartbeat import BEAT_S, Heartbeat


class Loop:
    """Holds the callback that was asked for last."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.asked.append((delay_s, callback))


@pytest.mark.parametrize(
    ("took_ms", "worked_ms", "told"),
    [
        (101, 1, 0),  # on time
        (199, 0, 0),  # late, but less than the bound
        (201, 5, 1),  # stood still
        (700, 100, 1),  # worked a little, stood still for most of it
        (700, 600, 0),  # late because it worked
        (700, 310, 0),  # in doubt it worked
    ],
)
def test_only_a_loop_that_stands_still_is_told(took_ms: int, worked_ms: int, told: int):
    loop, clock, cpu, heard = Loop(), [0], [0], []
    Heartbeat(loop, lambda: heard.append(1), lambda: clock[0], lambda: cpu[0])
    for beats in (1, 2):
        delay_s, beat = loop.asked[-1]
        assert delay_s == BEAT_S
        clock[0] += took_ms * 1_000_000
        cpu[0] += worked_ms * 1_000_000
        beat()
        assert len(heard) == told * beats
    assert len(loop.asked) == 3, "it goes on"
