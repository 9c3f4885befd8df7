"""The figures of the durable lane: time, counts, work, and what keeping a step takes."""

from streamlanes.lanes import gc, memory
from streamlanes.lanes.base import Metric
from streamlanes.lanes.figures import HIGHER, LOWER, NEITHER, SPIN_DRIFT, count, divided, figure, jobs
from streamlanes.record import Quality
from streamlanes.walls import took_s

_TIME = (
    figure("time.wall_s", "s", LOWER, "the first execution's begin to the last one's end", took_s),
    figure("time.startup_s", "s", LOWER, "from exec to ready: the store open, a look at its disk",
           lambda e: e.timed.startup_s),
    SPIN_DRIFT,
)  # fmt: skip

_WORK = (
    figure("work.unit", "", NEITHER, "what a unit of work is", lambda e: "step"),
    figure("work.done", "steps", NEITHER, "steps acknowledged, of all executions", lambda e: e.done),
    figure(
        "work.per_s", "steps/s", HIGHER,
        "steps acknowledged a second while all executions were under way, see durable.window_s",
        lambda e: e.per_s,
    ),
    figure("work.cpu_us_per_unit", "us", LOWER, "CPU of the cell's processes in that time, a step",
           lambda e: e.cpu_us),
)  # fmt: skip


def _member(which: str) -> Metric:
    unit = "" if which == "count" else "ms"
    text = "from the end of a step's work until it is kept and its execution goes on"
    return figure(
        f"durable.ack_ms.{which}", unit, NEITHER if which == "count" else LOWER, f"{text}: {which}",
        lambda e: e.ack_ms[which],
    )  # fmt: skip


_DURABLE = (
    *map(_member, ("p50", "p90", "p99", "p999", "max", "count")),
    figure("durable.window_s", "s", NEITHER,
           "from when every execution had kept a step to when the first had kept its last",
           lambda e: e.window_s),
    figure(
        "durable.growth", "x", LOWER,
        "the median acknowledgement in the last fifth of the window over that in its first fifth",
        lambda e: e.growth, Quality.DERIVED,
    ),
    figure(
        "durable.fsync_us", "us", NEITHER,
        "a sync in the store's folder after a page of writing, without added delay: median of up to 200, "
        "mean of a look before the run and one after it",
        lambda e: e.fsync_us, Quality.SAMPLED,
    ),
    figure(
        "durable.syncs_per_step", "", LOWER,
        "syncs of the store's files over all steps; on PostgreSQL of its log",
        lambda e: e.a_step("syncs"),
    ),
    figure("durable.steps_per_commit", "", HIGHER, "requests in a transaction: steps, claims, heartbeats",
           lambda e: divided(e.said("requests"), e.said("commits"))),
    figure("durable.largest_commit", "", NEITHER, "requests in the largest", lambda e: e.said("largest")),
    figure(
        "durable.connection_wait_us", "us", LOWER,
        "waiting for a connection of the pool, a transaction; 0 on SQLite, which has none",
        lambda e: divided(divided(e.said("waiting_ns"), 1000), e.said("commits")),
    ),
    figure(
        "durable.written_bytes_per_step", "B", LOWER,
        "bytes given to write calls by the cell, over all steps; on PostgreSQL bytes of its log",
        lambda e: e.a_step("written_bytes"),
    ),
    figure(
        "durable.written_per_useful", "x", LOWER, "those over the bytes of a step's state",
        lambda e: divided(e.a_step("written_bytes"), e.said("useful_bytes")), Quality.DERIVED,
    ),
    figure(
        "durable.stored_bytes_per_step", "B", LOWER,
        "the store's files at the end, log included, over all steps; on PostgreSQL tables and indexes",
        lambda e: e.a_step("stored_bytes"),
    ),
    figure("durable.server_cpu_us_per_step", "us", LOWER,
           "CPU of a PostgreSQL that runs for this cell, in the window, a step",
           lambda e: e.server_cpu_us),
    figure(
        "durable.of_ideal", "", HIGHER,
        "work.per_s over what as many executions do whose steps take their calls' own time and nothing else",
        lambda e: e.of_ideal, Quality.DERIVED,
    ),
    figure(
        "durable.calls_per_step", "", LOWER,
        "calls made over steps acknowledged: above 1 where refused ones are made again",
        lambda e: e.a_step("calls_made"),
    ),
    count("durable.lost", "steps acknowledged that the store does not hold", lambda e: e.lost, LOWER),
    count("durable.duplicated", "steps kept or acknowledged more than once", lambda e: e.duplicated, LOWER),
    count("durable.redone", "steps begun again", lambda e: e.redone, LOWER),
)  # fmt: skip

METRICS = (
    *_TIME,
    *memory.of_tree(
        ready="the cell at ready, its store open",
        plateau="once all executions have ended; a server is not in it",
    ),
    *gc.METRICS,
    *jobs("executions", "that came to their end", "that failed: a step's call, or the store"),
    *_WORK,
    *_DURABLE,
)
