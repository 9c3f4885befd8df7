"""Facts of a durable cell whose figures are known beforehand."""

from dataclasses import replace

import numpy as np

from facts_made import MS, ORIGIN_NS, facts, schedule, timed
from streamlanes.facts import CpuReading, Facts
from streamlanes.lanes.durable import LANE
from streamlanes.lanes.executions import COLUMNS, Executions
from streamlanes.samples import Outcome

EXECUTIONS, STEPS, EVERY_MS = 4, 200, 10
SAID = {
    "durability": "sqlite-full",
    "architecture": "checkpoints",
    "fsync_us": [200.0, 300.0],
    "useful_bytes": 1000,
    "syncs": 400,
    "written_bytes": 2_400_000,
    "stored_bytes": 1_600_000,
    "commits": 100,
    "requests": 900,
    "largest": 12,
    "waiting_ns": 50_000,
}


def made(own: dict[str, object] | None = None, **changes: object) -> Facts:
    """Two seconds in which each of four executions keeps a step every 10 ms, acknowledged after 2 ms and in
    the last half after 3; half a core of the cell, a quarter of a server."""
    plan = schedule(EXECUTIONS)
    base = timed(plan, with_provider=False)
    at = ORIGIN_NS + np.arange(1, STEPS + 1) * EVERY_MS * MS
    calls = replace(
        base.calls,
        begin=np.full(EXECUTIONS, ORIGIN_NS),
        end=np.full(EXECUTIONS, at[-1] + MS),
        outcome=np.full(EXECUTIONS, int(Outcome.OK)),
    )
    readings = tuple(
        CpuReading(
            ORIGIN_NS + step * 100 * MS, {7: step * 50 * MS}, 0, step * 25 * MS,
            done=min(STEPS, step * 10) * EXECUTIONS,
        )
        for step in range(22)
    )  # fmt: skip
    columns = {name: np.zeros(EXECUTIONS, np.int64) for name in COLUMNS}
    columns |= {"kept": np.full(EXECUTIONS, STEPS), "left": np.full(EXECUTIONS, STEPS)}
    columns |= {"first_kept": np.full(EXECUTIONS, at[0]), "last_kept": np.full(EXECUTIONS, at[-1])}
    rows = np.repeat(at, EXECUTIONS)
    columns |= {"acked_at": rows, "ack": np.where(rows > ORIGIN_NS + 1000 * MS, 3 * MS, 2 * MS)}
    columns |= own or {}
    whole = {"calls": calls, "own": columns, "interpreter": SAID, "readings": readings, **changes}
    return facts(plan, timed=replace(base, **whole))


def figure(of: Facts, path: str) -> object:
    (metric,) = [each for each in LANE.metrics if each.path == path]
    return metric.of(Executions(of))
