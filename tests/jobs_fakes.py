"""Fakes for the measured side: a table pair, a scripted client, a receiver that notes."""

import os
from pathlib import Path

import numpy as np

from streamlanes.clients.base import Setting
from streamlanes.facts import CallStamps
from streamlanes.jobs.base import Job
from streamlanes.jobs.io import Receiver
from streamlanes.samples import Table, call_columns, lane_columns, schedule_columns
from streamlanes.wire import dialect
from streamlanes.workload import Schedule, build, resolve


def small_schedule(calls: int = 2, **axes: object) -> Schedule:
    chosen = {"ramp_s": 0.0, "arrival": "burst", "ttft_ms": 1.0, "gap_ms": 1.0, "tokens": 3.0, **axes}
    return build(resolve("steady", calls, chosen), calls)


def tables(schedule: Schedule, own: tuple[str, ...] = ()) -> tuple[Table, Table]:
    """The schedule's table, filled, and the calls' table, empty; own: a lane's columns besides."""
    size = (schedule.calls, schedule.tokens)
    timetable = Table.create("schedule", schedule_columns(*size))
    np.asarray(timetable["start"])[:] = schedule.start_ns
    np.asarray(timetable["first"])[:] = schedule.first
    np.asarray(timetable["offset"])[:] = schedule.offset_ns
    return timetable, Table.create("calls", (*call_columns(*size), *lane_columns(own, schedule.calls)))


def setting(schedule: Table, **others: object) -> Setting:
    """What a client without a provider is opened with."""
    return Setting(schedule, **{"addresses": (), "hold": False, **others})


def receiver(call: int, tabled: tuple[Table, Table], **others: object) -> Receiver:
    """A call's receiver over a pair of tables; `others` set its setting."""
    made = setting(tabled[0], **others)
    return Receiver(call, made, tabled[1], dialect(made.api))


def stamps(samples: Table) -> CallStamps:
    """Copies of the calls' columns, as the parent takes them."""
    return CallStamps(**{name: np.array(samples[name]) for name, _ in samples.columns})


class NotingJob(Job):
    """A job that adds a line to a file, with its process, whenever it is asked for something. Here, since
    a worker that was spawned imports it by name."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def open(self) -> None:
        self._note("open")

    async def __call__(self, call: int) -> None:
        self._note(str(call))

    async def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        line = f"{os.getpid()} {what}\n".encode()
        fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
