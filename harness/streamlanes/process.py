"""One cell, measured: its passes, each in a fresh process, and the facts that come out of them."""

import contextlib
import http.client
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from streamlanes import certificate, wire
from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.children import Child, Gone, Launcher
from streamlanes.facts import Facts, MemoryPass, TimedPass
from streamlanes.hearing import CellEnded, expect, hear
from streamlanes.lanes import lane as lane_named
from streamlanes.lanes.base import Lane, Place
from streamlanes.limits import cpu_sets
from streamlanes.pass_clocks import PassClocks, spent_ns
from streamlanes.pass_tables import Tables
from streamlanes.placing import placed_for, server_processes
from streamlanes.probe.cpu import process_cpu_ns
from streamlanes.probe.host import HostReading, read_host
from streamlanes.probe.memory import MemoryReading, read_memory
from streamlanes.probe.smaps import read_mappings
from streamlanes.probe.speed import Speed
from streamlanes.probe.stacks import tree_stacks
from streamlanes.probe.tree import members
from streamlanes.providers import Providers, Wanted, providers
from streamlanes.record import Status, StatusName
from streamlanes.samples import ORIGIN, RELEASED
from streamlanes.workload import Ns, Schedule, build

now_ns = time.perf_counter_ns

READING_S = 0.1
START_S = 60.0
LEAD_NS = 50_000_000
"""From `go` to the first intended start: every process has read the word by then."""
SETTLE_S = 0.2
RELEASE_S = 60.0
SILENT_S = 2.0
"""A provider that does not answer is dead, or its end is known within this time."""


def provider_ports(calls: int, somaxconn: int, processes: int) -> int:
    """Ports of each provider process: enough backlog for all calls at once."""
    return -(-calls // (max(1, somaxconn) * processes))


@dataclass(frozen=True)
class Up:
    """A pass at `ready`: the cell's process, its tree, tables and provider, what its interpreter is, and the
    processes of a server that runs for it."""

    child: Child
    pids: tuple[int, ...]
    tables: Tables
    providers: Providers | None
    startup_s: float
    interpreter: Mapping[str, object]
    server: tuple[int, ...] = ()


class Bench:
    """What the cells of a run share: the launcher and what an interpreter that runs nothing weighs.

    lane: of the cells that name it; cells of others are measured as those declare. pythons: paths of the
    interpreters that cells name; a cell that names none runs under this one.
    softirq_apart: whether the kernel leaves soft interrupts out of process clocks.
    """

    def __init__(
        self,
        lane: Lane,
        somaxconn: int,
        pythons: Mapping[str, str] | None = None,
        *,
        softirq_apart: bool = False,
    ) -> None:
        self.lane = lane
        self._pythons = pythons or {}
        self.launcher = Launcher()
        self.sets = cpu_sets()
        self._somaxconn = somaxconn
        self._softirq_apart = softirq_apart
        self._speed = Speed()
        self._bare_bytes: dict[str, int | None] = {}

    @cached_property
    def certificate(self) -> certificate.Certificate:
        """The one that providers of this run show and its cells trust; made when a cell first needs it."""
        return certificate.make(self.launcher.folder)

    def measure(self, cell: Cell) -> Facts:
        """Both passes of a cell. Raises CellEnded when it comes to no figures."""
        full = build(cell.load(), cell.calls).in_chunks(cell.tokens_per_chunk)
        schedule = full.head(cell.admitted(full))
        budget_s = cell.budget(full)
        timed, drained, after = self._timed(cell, schedule, budget_s)
        memory: MemoryPass | str = "no memory pass was asked for"
        if cell.memory:
            memory = self._memory(cell, full) if self._lane(cell).holds else after
        elif cell.repetition > 1:
            memory = "read in repetition 1 only"
        return Facts(
            calls=cell.calls,
            full_schedule=full,
            width=cell.width,
            drained=drained,
            budget_s=budget_s,
            timed=timed,
            memory=memory,
            provider_cpus=float(self.sets.provider_processes),
            tokens_per_chunk=cell.tokens_per_chunk,
            grain_ms=cell.grain_ms,
            own_code=cell.call is not None,
            says_mark=cell.client_info.says_mark,
        )

    def _lane(self, cell: Cell) -> Lane:
        return self.lane if cell.lane == self.lane.name else lane_named(cell.lane)

    def _timed(
        self, cell: Cell, schedule: Schedule, budget_s: float
    ) -> tuple[TimedPass, bool, MemoryPass | str]:
        """The pass, whether it was over in time, and where nothing can be held its memory at the end."""
        lane = self._lane(cell)
        reads = cell.memory and not lane.holds
        memory: MemoryPass | str = "the cell was over before its memory could be read"
        bare_bytes = self.bare_bytes(cell.axes.python) if reads else None
        beside = [self._beside(cell)]
        spin_before = self._speed.look(schedule.ideal_wall_s)
        with self._up(cell, schedule, hold=False) as up:
            ready = (read_host(), read_memory(up.pids)) if reads else None
            progress = up.tables.calls[lane.progress] if lane.progress else None
            cpu = PassClocks(up.pids, up.providers, up.server, progress)
            host, ours = read_host(), self._ours_ns()
            readings = [cpu.read()]
            origin_ns = _go(up)
            until_ns = origin_ns + int(budget_s * 1e9)
            word = None
            while word is None and now_ns() < until_ns:
                word = hear(up.child, min(READING_S, (until_ns - now_ns()) / 1e9))
                readings.append(cpu.read())
            over_ns = now_ns()
            after, ours = read_host(), self._ours_ns() - ours
            if up.providers and (ending := up.providers.ended()):
                raise CellEnded(Status(StatusName.CRASHED, ending))
            if word is not None:
                expect(word, "drained")
            else:
                up.child.halt()  # a call that ends while its stamps are copied would have half of them
            calls, sent, own = up.tables.stamps()
            mishaps = up.tables.mishaps.read()
            stats = up.providers.stats() if up.providers and word else ()
            if up.providers and word and not stats and (ending := up.providers.ended(SILENT_S)):
                # Its calls broke and the cell was done before the word of its end had come round.
                raise CellEnded(Status(StatusName.CRASHED, ending))
            if word is not None:
                if ready:
                    memory = _at_end(up, ready, bare_bytes, schedule.calls)
                up.child.say("exit")
        beside.append(self._beside(cell))
        timed = TimedPass(
            schedule=schedule,
            origin_ns=origin_ns,
            calls=calls,
            provider=sent if cell.client_info.network else None,
            readings=tuple(readings),
            startup_s=up.startup_s,
            over_ns=over_ns,
            host=(host, after),
            ours_ns=ours + spent_ns(readings) + self._softirq_ns(host, after),
            spin_ms=(spin_before, self._speed.look(schedule.ideal_wall_s)),
            provider_stats=stats,
            interpreter=word["facts"] if word else up.interpreter,
            gc=word["gc"] if word else {},
            mishaps=mishaps,
            own=own,
            beside=tuple(said for said in beside if said),
        )
        return timed, word is not None, memory

    def _memory(self, cell: Cell, full: Schedule) -> MemoryPass | str:
        """The memory pass, or why it gave nothing. It is given as many calls as are in flight together
        in the timed one: since it holds them all, more would be another load."""
        schedule = full.head(cell.in_flight(full))
        first = schedule.first[:-1]
        last_first_ns = int((schedule.start_ns + schedule.offset_ns[first]).max())
        wait_s = 3 * last_first_ns / 1e9 + 10.0
        try:
            bare_bytes = self.bare_bytes(cell.axes.python)
            with self._up(cell, schedule, hold=True) as up:
                host_ready, ready = read_host(), read_memory(up.pids)
                until_ns = _go(up) + int(wait_s * 1e9)
                got, end = _first_tokens(cell, up.tables), np.asarray(up.tables.calls["end"])
                try:
                    while (held := int(((got[first] > 0) & (end == 0)).sum())) < schedule.calls:
                        if now_ns() > until_ns:
                            return f"only {held:,} of {schedule.calls:,} calls in flight after {wait_s:.0f} s"
                        if word := hear(up.child, READING_S):
                            if word["word"] == "drained":
                                return "all calls had ended before memory was read"
                            expect(word, "")
                finally:
                    del got, end
                time.sleep(SETTLE_S)
                host_plateau = read_host()
                read = cache(read_mappings)
                plateau = read_memory(up.pids, read=read)
                stacks = tree_stacks(up.pids, read)
                up.tables.schedule["header"][RELEASED] = 1
                if up.providers:
                    up.providers.release()
                if hear(up.child, RELEASE_S):
                    up.child.say("exit")
        except CellEnded as ended:
            return f"memory pass: {ended.status.reason}"
        except (OSError, http.client.HTTPException) as error:  # a process of the pass is gone
            return f"memory pass: {type(error).__name__}: {error}"
        if plateau.pss_bytes is None or bare_bytes is None:
            return plateau.reason or "memory could not be read"
        return MemoryPass(
            bare_bytes=bare_bytes,
            held=held,
            ready=ready,
            plateau=plateau,
            stacks=stacks,
            host_ready=host_ready,
            host_plateau=host_plateau,
        )

    @contextlib.contextmanager
    def _up(self, cell: Cell, schedule: Schedule, hold: bool) -> Iterator[Up]:
        """A fresh provider and a fresh cell at `ready`; all gone at the end of the block."""
        with contextlib.ExitStack() as stack:
            lane = self._lane(cell)
            tables = Tables(schedule, lane.columns, lane.rows)
            stack.callback(tables.close)
            placed = stack.enter_context(placed_for(lane, cell))
            serving = None
            if cell.client_info.network:
                processes = self.sets.provider_processes
                wanted = Wanted(
                    processes=processes,
                    ports=provider_ports(schedule.calls, self._somaxconn, processes),
                    hold=hold,
                    cpus=self.sets.provider,
                    certificate=self.certificate if cell.axes.tls else None,
                    behaviour=cell.provider,
                    http2=cell.client_info.http2,
                )
                fresh = providers(self.launcher, tables.schedule, tables.provider, wanted)
                try:
                    serving = stack.enter_context(fresh)
                except Gone as gone:
                    raise CellEnded(Status(StatusName.CRASHED, str(gone))) from None
            began = now_ns()
            argv = [self._python(cell.axes.python), "-P", "-m", "streamlanes.cell"]
            child = Child(self.launcher, argv, self.sets.cell)
            stack.callback(child.end, grace_s=0.5)
            child.say(self._spec(cell, schedule, tables, serving, hold, placed))
            word = hear(child, START_S)
            if word is None:
                why = f"not ready after {START_S:g} s, with {_prepared(lane, cell, schedule)}"
                raise CellEnded(Status(StatusName.CRASHED, why))
            expect(word, "ready")
            startup_s = (now_ns() - began) / 1e9
            server = server_processes(placed.server)
            yield Up(child, members(child.pid), tables, serving, startup_s, word["facts"], server)

    def _spec(  # all that a cell is told
        self,
        cell: Cell,
        schedule: Schedule,
        tables: Tables,
        serving: Providers | None,
        hold: bool,
        placed: Place,
    ) -> dict[str, object]:
        backend, lane = BACKENDS[cell.backend], self._lane(cell)
        return {
            "job": lane.job,
            "setting": {**(lane.asks.setting(cell, schedule) if lane.asks else {}), **placed.told},
            "backend": backend.target,
            "client": cell.client_info.forms[backend.waits],
            "libraries": cell.client_info.libraries,
            "calls": schedule.calls,
            "options": {
                "width": cell.width or 0,
                "workers": cell.workers,
                "start_method": cell.axes.start_method,
                "stack_kib": cell.axes.stack_kib,
                "switch_ms": cell.axes.switch_ms,
                "freeze": cell.axes.gc == "freeze",
            },
            "hold": hold,
            "addresses": serving.addresses if serving else [],
            "tls_ca": self.certificate.trusted if cell.axes.tls else None,
            "keep_alive": cell.axes.keep_alive,
            "api": cell.api or wire.DEFAULT,
            # Of a person's own function words are counted, and each is a token.
            "tokens_per_chunk": 1 if cell.call else cell.tokens_per_chunk,
            "schedule": {"path": tables.schedule.path, "columns": tables.schedule.columns},
            "samples": {"path": tables.calls.path, "columns": tables.calls.columns},
            "call": cell.call,
            "mishaps": tables.mishaps.path,
        }

    def _beside(self, cell: Cell) -> Mapping[str, float]:
        """What the lane's module says now, on the cell's CPUs; empty where it says nothing."""
        module = self._lane(cell).beside
        if module is None:
            return {}
        argv = [self._python(cell.axes.python), "-P", "-m", module, str(self.sets.workers)]
        child = Child(self.launcher, argv, self.sets.cell)
        try:
            return child.hear(START_S) or {}
        except Gone:
            return {}
        finally:
            child.end()

    def bare_bytes(self, python: str | None = None) -> int | None:
        """PSS of this interpreter, by its name, when it runs nothing; measured once a run. None where
        it cannot be read."""
        path = self._python(python)
        if path not in self._bare_bytes:
            program = "import sys; print('{}', flush=True); sys.stdin.read()"
            child = Child(self.launcher, [path, "-P", "-c", program], self.sets.cell)
            try:
                up = hear(child, START_S) is not None
                self._bare_bytes[path] = read_memory((child.pid,)).pss_bytes if up else None
            finally:
                child.end()
        return self._bare_bytes[path]

    def _python(self, name: str | None) -> str:
        return sys.executable if name is None else self._pythons[name]

    def _softirq_ns(self, before: HostReading, after: HostReading) -> int:
        """Soft interrupts that the kernel counted for the host alone: on loopback they are our own."""
        if not self._softirq_apart or before.cpu_softirq_ns is None or after.cpu_softirq_ns is None:
            return 0
        return after.cpu_softirq_ns - before.cpu_softirq_ns

    def _ours_ns(self) -> int:
        """CPU of this process and the launcher: known, and no one else's."""
        return time.process_time_ns() + process_cpu_ns(self.launcher.pid)

    def close(self) -> None:
        """Leave no process behind."""
        self.launcher.close()


def _prepared(lane: Lane, cell: Cell, schedule: Schedule) -> str:
    """What a cell has up before it is ready: its job, and the names that this was given."""
    own = lane.asks.resolved(cell, schedule) if lane.asks else {}
    named = {"job": lane.job.partition(":")[2], "call": cell.call, **own}
    return ", ".join(f"{what} {name}" for what, name in named.items() if isinstance(name, str))


def _first_tokens(cell: Cell, tables: Tables) -> Ns:
    """The column that tells a held call by its first token: received, as a rule. People's own function may
    give nothing before its end, so there it counts that the provider sent one."""
    return np.asarray(tables.calls["received"] if cell.call is None else tables.provider["sent"])


def _at_end(
    up: Up, ready: tuple[HostReading, MemoryReading], bare_bytes: int | None, jobs: int
) -> MemoryPass | str:
    """The memory of a cell whose jobs have all ended and whose workers still stand."""
    read = cache(read_mappings)
    pids = members(up.child.pid)  # a worker that died has another in its place
    plateau = read_memory(pids, read=read)
    if plateau.pss_bytes is None or bare_bytes is None:
        return plateau.reason or "memory could not be read"
    return MemoryPass(
        bare_bytes=bare_bytes,
        held=jobs,
        ready=ready[1],
        plateau=plateau,
        stacks=tree_stacks(pids, read),
        host_ready=ready[0],
        host_plateau=read_host(),
    )


def _go(up: Up) -> int:
    """Set the origin and tell the cell; returns the origin."""
    origin_ns = now_ns() + LEAD_NS
    up.tables.schedule["header"][ORIGIN] = origin_ns
    up.child.say("go")
    return origin_ns
