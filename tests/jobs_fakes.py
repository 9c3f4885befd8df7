"""Fakes for the measured side: a table pair, a scripted client, a receiver that notes."""

import numpy as np

from streamlanes.samples import Table, call_columns, lane_columns, schedule_columns
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
