"""What a worker under chaos says, and how it strikes itself."""

import json
import os
import signal
import threading
import time

from streamlanes.durable.points import Point


def say(event: str, **more: object) -> None:
    """One line for the parent, whole even when threads speak at once."""
    line = json.dumps({"event": event, "at_ns": time.monotonic_ns(), **more})
    os.write(1, line.encode() + b"\n")


class Strike:
    """Kills or stops this process at the `hit`-th passage of a point."""

    def __init__(self, point: str, hit: int, how: str) -> None:
        self._point = Point(point)
        self._left = hit
        self._signal = signal.Signals[how]
        self._lock = threading.Lock()

    def __call__(self, point: Point) -> None:
        if point is self._point:
            with self._lock:
                self._left -= 1
                if self._left == 0:
                    say("strike")
                    os.kill(os.getpid(), self._signal)
        kept(point)


def kept(point: Point) -> None:
    """Say that a step is kept."""
    if point is Point.AFTER_CHECKPOINT:
        say("kept")
