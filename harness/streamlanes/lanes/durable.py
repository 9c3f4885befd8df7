"""The durable lane: N executions, each a row of super-steps that are kept, or not, as they go."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from streamlanes.backends import BACKENDS, Waits
from streamlanes.clients import CLIENTS, ClientInfo
from streamlanes.durable.architectures import ARCHITECTURES, CHECKPOINTS
from streamlanes.errors import UserError, unknown
from streamlanes.lanes import gc, memory, offloading, slo
from streamlanes.lanes.base import (
    Asks,
    Better,
    Chart,
    Crew,
    Kind,
    Lane,
    Metric,
    Panel,
    Pool,
    Usual,
)
from streamlanes.lanes.executions import COLUMNS, ROWS, Executions
from streamlanes.lanes.offloading import Figure, divided, middle
from streamlanes.metrics import spin_drift
from streamlanes.record import FlagName, Quality, Record, StatusName
from streamlanes.samples import Outcome
from streamlanes.words import number, plain
from streamlanes.workload import AXES as OF_WORKLOADS
from streamlanes.workload import Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell

LOWER, HIGHER, NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER

STORES = ("none", "sqlite-normal", "sqlite-full", "postgres")
"""As `durability` names them (durable.database.Database)."""
STORE = "sqlite-full"
RUN_S = 12.0
"""Long enough for 10 s in which all executions are under way."""
STATE_BYTES = 1024
RETRY = "none"
BARE = "none"
"""The client of steps that do nothing."""
AXIS_NAMES = ("store", "group_commit", "sync_ms", "architecture", "steps", "run_s", "state_bytes", "retry")


def store(cell: "Cell") -> str:
    """Where its steps are kept: "none", "sqlite", "postgres"."""
    return (cell.axes.store or STORE).partition("-")[0]


def _run_s(cell: "Cell") -> float | None:
    """After how long executions end; None where their number of steps alone says so."""
    if cell.axes.run_s is not None:
        return float(cell.axes.run_s)
    return RUN_S if cell.axes.steps is None else None


def _figure(  # a figure's declaration, in a row
    path: str,
    unit: str,
    better: Better,
    text: str,
    of: Callable[[Executions], Figure],
    quality: Quality = Quality.MEASURED,
) -> Metric:
    return Metric(path=path, unit=unit, better=better, help=text, of=of, quality=quality)


def _count(
    name: str, text: str, of: Callable[[Executions], Figure], better: Better = NEITHER, group: str = "counts"
) -> Metric:
    return Metric(path=f"{group}.{name}", unit="", better=better, help=text, pool=Pool.MAX, of=of)


def _ended(how: Outcome) -> Callable[[Executions], int]:
    return lambda executions: int((executions.stamps.outcome == how).sum())


_TIME = (
    _figure("time.wall_s", "s", LOWER, "the first execution's begin to the last one's end",
            lambda e: e.wall_s),
    _figure("time.startup_s", "s", LOWER, "from exec to ready: the store open, a look at its disk",
            lambda e: e.timed.startup_s),
    _figure(
        "time.spin_drift", "", LOWER,
        "by what share a fixed loop took longer at one end of the cell than at the other",
        lambda e: spin_drift(e.timed), Quality.SAMPLED,
    ),
)  # fmt: skip

_COUNTS = (
    _count("calls", "executions asked for", lambda e: e.facts.calls),
    _count("started", "executions that began", lambda e: int((e.stamps.begin > 0).sum())),
    _count("unaccounted_calls", "executions that never began",
           lambda e: int((e.stamps.begin == 0).sum()), LOWER),
    _count("ok", "executions that came to their end", _ended(Outcome.OK), HIGHER),
    _count("job_error", "executions that failed: a step's call, or the store", _ended(Outcome.JOB_ERROR),
           LOWER),
    _count("cancelled", "executions whose job was cancelled", _ended(Outcome.CANCELLED), LOWER),
    _count(
        "unfinished", "executions that began and had not ended when the cell was over",
        lambda e: int(((e.stamps.begin > 0) & (e.stamps.outcome == 0)).sum()), LOWER,
    ),
)  # fmt: skip

_WORK = (
    _figure("work.unit", "", NEITHER, "what a unit of work is", lambda e: "step"),
    _figure("work.done", "steps", NEITHER, "steps acknowledged, of all executions", lambda e: e.done),
    _figure(
        "work.per_s", "steps/s", HIGHER,
        "steps acknowledged a second while all executions were under way, see durable.window_s",
        lambda e: e.per_s,
    ),
    _figure("work.cpu_us_per_unit", "us", LOWER, "CPU of the cell's processes in that time, a step",
            lambda e: e.cpu_us),
)  # fmt: skip


def _member(which: str) -> Metric:
    unit = "" if which == "count" else "ms"
    text = "from the end of a step's work until it is kept and its execution goes on"
    return _figure(
        f"durable.ack_ms.{which}", unit, NEITHER if which == "count" else LOWER, f"{text}: {which}",
        lambda e: e.ack_ms[which],
    )  # fmt: skip


_DURABLE = (
    *map(_member, ("p50", "p90", "p99", "p999", "max", "count")),
    _figure("durable.window_s", "s", NEITHER,
            "from when every execution had kept a step to when the first had kept its last",
            lambda e: e.window_s),
    _figure(
        "durable.growth", "x", LOWER,
        "the median acknowledgement in the last fifth of the window over that in its first fifth",
        lambda e: e.growth, Quality.DERIVED,
    ),
    _figure(
        "durable.fsync_us", "us", NEITHER,
        "a sync in the store's folder after a page of writing, without added delay: median of up to 200, "
        "mean of a look before the run and one after it",
        lambda e: e.fsync_us, Quality.SAMPLED,
    ),
    _figure(
        "durable.syncs_per_step", "", LOWER,
        "syncs of the store's files over all steps; on PostgreSQL of its log",
        lambda e: e.a_step("syncs"),
    ),
    _figure("durable.steps_per_commit", "", HIGHER, "requests in a transaction: steps, claims, heartbeats",
            lambda e: divided(e.said("requests"), e.said("commits"))),
    _figure("durable.largest_commit", "", NEITHER, "requests in the largest", lambda e: e.said("largest")),
    _figure(
        "durable.connection_wait_us", "us", LOWER,
        "waiting for a connection of the pool, a transaction; 0 on SQLite, which has none",
        lambda e: divided(divided(e.said("waiting_ns"), 1000), e.said("commits")),
    ),
    _figure(
        "durable.written_bytes_per_step", "B", LOWER,
        "bytes given to write calls by the cell, over all steps; on PostgreSQL bytes of its log",
        lambda e: e.a_step("written_bytes"),
    ),
    _figure(
        "durable.written_per_useful", "x", LOWER, "those over the bytes of a step's state",
        lambda e: divided(e.a_step("written_bytes"), e.said("useful_bytes")), Quality.DERIVED,
    ),
    _figure(
        "durable.stored_bytes_per_step", "B", LOWER,
        "the store's files at the end, log included, over all steps; on PostgreSQL tables and indexes",
        lambda e: e.a_step("stored_bytes"),
    ),
    _figure("durable.server_cpu_us_per_step", "us", LOWER,
            "CPU of a PostgreSQL that runs for this cell, in the window, a step",
            lambda e: e.server_cpu_us),
    _figure(
        "durable.of_ideal", "", HIGHER,
        "work.per_s over what as many executions do whose steps take their calls' own time and nothing else",
        lambda e: e.of_ideal, Quality.DERIVED,
    ),
    _figure(
        "durable.calls_per_step", "", LOWER,
        "calls made over steps acknowledged: above 1 where refused ones are made again",
        lambda e: e.a_step("calls_made"),
    ),
    _count("lost", "steps acknowledged that the store does not hold", lambda e: e.lost, LOWER, "durable"),
    _count("duplicated", "steps kept or acknowledged more than once", lambda e: e.duplicated, LOWER,
           "durable"),
    _count("redone", "steps begun again", lambda e: e.redone, LOWER, "durable"),
)  # fmt: skip

_MEMORY = {
    "bare_bytes": "an interpreter that runs nothing, PSS",
    "fixed_bytes": "the cell at ready, its store open, minus a bare interpreter, PSS",
    "plateau_pss_bytes": "anonymous and shared PSS of the tree once all executions have ended; a server is "
    "not in it",
    "file_pss_bytes": "file pages of the tree at that time, PSS",
    "rss_upper_bound_bytes": "summed RSS of the tree at that time",
    "page_table_bytes": "page tables of the tree at that time",
}


# What is said at the end of a run.


def _answer(records: Sequence[Record]) -> list[str]:
    """The stores side by side, what sharing commits is worth, and whether anything was lost."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for record in records:
        if record.status.name is StatusName.OK:
            key = (record.cell.client, record.cell.calls, record.cell.backend)
            groups.setdefault(key, []).append(record)
    lines = []
    for (client, size, backend), group in groups.items():
        steps = "bare steps" if client == BARE else f"steps of a {client} call"
        where = f"{size:,} executions of {steps} under {backend}"
        lines += _stores(group, where) + _sharing(group, where)
    lines += _architectures(records)
    return [*lines, *_kept(records)] if lines else []


def _architectures(records: Sequence[Record]) -> list[str]:
    """How far each architecture holds, and what breaks first; where there are several, or refused calls."""
    ways: dict[str, list[Record]] = {}
    for record in records:
        retry = record.cell.axes.get("retry")
        asks = f", retry {retry}" if retry not in (None, RETRY) else ""
        under = "" if record.cell.backend == "asyncio" else f" under {record.cell.backend}"
        way = f"{record.cell.axes.get('architecture')} on {record.cell.axes.get('store')}"
        ways.setdefault(f"{way}{under}{asks}", []).append(record)
    if len({record.cell.axes.get("architecture") for record in records} - {None}) < 2:
        return []
    lines = [slo.line(slo.held(name, some)) for name, some in ways.items()]
    why = slo.out_of_reach(records)
    return [f"        {each}" for each in (*lines, *([why] if why else []))]


def _stores(group: Sequence[Record], where: str) -> list[str]:
    """Steps a second of each store as it comes, the fastest first."""
    said = {}
    usual = [record for record in group if _usual(record)]
    for name in dict.fromkeys(map(_named, usual)):
        some = [record for record in usual if _named(record) == name]
        (rate, doubt), (p99, _) = middle(some, "work.per_s"), middle(some, "durable.ack_ms.p99")
        if rate is not None and p99 is not None:
            said[f"{name} {number(rate)} (acknowledged p99 {number(p99)} ms){doubt}"] = rate
    if not said:
        return []
    ranked = ", ".join(sorted(said, key=lambda each: -said[each]))
    looks = [value for record in usual if (value := record.figure("durable.fsync_us")) is not None]
    disk = f"; a sync takes {number(median(looks))} us here" if looks else ""
    return [f"DURABLE {where}, steps/s: {ranked}{disk}"]


def _sharing(group: Sequence[Record], where: str) -> list[str]:
    """How many times as fast a store is where commits are shared, at each delay of its syncs."""
    said = []
    for name in dict.fromkeys(map(_named, group)):
        for added in sorted({record.cell.axes.get("sync_ms") or 0 for record in group}):
            some = [
                record
                for record in group
                if _named(record) == name and (record.cell.axes.get("sync_ms") or 0) == added
            ]
            shared, alone = (
                middle([r for r in some if r.cell.axes.get("group_commit") is each], "work.per_s")
                for each in (True, False)
            )
            if shared[0] and alone[0]:
                delay = f" with {plain(added)} ms added to a sync" if added else ""
                said.append(f"{name}{delay} {shared[0] / alone[0]:.1f}x{shared[1] or alone[1]}")
    return [f"        group commit over a commit a step, {where}: {', '.join(said)}"] if said else []


def _kept(records: Iterable[Record]) -> list[str]:
    """Of all cells together."""
    counted = [record for record in records if record.figure("durable.lost") is not None]
    if not counted:
        return []
    lost, twice, done = (
        sum(record.figure(path) or 0 for record in counted)
        for path in ("durable.lost", "durable.duplicated", "work.done")
    )
    return [f"        of {plain(done)} steps acknowledged: {plain(lost)} lost, {plain(twice)} duplicated"]


def _usual(record: Record) -> bool:
    axes = record.cell.axes
    return not axes.get("sync_ms") and axes.get("group_commit") in (None, True)


def _named(record: Record) -> str:
    axes = record.cell.axes
    way = axes.get("architecture")
    return str(axes["store"]) if way in (None, CHECKPOINTS) else f"{way} on {axes['store']}"


# What a cell is asked, and what its job is told.


def _idle(axes: "Axes") -> tuple[str, ...]:
    """What says nothing beside the rest, and what is so anyway."""
    if axes.store == "none":
        return ("group_commit", "sync_ms", "architecture")
    usual = {
        "group_commit": axes.group_commit is True,
        "sync_ms": axes.sync_ms == 0,
        "architecture": axes.architecture == CHECKPOINTS,
        "retry": axes.retry == RETRY,
    }
    return tuple(axis for axis, so in usual.items() if so)


def _resolved(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    axes, kept = cell.axes, store(cell) != "none"
    unused = [axis for axis in OF_WORKLOADS if axis != "seed"] if cell.client == BARE else []
    return dict.fromkeys(unused) | {
        "store": axes.store or STORE,
        "group_commit": (axes.group_commit is not False) if kept else None,
        "sync_ms": (axes.sync_ms or 0) if kept else None,
        "architecture": (axes.architecture or CHECKPOINTS) if kept else None,
        "steps": axes.steps,
        "run_s": _run_s(cell),
        "state_bytes": axes.state_bytes or STATE_BYTES,
        "retry": None if cell.client == BARE else axes.retry or RETRY,
    }


def _check(cell: "Cell") -> None:
    """Raise UserError for what cannot be meant."""
    axes, waits = cell.axes, BACKENDS[cell.backend].waits
    if cell.backend not in BACKENDS_OF_LANE:
        *most, last = BACKENDS_OF_LANE
        raise UserError(
            f"lane durable takes {', '.join(most)} or {last}, not {cell.backend}; name one with -b"
        )
    if axes.store is not None and axes.store not in STORES:
        raise unknown("store", axes.store, STORES)
    name = axes.architecture or CHECKPOINTS
    if name not in ARCHITECTURES:
        raise unknown("architecture", name, ARCHITECTURES)
    info = ARCHITECTURES[name]
    if store(cell) not in info.stores:
        fits = next(each for each in STORES if each.partition("-")[0] in info.stores)
        raise UserError(
            f"architecture {name} has no store {axes.store or STORE}; it is for {', '.join(info.stores)}: "
            f"add --set store={fits}"
        )
    if waits not in info.waits:
        fits = next(each for each, one in BACKENDS_OF_LANE.items() if one.waits in info.waits)
        raise UserError(f"architecture {name} does not run under {cell.backend}; run it under {fits}, say")
    if cell.client == BARE:
        for axis in axes.set_values():
            if (axis in OF_WORKLOADS and axis != "seed") or axis == "retry":
                raise UserError(
                    f"{axis} means nothing to steps that do nothing; name a client (-c) or leave it out"
                )


def _setting(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    axes = cell.axes
    return {
        "store": store(cell),
        "synchronous": (axes.store or STORE).partition("-")[2] or "full",
        "grouped": axes.group_commit is not False,
        "sync_ms": float(axes.sync_ms or 0),
        "architecture": axes.architecture or CHECKPOINTS,
        "steps": axes.steps,
        "run_s": _run_s(cell),
        "state_bytes": axes.state_bytes or STATE_BYTES,
        "retry": axes.retry or RETRY,
        "waits": BACKENDS[cell.backend].waits.value,
        "bare": cell.client == BARE,
    }


def _crew(cell: "Cell") -> Crew:
    """The store's own threads (writer, log, heartbeat), and the libraries of store and architecture."""
    if store(cell) == "none":
        return Crew()
    driver = ("psycopg", "psycopg_pool") if store(cell) == "postgres" else ()
    needs = (*driver, *ARCHITECTURES[cell.axes.architecture or CHECKPOINTS].needs)
    return Crew(threads=3, needs=needs, extra="durable")


def _about_s(cell: "Cell") -> float:
    """Opening and closing the store, looks at its disk, a server up and down."""
    return 4.5 if store(cell) == "postgres" else 1.5


BACKENDS_OF_LANE = {name: BACKENDS[name] for name in ("asyncio", "uvloop", "threads")}

_LINES = ("store", "group_commit", "architecture", "retry")

LANE = Lane(
    name="durable",
    job="streamlanes.jobs.durable:DurableJob",
    unit="step",
    view=Executions,
    metrics=(
        *_TIME,
        *offloading.explained(memory.METRICS, "memory", _MEMORY),
        *gc.METRICS,
        *_COUNTS,
        *_WORK,
        *_DURABLE,
    ),
    charts=(
        Chart(
            name="durability-costs",
            title="What does durability cost?",
            kind=Kind.BARS,
            x="cell.calls",
            x_axis="executions",
            lines=_LINES,
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
                Panel(y=("work.cpu_us_per_unit",), axis="CPU per step, us", log=False),
            ),
            note="CPU is that of the cell alone; a PostgreSQL's stands in the records as "
            "durable.server_cpu_us_per_step.",
        ),
        Chart(
            name="sync-costs",
            title="What does a slow disk cost?",
            kind=Kind.GROWTH,
            varied="sync_ms",
            lines=_LINES,
            x="cell.axes.sync_ms",
            x_axis="added to each sync, ms",
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
            ),
        ),
        Chart(
            name="executions",
            title="How many executions at once?",
            kind=Kind.GROWTH,
            lines=_LINES,
            x="cell.calls",
            x_axis="executions",
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
                Panel(y=("durable.of_ideal",), axis="of the ideal pace", log=False, ideal=1.0),
                Panel(y=("work.cpu_us_per_unit",), axis="CPU per step, us", log=False),
            ),
        ),
    ),
    headline=(
        "work.per_s",
        "durable.ack_ms.p50",
        "durable.ack_ms.p99",
        "durable.fsync_us",
        "durable.syncs_per_step",
        "durable.written_per_useful",
        "work.cpu_us_per_unit",
    ),
    compared=("work.per_s", "durable.ack_ms.p99", "work.cpu_us_per_unit"),
    usual=Usual(backends=("asyncio",), client=BARE, workload="documents", calls=100, sweep={"store": STORES}),
    backends=BACKENDS_OF_LANE,
    clients={
        BARE: ClientInfo(
            forms=dict.fromkeys(Waits, "streamlanes.clients.nothing:open_client"),
            network=False,
            fds_per_call=0,
        ),
        **CLIENTS,
    },
    columns=COLUMNS,
    rows=ROWS,
    progress="kept",
    lasts_s=lambda cell: _run_s(cell) or 0.0,
    place="streamlanes.store_place:store_place",
    asks=Asks(
        axes=AXIS_NAMES,
        idle=_idle,
        resolved=_resolved,
        check=_check,
        setting=_setting,
        crew=_crew,
    ),
    holds=False,
    extra_s=120.0,
    about_s=_about_s,
    doubts=frozenset({FlagName.FAILED_CALLS, FlagName.NOISY_HOST, FlagName.CPU_THROTTLED}),
    answer=_answer,
)
