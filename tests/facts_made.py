"""Facts made from a schedule and delays, so that every figure's value is known beforehand."""

from collections.abc import Sequence

import numpy as np

from streamlanes.facts import CallStamps, CpuReading, Facts, MemoryPass, ProviderStamps, TimedPass
from streamlanes.probe.host import HostReading
from streamlanes.probe.memory import MemoryReading
from streamlanes.probe.stacks import StackReading
from streamlanes.samples import Outcome
from streamlanes.workload import Schedule, build, resolve

ORIGIN_NS = 10_000_000_000
MS = 1_000_000


def host(**fields: int | None) -> HostReading:
    """A quiet host; `fields` differ."""
    base = dict.fromkeys(HostReading.__dataclass_fields__)
    quiet = {"at_ns": 0, "cpu_busy_ns": 0, "cpu_steal_ns": 0, "cpu_total_ns": 0, "listen_overflows": 0}
    return HostReading(**{**base, **quiet, **fields})


def quiet_hosts(busy_ns: int = 0) -> tuple[HostReading, HostReading]:
    return host(), host(cpu_busy_ns=busy_ns, cpu_total_ns=20 * 10**9)


def schedule(calls: int = 20, **axes: object) -> Schedule:
    chosen = {"ramp_s": 1.0, "ttft_ms": 100.0, "gap_ms": 50.0, "tokens": 81.0, **axes}
    return build(resolve("steady", calls, chosen), calls)


def timed(  # noqa: PLR0913  # one parameter for each part of a delay
    plan: Schedule,
    *,
    queue_ms: float = 1.0,
    connect_ms: float = 2.0,
    accept_ms: float = 3.0,
    provider_ms: float = 0.5,
    client_ms: float = 0.25,
    cell_cores: float | Sequence[float] = 0.5,
    provider_cores: float = 0.2,
    with_provider: bool = True,
    **changes: object,
) -> TimedPass:
    """A pass in which every call and every token was late by exactly these parts. cell_cores: what the cell's
    process used of a core; several for several processes."""
    calls = plan.calls
    begin = ORIGIN_NS + plan.start_ns + round(queue_ms * MS)
    connected = begin + round(connect_ms * MS)
    seen = connected + round(accept_ms * MS) if with_provider else begin
    counts = np.diff(plan.first)
    sent = np.repeat(seen, counts) + plan.offset_ns + round(provider_ms * MS if with_provider else 0)
    received = sent + round(client_ms * MS)
    end = received[plan.first[1:] - 1] + 1000
    cores = cell_cores if isinstance(cell_cores, Sequence) else [cell_cores]
    readings = tuple(
        CpuReading(
            ORIGIN_NS + step * 100 * MS,
            {pid: round(step * 1e8 * used) for pid, used in enumerate(cores, start=7)},
            round(step * 1e8 * provider_cores),
        )
        for step in range(int((end.max() - ORIGIN_NS) / (100 * MS)) + 2)
    )
    made = {
        "schedule": plan,
        "origin_ns": ORIGIN_NS,
        "calls": CallStamps(
            begin=begin,
            connected=connected,
            sent=connected if with_provider else begin,
            first_event=received[plan.first[:-1]],
            first_visible=received[plan.first[:-1]],
            end=end,
            outcome=np.full(calls, int(Outcome.OK)),
            count=counts.copy(),
            usage=counts.copy() if with_provider else np.zeros(calls, np.int64),
            no_sentinel=np.zeros(calls, np.int64),
            received=received,
        ),
        "provider": ProviderStamps(accepted=connected, seen=seen, sent=sent) if with_provider else None,
        "readings": readings,
        "startup_s": 0.1,
        "over_ns": int(end.max()) + MS,
        "host": quiet_hosts(),
        "ours_ns": 0,
        "spin_ms": (5.0, 5.0),
        "gc": {"collections": 1, "pause_ms_total": 0.5, "pause_ms_max": 0.5},
    }
    return TimedPass(**{**made, **changes})


def memory(**fields: object) -> MemoryPass:
    reading = {
        "processes": 1,
        "vanished": 0,
        "page_table_bytes": 4096,
        "own_rss_bytes": 0,
        "threads": 3,
        "fds": 9,
    }
    ready = MemoryReading(pss_bytes=10_000, virtual_bytes=50_000, **reading)
    plateau = MemoryReading(pss_bytes=30_000, virtual_bytes=90_000, peak_rss_bytes=40_000, **reading)
    kernel = {"slab_bytes": 100, "kernel_stack_bytes": 10, "page_table_bytes": 20, "socket_bytes": 30}
    after = {"slab_bytes": 500, "kernel_stack_bytes": 110, "page_table_bytes": 120, "socket_bytes": 130}
    made = {
        "bare_bytes": 4_000,
        "held": 20,
        "ready": ready,
        "plateau": plateau,
        "stacks": StackReading(threads=2, placed=2, reserved_bytes=2000, resident_bytes=800),
        "host_ready": host(**kernel),
        "host_plateau": host(**after),
    }
    return MemoryPass(**{**made, **fields})


def facts(plan: Schedule | None = None, **changes: object) -> Facts:
    plan = plan or schedule()
    made = {
        "calls": plan.calls,
        "full_schedule": plan,
        "width": None,
        "drained": True,
        "budget_s": 30.0,
        "timed": timed(plan),
        "memory": memory(),
    }
    return Facts(**{**made, **changes})
