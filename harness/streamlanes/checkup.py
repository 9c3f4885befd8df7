"""What `streamlanes doctor` finds out: it reads this machine's limits and measures its timers and noise.

Every measurement is a cell like those of a run, in a fresh process. The identical cells that tell the
noise are spread over the whole time, with the timers between them, so that a slow drift shows too.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from streamlanes import conduct, estimate, fitting, limits, preflight, stats
from streamlanes.backends import cpus
from streamlanes.cells import Axes, Cell, check
from streamlanes.clients import CLIENTS
from streamlanes.conduct import Here
from streamlanes.doctor import Checkup, Cpus, Grain, Noise, Others, RampUp, Report
from streamlanes.facts import Facts, Missing
from streamlanes.lanes import lane
from streamlanes.lanes.base import Metric
from streamlanes.probe import cgroup
from streamlanes.probe.host import foreign_cpu_share, read_host, spins_ms, steal_share
from streamlanes.probe.machine import machine
from streamlanes.record import Record, StatusName
from streamlanes.words import ending

LANE = "io"
TIMERS = {"asyncio": "asyncio", "uvloop": "uvloop", "time.sleep": "threads"}
"""What is timed -> the backend whose `timer` client waits with it."""
IDLE_S = 2.0
AT_SPEED = 1.05
TICKS_SEE = 0.95
"""The share of our own CPU that the kernel's count must show, or it tells nothing of others' either."""
NOT_TOLD = Missing("this system does not tell")


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured. The gap of the timers is no whole number of milliseconds, so that their
    due times fall on all parts of one. identical: cells for the noise, of this many calls."""

    timer_gap_ms: float = 3.7
    timers: int = 400
    identical: int = 4
    calls: int = 200
    ramp_s: float = 0.3


SIZE = Size()


def asked(calls: int, backend: str, client: str) -> Cell:
    """The cell whose limits are wanted. Raises UserError for names and sizes that do not exist."""
    cell = Cell(lane=LANE, backend=backend, client=client, workload="steady", calls=calls)
    check(cell)
    return cell


def examine(cell: Cell) -> Report:
    """The limits as they are now; nothing is measured."""
    found = limits.read_limits()
    pool, widen = default_pool(cell)
    return Report(
        calls=cell.calls,
        backend=cell.backend,
        client=cell.client,
        width=cell.width,
        machine=machine(),
        limits=found,
        cpus=Cpus(
            online=os.cpu_count() or 1,
            affinity=cpus(),
            cpuset=cgroup.cpuset_cpus(),
            quota=found.cpus_quota,
            usable=limits.usable_cpus(),
            apart=limits.cpu_sets().cell is not None,
        ),
        bites=tuple(preflight.bites(found, conduct.need(cell, cell.calls, found.somaxconn))),
        lacks=fitting.misfit(cell) or fitting.missing_import(cell),
        default_pool=pool,
        widen=widen,
    )


def default_pool(cell: Cell) -> tuple[int | None, str]:
    """The pool that the client's library has by default and how a program asks for one of the cell's size,
    where it is too small for the cell; a cell of the client with its defaults meets it as a limit."""
    as_it_comes = CLIENTS.get(f"{cell.client}-defaults")
    in_a_process = -(-min(cell.calls, cell.width or cell.calls) // cell.workers)
    if as_it_comes is None or as_it_comes.pool is None or as_it_comes.pool >= in_a_process:
        return None, ""
    return as_it_comes.pool, as_it_comes.widen.format(in_a_process)


def cells(size: Size) -> list[Cell]:
    """What is measured, in its order: timers between identical cells."""
    axes = Axes(ramp_s=0, ttft_ms=20, gap_ms=size.timer_gap_ms, tokens=size.timers)
    timers: Iterator[Cell] = iter(
        [
            Cell(
                lane=LANE,
                backend=backend,
                client="timer",
                workload="steady",
                calls=1,
                axes=axes,
                memory=False,
            )
            for backend in TIMERS.values()
        ]
    )
    order: list[Cell] = []
    for repetition in range(1, size.identical + 1):
        order.append(
            Cell(
                lane=LANE,
                backend="asyncio",
                client="streams",
                workload="steady",
                calls=size.calls,
                axes=Axes(ramp_s=size.ramp_s),
                repetition=repetition,
            )
        )
        order += [timer for timer in [next(timers, None)] if timer]
    return [*order, *timers]


def seconds(size: Size) -> float:
    """About how long `measure` takes."""
    return IDLE_S + estimate.total_seconds(cells(size))


def measure(size: Size) -> Checkup:
    """Timers, noise, others' share and ramp-up."""
    idle = _idle()
    ramp = ramp_up(spins_ms())
    here = Here(lane(LANE), conduct.this_machine())
    order = cells(size)
    somaxconn = limits.read_limits().somaxconn
    limits.raise_open_files(max(conduct.need(cell, cell.calls, somaxconn).descriptors for cell in order))
    made: list[Record] = []
    facts: list[Facts] = []
    with closing(here.bench()) as bench:
        for cell in order:
            one, of_it = here.examine(bench, cell)
            made.append(one)
            if of_it is not None and cell.client != "timer":
                facts.append(of_it)
    by_backend = {each.cell.backend: each for each in made if each.cell.client == "timer"}
    identical = [each for each in made if each.cell.client != "timer"]
    return Checkup(
        gap_ms=size.timer_gap_ms,
        timers={name: grain(by_backend[backend]) for name, backend in TIMERS.items()},
        noise_of=f"{size.identical} identical cells of {size.calls:,} calls, streams client, asyncio",
        noise={metric.path: noise(identical, metric) for metric in _headline(here)},
        others=others(idle, facts),
        ramp_up=ramp,
        doubts=Counter(flag.name.value for each in identical for flag in each.flags),
    )


def _headline(here: Here) -> list[Metric]:
    declared = {metric.path: metric for metric in here.lane.metrics}
    return [declared[path] for path in here.lane.headline]


def _idle() -> float | None:
    """Do nothing for a while; the share of the CPU that others took."""
    before, spent_ns = read_host(), time.process_time_ns()
    time.sleep(IDLE_S)
    return foreign_cpu_share(before, read_host(), time.process_time_ns() - spent_ns)


# From what was measured to what is said: pure.


def grain(one: Record) -> Grain | Missing:
    """How late the timers of a `timer` cell ended."""
    figures = {
        member: one.figure(f"latency.client_ms.{member}") for member in ("p50", "p99", "early_share", "count")
    }
    p50, p99, early, count = figures.values()
    if p50 is None or p99 is None or early is None or count is None:
        return Missing(ending(one) or "no timer ended")
    return Grain(p50_ms=p50, p99_ms=p99, early_share=early, count=int(count))


def noise(identical: Sequence[Record], metric: Metric) -> Noise | Missing:
    """One figure over identical cells that ended ok."""
    ok = [each for each in identical if each.status.name is StatusName.OK]
    values = [value for each in ok if (value := each.figure(metric.path)) is not None]
    share = stats.noise(values)
    if share is not None:
        return Noise(median=median(values), unit=metric.unit, half_range_share=share, repetitions=len(values))
    if len(values) > 1:
        return Missing("a median at or below 0 has no share")
    broken = [each for each in identical if each.status.name is not StatusName.OK]
    why = ending(broken[0]) if broken else next((m for e in ok if (m := e.missing.get(metric.path))), "")
    return Missing(f"two cells with the figure are needed, {len(values)} had it: {why}".removesuffix(": "))


def others(idle: float | None, facts: Sequence[Facts]) -> Others:
    """What others took while we idled (the share, None where it is not told) and while cells ran."""
    foreign, steal = [], []
    ours_ns = busy_ns = 0
    for each in facts:
        before, after = each.timed.host
        foreign.append(foreign_cpu_share(before, after, each.timed.ours_ns))
        steal.append(steal_share(before, after))
        ours_ns += each.timed.ours_ns
        busy_ns += (after.cpu_busy_ns or 0) - (before.cpu_busy_ns or 0)
    worst = _worst(foreign)
    if not isinstance(worst, Missing) and busy_ns < TICKS_SEE * ours_ns:
        # Work that wakes up with the tick is over before the next one counts it.
        worst = Missing(f"the kernel counts CPU by ticks and saw {100 * busy_ns / ours_ns:.0f} % of our own")
    return Others(
        idle_foreign_share=NOT_TOLD if idle is None else idle,
        cell_foreign_share=worst,
        steal_share=_worst(steal),
    )


def _worst(shares: Sequence[float | None]) -> float | Missing:
    known = [share for share in shares if share is not None]
    if known:
        return max(known)
    return NOT_TOLD if shares else Missing("no cell ran")


def ramp_up(spins: Sequence[float]) -> RampUp | Missing:
    """How the turns of the fixed loop got faster, in ms each."""
    if not spins or min(spins) <= 0:
        return Missing("the CPU clock is too coarse for it")
    best = min(spins)
    slow = next(place for place, spent in enumerate(spins) if spent <= AT_SPEED * best)
    return RampUp(first_ms=spins[0], best_ms=best, to_speed_ms=sum(spins[:slow]))
