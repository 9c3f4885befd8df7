"""CPU clocks of one pass: its processes and its provider's, read from outside."""

import contextlib
import time
from collections.abc import Sequence

from streamlanes.facts import CpuReading
from streamlanes.probe.cpu import process_cpu_ns
from streamlanes.providers import Providers


class PassClocks:
    """CPU clocks of a pass, read from outside. A process that ended keeps its last reading."""

    def __init__(self, pids: Sequence[int], serving: Providers | None) -> None:
        self._pids = pids
        self._providers = serving
        self._last: dict[int, int] = {}

    def read(self) -> CpuReading:
        """All clocks now."""
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                self._last[pid] = process_cpu_ns(pid)
        provider_ns = self._providers.cpu_ns() if self._providers else 0
        return CpuReading(time.perf_counter_ns(), dict(self._last), provider_ns)


def spent_ns(readings: Sequence[CpuReading]) -> int:
    """CPU of cell and provider from the first reading to the last."""
    first, last = readings[0], readings[-1]
    return last.cell_total_ns - first.cell_total_ns + last.provider_ns - first.provider_ns
