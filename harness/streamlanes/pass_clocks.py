"""CPU clocks of one pass: of its processes, its provider and a server that runs for it, read from outside."""

import contextlib
import time
from collections.abc import Sequence

import numpy as np

from streamlanes.facts import CpuReading
from streamlanes.probe.cpu import process_cpu_ns
from streamlanes.providers import Providers


class PassClocks:
    """A process that ended keeps its last reading. progress: the column whose sum is read with the clocks."""

    def __init__(
        self,
        pids: Sequence[int],
        serving: Providers | None,
        server: Sequence[int] = (),
        progress: Sequence[int] | None = None,
    ) -> None:
        self._pids = pids
        self._server_pids = server
        self._providers = serving
        self._progress = progress
        self._cell: dict[int, int] = {}
        self._server: dict[int, int] = {}

    def read(self) -> CpuReading:
        """All clocks now."""
        for pids, last in ((self._pids, self._cell), (self._server_pids, self._server)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    last[pid] = process_cpu_ns(pid)
        provider_ns = self._providers.cpu_ns() if self._providers else 0
        done = 0 if self._progress is None else int(np.asarray(self._progress).sum())
        server_ns = sum(self._server.values())
        return CpuReading(time.perf_counter_ns(), dict(self._cell), provider_ns, server_ns, done)


def spent_ns(readings: Sequence[CpuReading]) -> int:
    """CPU of cell, provider and server from the first reading to the last."""
    first, last = readings[0], readings[-1]
    beside_ns = last.provider_ns - first.provider_ns + last.server_ns - first.server_ns
    return last.cell_total_ns - first.cell_total_ns + beside_ns
