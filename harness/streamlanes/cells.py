"""A cell: one measurement, fully named. Pure; what is not set stays None and keeps its default."""

import multiprocessing
import re
from typing import Any, Literal

import msgspec

from streamlanes import traces, wire, workload
from streamlanes.backends import BACKENDS, BackendInfo, Waits, default_width
from streamlanes.clients import CALL, ClientInfo
from streamlanes.errors import UserError, unknown
from streamlanes.interpreters import own_name, release, version
from streamlanes.lanes import LANES, lane
from streamlanes.lanes.base import Asks, Lane
from streamlanes.limits import cpu_sets
from streamlanes.provider.behaviour import Behaviour, problem
from streamlanes.providers import TICK_NS
from streamlanes.workload import Dist, HeavyTailed, Schedule, Workload

BUDGET_FACTOR = 2.0
ADMIT_SHARE = 0.8
"""The share of its budget that a pool's admitted waves may fill when nothing costs anything."""
_TARGET = re.compile(r"[^\W\d]\w*(\.(?!py:)[^\W\d]\w*)*:[^\W\d]\w*")
"""A module and a function in it; a file's name (`agent.py`) is no module's."""
LOOP_GRAIN_MS, SLEEP_GRAIN_MS = 1.0, 0.05
"""What a wait is rounded to: event loops keep whole milliseconds; the kernel may let a sleeping thread
sleep 50 us longer (its timer slack)."""


class DistAxis(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A lognormal: its median and the sigma of its logarithm; or a heavy tail: its median and tail index."""

    median: float
    sigma: float = 0.0
    tail: float | None = None


Number = int | float
DistLike = int | float | DistAxis


class Axes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may be set of a cell.

    Of the workload: seed, arrival (ramp, burst, poisson), ramp_s, ttft_ms, gap_ms or gaps (a file's path),
    tokens per call, rate_per_s in all, time_scale (how many times faster than in reality calls arrive),
    trace (a file's path, from where the command runs). Of the backend: width of a pool, workers
    (processes), their start_method. Of the client: tls, whether it connects over TLS; keep_alive, whether
    it keeps a connection for a later call; api, the dialect that is spoken by one that hands over bytes.
    Of the interpreter: stack_kib of a thread, switch_ms, gc (default, freeze), python (its name, see
    `interpreters`; a profile says path or command). Of CPU work: kernel, offload (where it runs), batch
    (documents handed over together), load (cores that all calls' work takes) or work_ms (of one call).
    Of executions: store (where steps are kept), group_commit (whether commits are shared), sync_ms (added to
    each sync), architecture (how executions are carried on), steps of each, run_s (after which they end),
    state_bytes of a step, retry (what a step does about a 429). Of kills: store, point (where a worker is
    struck), strike (how), kills.
    """

    seed: int | None = None
    arrival: Literal["ramp", "burst", "poisson"] | None = None
    ramp_s: Number | None = None
    ttft_ms: DistLike | None = None
    gap_ms: DistLike | None = None
    gaps: str | None = None
    tokens: DistLike | None = None
    rate_per_s: Number | None = None
    time_scale: Number | None = None
    trace: str | None = None
    width: int | None = None
    workers: int | None = None
    start_method: Literal["fork", "forkserver", "spawn"] | None = None
    stack_kib: int | None = None
    switch_ms: Number | None = None
    gc: Literal["default", "freeze"] | None = None
    python: str | None = None
    tls: bool | None = None
    keep_alive: bool | None = None
    api: str | None = None
    kernel: str | None = None
    offload: Literal["inline", "threads", "processes", "interpreters"] | None = None
    batch: int | None = None
    load: Number | None = None
    work_ms: Number | None = None
    store: str | None = None
    group_commit: bool | None = None
    sync_ms: Number | None = None
    architecture: str | None = None
    steps: int | None = None
    run_s: Number | None = None
    state_bytes: int | None = None
    retry: Literal["none", "at-once", "backoff"] | None = None
    point: str | None = None
    strike: Literal["kill", "stop"] | None = None
    kills: int | None = None

    def set_values(self) -> dict[str, Any]:
        """Only what was set, by name."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}

    def that_matter(self, info: BackendInfo, client: ClientInfo, asks: Asks | None = None) -> "Axes":
        """These axes without those that mean nothing to this backend and client, unless they are the lane's
        own, and without those that are idle beside the lane's others; so that equal cells are equal."""
        without = {
            "width": not info.bounded,
            "workers": not info.processes,
            "start_method": not (info.processes or info.pool_of_processes),
            "stack_kib": info.waits is Waits.ASYNC or info.pool_of_processes,
            "tls": not client.network,
            "keep_alive": not client.chooses or self.keep_alive is client.keeps,
            "api": not client.network or client.dialect is not None,
        }
        drop = {axis for axis, never in without.items() if never and not (asks and axis in asks.axes)}
        drop |= set(asks.idle(self)) if asks else set()
        return msgspec.structs.replace(self, **dict.fromkeys(drop))


TEXT_AXES = frozenset(field.name for field in msgspec.structs.fields(Axes) if field.type == str | None)
"""Axes that hold text as it was written: there `3.12` is no number and `~` no sigma."""


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lane x backend x client x workload x calls x axes x repetition.

    call: the function that the client `call` calls, "module:function"; None for the other clients. It is
    measured and never imported here.
    budget_s: hard limit from the first intended start, None for twice the ideal and what the lane adds.
    memory: whether it has a memory pass. provider: how the provider behaves, None for as it should.
    knee_bound_ms: of a step of a knee search (`knee`), the bound its stream lateness is held to; None for
    all other cells.
    """

    lane: str
    backend: str
    client: str
    workload: str
    calls: int
    call: str | None = None
    axes: Axes = Axes()
    repetition: int = 1
    budget_s: Number | None = None
    memory: bool = True
    provider: Behaviour | None = None
    knee_bound_ms: Number | None = None

    @property
    def id(self) -> str:
        """Its identity within a run: readable, the same for the same cell."""
        parts = [self.lane, self.backend, self.client, self.workload, str(self.calls)]
        parts += [f"call={self.call}"] if self.call else []
        parts += [f"{axis}={_show(value)}" for axis, value in self.asked.items()]
        if self.provider is not None:
            parts.append(f"provider={_show(self.provider.set_values())}")
        if self.knee_bound_ms is not None:
            parts.append(f"knee_bound_ms={self.knee_bound_ms:g}")
        return "/".join([*parts, f"r{self.repetition}"])

    @property
    def asked(self) -> dict[str, Any]:
        """The axes that were set. A trace is named by what is in it, not by its path, which may hold a
        person's name, and another trace tomorrow."""
        values = self.axes.set_values()
        if self.axes.trace is not None:
            values["trace"] = traces.read(self.axes.trace).name
        if self.axes.gaps is not None:
            values["gaps"] = traces.read_gaps(self.axes.gaps).of
        return values

    @property
    def width(self) -> int | None:
        """The bound of a bounded backend, resolved; None for others."""
        release_of = release(self.axes.python) if self.axes.python else None
        return self.axes.width or default_width(self.backend, release_of)

    @property
    def workers(self) -> int:
        """Worker processes of a backend that has them, else 1."""
        return (self.axes.workers or cpu_sets().workers) if BACKENDS[self.backend].processes else 1

    @property
    def staff(self) -> int:
        """Workers of a lane's offload: one for each usable CPU, unless set."""
        return self.axes.workers or cpu_sets().workers

    @property
    def client_info(self) -> ClientInfo:
        """What the parent must know of its client."""
        return lane(self.lane).clients[self.client]

    @property
    def api(self) -> str | None:
        """The dialect that the call speaks; None for a client without a provider, and for a person's own
        code, which speaks as it likes."""
        client = self.client_info
        if self.client == CALL or not client.network:
            return None
        return client.dialect or self.axes.api or wire.DEFAULT

    @property
    def keep_alive(self) -> bool | None:
        """Whether connections are kept for later calls; None for a client without any."""
        asked = self.axes.keep_alive
        return self.client_info.keeps if asked is None else asked

    @property
    def tokens_per_chunk(self) -> int:
        """Tokens that the provider sends in each event."""
        return self.provider.tokens_per_chunk if self.provider else 1

    @property
    def grain_ms(self) -> float:
        """The grain of the timers that pace the tokens: the provider's, or the client's own without one."""
        if self.client_info.network:
            return TICK_NS / 1e6
        return LOOP_GRAIN_MS if BACKENDS[self.backend].waits is Waits.ASYNC else SLEEP_GRAIN_MS

    def load(self) -> Workload:
        """The workload with what was set. Raises UserError for values out of range, and for a trace
        that cannot be read."""
        values = {
            axis: _dist(axis, value) if isinstance(value, DistAxis) else value
            for axis, value in self.axes.set_values().items()
            if axis in workload.AXES
        }
        if self.axes.trace is not None:
            values["trace"] = traces.read(self.axes.trace)
        if self.axes.gaps is not None:
            values["gaps"] = traces.read_gaps(self.axes.gaps)
        return workload.resolve(self.workload, self.calls, values)

    def budget(self, schedule: Schedule) -> float:
        """Seconds from the first intended start after which the cell is stopped."""
        if self.budget_s is not None:
            return float(self.budget_s)
        own = lane(self.lane)
        return BUDGET_FACTOR * max(schedule.ideal_wall_s, own.lasts_s(self)) + own.extra_s

    def admitted(self, schedule: Schedule) -> int:
        """How many calls the timed pass admits: all, or a pool's whole waves that fit its budget."""
        if self.width is None:
            return self.calls
        return workload.admitted(schedule, self.width, ADMIT_SHARE * self.budget(schedule))

    def in_flight(self, schedule: Schedule) -> int:
        """The most calls at once if none is late: what the schedule asks for, a pool's width, or what the
        client admits by itself. The memory pass holds so many."""
        return min(schedule.peak_in_flight, self.width or self.calls, self._admits or self.calls)

    @property
    def _admits(self) -> int | None:
        """Connections that the client's own pools admit, one for each process; None for no bound."""
        pool = self.client_info.pool
        return None if pool is None or BACKENDS[self.backend].pool_of_processes else pool * self.workers

    def resolved_axes(self, load: Workload, schedule: Schedule) -> dict[str, Any]:
        """Every axis with the value that is meant to run; the measured process adds its own defaults."""
        values: dict[str, Any] = dict.fromkeys(Axes.__struct_fields__) | self.axes.set_values()
        values |= {
            "seed": load.seed,
            "arrival": load.arrival.value,
            "ramp_s": round(load.ramp_s, 6),
            "ttft_ms": load.ttft_ms.shown,
            "gap_ms": load.gap_ms.shown,
            "gaps": self.asked.get("gaps"),
            "tokens": load.tokens.shown,
            "rate_per_s": round(schedule.rate_per_s, 3),
            "time_scale": None if load.time_scale is None else round(load.time_scale, 6),
            "trace": load.trace,
            "width": self.width,
            "workers": self.workers if BACKENDS[self.backend].processes else None,
            "gc": self.axes.gc or "default",
            "python": version(self.axes.python or own_name()),
            "tls": bool(self.axes.tls),
            "keep_alive": self.keep_alive,
            "api": self.api,
        }
        if asks := lane(self.lane).asks:
            values |= dict.fromkeys(asks.without) | asks.resolved(self, schedule)
        return values


def check(cell: Cell) -> None:
    """Raise UserError, with the nearest name or the allowed range, for a cell that cannot be meant."""
    own = lane(cell.lane)
    _check_call(cell, own)
    for kind, name, known in (
        ("backend", cell.backend, BACKENDS),
        (f"client of lane {own.name}", cell.client, own.clients),
    ):
        if name not in known:
            raise unknown(kind, name, known)
    axes = cell.axes
    _check_lane(cell, own)
    if cell.budget_s is not None and not 0 < cell.budget_s <= 86_400:
        raise UserError(f"budget_s is {cell.budget_s:,}; it must be above 0, a day at most")
    for axis, least, most in (
        ("time_scale", 1e-3, 1e6),
        ("width", 1, 100_000),
        ("workers", 1, 1_000),
        ("batch", 1, 100_000),
        ("load", 0, 64),
        ("work_ms", 0, 60_000),
        ("sync_ms", 0, 100),
        ("steps", 1, 10_000_000),
        ("run_s", 0.1, 3_600),
        ("state_bytes", 32, 1 << 20),
        ("kills", 1, 10_000),
        ("stack_kib", 32, 1 << 22),
        ("switch_ms", 1e-3, 60_000),
    ):
        value = getattr(axes, axis)
        if value is not None and not least <= value <= most:
            raise UserError(f"{axis} is {value:,}; it must be from {least:,} to {most:,}")
    if axes.stack_kib is not None and axes.stack_kib % 4:
        raise UserError(f"stack_kib is {axes.stack_kib}; it must be a multiple of 4, a page")
    if axes.start_method is not None and axes.start_method not in multiprocessing.get_all_start_methods():
        raise UserError(f"start_method {axes.start_method!r} does not exist on this system")
    if axes.api is not None and axes.api not in wire.DIALECTS:
        raise unknown("api", axes.api, wire.DIALECTS)
    if cell.provider is not None and (wrong := problem(cell.provider)):
        raise UserError(f"provider: {wrong}")
    cell.load()
    if own.asks:
        own.asks.check(cell)


def _check_lane(cell: Cell, own: Lane) -> None:
    """Raise UserError for an axis that means nothing to the cell's lane."""
    theirs = {axis: name for name in LANES if (asks := lane(name).asks) for axis in asks.axes}
    mine, without = (own.asks.axes, own.asks.without) if own.asks else ((), ())
    for axis in cell.axes.set_values():
        if axis in without or (axis in theirs and axis not in (*mine, *_OF_BACKENDS)):
            which = f"; it is for lane {theirs[axis]} (--lane)" if axis in theirs else ""
            raise UserError(f"{axis} means nothing to lane {cell.lane}{which}")


_OF_BACKENDS = ("workers", "start_method")
"""Axes of backends that some lanes have for their own workers too."""


def _check_call(cell: Cell, own: Lane) -> None:
    if cell.client == CALL and CALL not in own.clients:
        do = f'set {own.own_code} = "module:function"' if own.own_code else "leave it out"
        raise UserError(f"lane {own.name} has no client call; {do}, or name lane io or mixed")
    if cell.call is None and cell.client == CALL:
        raise UserError("client call needs a function of yours; name it with --call module:function")
    if cell.call is not None and cell.client != CALL:
        raise UserError(f"call is {cell.call!r} and the client {cell.client!r}; a function needs client call")
    if cell.call is not None:
        check_function(cell.call)


def check_function(name: str) -> None:
    """Raise UserError for what names no function in a module."""
    if not _TARGET.fullmatch(name):
        raise UserError(f"call is {name!r}; write it as module:function, such as agent:answer")


def _dist(axis: str, value: DistAxis) -> Dist | HeavyTailed:
    if value.tail is None:
        return Dist(value.median, value.sigma)
    if value.sigma:
        raise UserError(f"{axis}: sigma is a lognormal's and tail a heavy tail's; leave one out")
    return HeavyTailed(value.median, value.tail)


def _show(value: object) -> str:
    if isinstance(value, DistAxis) and value.tail is not None:
        return f"{value.median}^{value.tail}"
    if isinstance(value, DistAxis):
        return f"{value.median}~{value.sigma}"
    if isinstance(value, bool):
        return str(value).lower()  # as it is written
    if isinstance(value, dict):
        return ",".join(f"{name}:{_show(each)}" for name, each in sorted(value.items()))
    return str(value)
