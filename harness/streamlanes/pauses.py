"""How long the garbage collector stopped the measured process. Standard library only."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Pauses:
    """Counts collections and their time; costs nothing between them."""

    def __init__(self) -> None:
        self.collections = 0
        self.total_ns = 0
        self.max_ns = 0
        self._began_ns = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """The callback that gc.callbacks asks for."""
        now = time.perf_counter_ns()
        if phase == "start":
            self._began_ns = now
            return
        took = now - self._began_ns
        self.collections += 1
        self.total_ns += took
        self.max_ns = max(self.max_ns, took)

    def facts(self) -> dict[str, float]:
        """The figures of the record's `gc` group."""
        return {
            "collections": self.collections,
            "pause_ms_total": self.total_ns / 1e6,
            "pause_ms_max": self.max_ns / 1e6,
        }


@contextmanager
def watched() -> Iterator[Pauses]:
    """Watch collections for as long as the block runs."""
    pauses = Pauses()
    gc.callbacks.append(pauses)
    try:
        yield pauses
    finally:
        gc.callbacks.remove(pauses)


def merged(one: Any, other: Any) -> Any:
    """The figures of two processes together; None stands for no process."""
    if not one or not other:
        return one or other
    return {
        "collections": one["collections"] + other["collections"],
        "pause_ms_total": one["pause_ms_total"] + other["pause_ms_total"],
        "pause_ms_max": max(one["pause_ms_max"], other["pause_ms_max"]),
    }
