"""Whether this machine lets a cell run, told before it is tried.

Every check is one row of `_RULES`: what a cell needs, what the machine has left, and the command that
lifts the limit. `need` and `shortfalls` are pure; reading the machine is in `limits`.
"""

import enum
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from streamlanes.backends import BackendInfo
from streamlanes.clients import ClientInfo
from streamlanes.lanes.base import Crew
from streamlanes.limits import Limits, Raised, raise_open_files, read_limits

__all__ = [
    "Kind",
    "LimitName",
    "Limits",
    "Need",
    "Raised",
    "Shortfall",
    "bites",
    "doubts",
    "need",
    "raise_open_files",
    "read_limits",
    "reason",
    "shortfalls",
]

# What a process has open beside its calls: standard streams, pipes, epoll, the shared tables,
# and the modules being imported.
_FDS_OF_A_PROCESS = 64
_FDS_OF_A_CHILD = 2  # the pipe ends a parent keeps for each worker
_MAPS_OF_A_PROCESS = 500  # interpreter, libraries, memory arenas
_MAPS_OF_A_THREAD = 3  # stack, guard page, and the chunk CPython 3.11+ keeps the thread's frames in
_RESERVED_PIDS = 300  # the kernel starts again above these when it has used all numbers once

# At the least: a cell refused for memory would surely not have fitted.
_BYTES_OF_A_PROCESS = 8 << 20
_BYTES_OF_A_CALL = 4 << 10
_BYTES_OF_A_CONNECTION = 8 << 10  # both ends' sockets in the kernel
_BYTES_OF_A_THREAD = 28 << 10  # kernel stack, the touched part of its own stack, page tables

NOBODY = Crew()
_SEARCHED_CALLS = 10_000_000
_MIB = 1 << 20


class LimitName(enum.StrEnum):
    """The limits a cell can meet."""

    NOFILE = "nofile"
    NPROC = "nproc"
    PIDS = "pids"
    THREADS_MAX = "threads-max"
    PID_MAX = "pid-max"
    MAP_COUNT = "map-count"
    PORTS = "ports"
    MEMORY = "memory"
    SOMAXCONN = "somaxconn"
    CLIENT_POOL = "client-pool"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A cell without its number of calls: what its needs follow from.

    crew: who works beside the backend. width: the bound a bounded backend was given, resolved; not looked
    at for others.
    """

    backend: BackendInfo
    client: ClientInfo
    crew: Crew
    workers: int
    width: int | None
    provider_processes: int
    provider_ports: int


@dataclass(frozen=True, kw_only=True)
class Need:
    """What one cell takes of each limited thing.

    in_flight: calls at once that were asked for; a bounded backend never reaches more than its width.
    descriptors_cell, descriptors_provider: in the one process that has most. threads: beside the main
    thread of each process. processes: the cell, its workers and the provider's. maps: in the largest
    process. ports: source ports to one provider address and port. memory_bytes: an estimate of the
    least. backlog: connections waiting at one provider port if all came at once. pooled: calls that ask
    one pool of the client for a connection.
    """

    kind: Kind
    in_flight: int
    descriptors_cell: int
    descriptors_provider: int
    threads: int
    processes: int
    maps: int
    ports: int
    memory_bytes: int
    backlog: int
    pooled: int

    @property
    def descriptors(self) -> int:
        """Open files of the process that has most, on either side."""
        return max(self.descriptors_cell, self.descriptors_provider)

    @property
    def tasks(self) -> int:
        """Threads and processes together, as the kernel counts them."""
        return self.threads + self.processes


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """A limit and where it stands to one cell.

    have, need: in the limit's own unit (open files, threads and processes, mappings, ports, bytes).
    calls: the number in flight from which it bites this kind of cell. remedy: the command or setting
    under which the cell fits, or that many calls where the cell is smaller. forbids: whether the cell
    cannot run then, or only runs worse.
    """

    limit: LimitName
    have: int
    need: int
    calls: int
    remedy: str
    forbids: bool

    @property
    def bites(self) -> bool:
        """Whether this very cell meets the limit."""
        return self.need > self.have

    @property
    def of(self) -> str:
        """What have and need count, in words."""
        return _RULES[self.limit].what

    @property
    def unit(self) -> int:
        """What they are divided by before a person reads them."""
        return _RULES[self.limit].unit


def need(  # noqa: PLR0913  # one parameter for each thing that takes something
    *,
    backend: BackendInfo,
    client: ClientInfo,
    in_flight: int,
    workers: int,
    width: int | None,
    provider_processes: int,
    provider_ports: int,
    crew: Crew = NOBODY,
) -> Need:
    """What a cell takes. Worker processes share the calls evenly, rounded up."""
    kind = Kind(
        backend=backend,
        client=client,
        crew=crew,
        workers=workers,
        width=width,
        provider_processes=provider_processes,
        provider_ports=provider_ports,
    )
    return _need(kind, in_flight)


def shortfalls(limits: Limits, need: Need) -> list[Shortfall]:
    """The limits that forbid this cell, the one that bites first at the head; empty when it may run."""
    return [found for found in bites(limits, need) if found.bites and found.forbids]


def doubts(limits: Limits, need: Need) -> list[Shortfall]:
    """The limits under which this cell runs but may be slowed (a full accept queue), likewise sorted."""
    return [found for found in bites(limits, need) if found.bites and not found.forbids]


def bites(limits: Limits, need: Need) -> list[Shortfall]:
    """Every limit that stops or slows this kind of cell at some number of calls, the first one first;
    also those this cell stays below."""
    found = []
    for name, rule in _RULES.items():
        have = rule.have(limits, need.kind)
        calls = None if have is None else _first_bite(need.kind, rule.need, have)
        if have is not None and calls is not None:
            amount = rule.need(need)
            found.append(
                Shortfall(
                    limit=name,
                    have=have,
                    need=amount,
                    calls=calls,
                    remedy=rule.remedy(limits, need.kind, max(amount, rule.need(_need(need.kind, calls)))),
                    forbids=rule.forbids,
                )
            )
    return sorted(found, key=lambda shortfall: shortfall.calls)


def reason(shortfall: Shortfall) -> str:
    """One line for a person: what is needed, what there is, and what lifts it."""
    rule = _RULES[shortfall.limit]
    need, have = -(-shortfall.need // rule.unit), shortfall.have // rule.unit
    short = f"{shortfall.limit}: {need} {rule.what} needed, {have} {rule.source}"
    return f"{short}; raise it with: {shortfall.remedy}"


def _need(kind: Kind, in_flight: int) -> Need:
    backend, client = kind.backend, kind.client
    calls = in_flight
    if backend.bounded and kind.width is not None:
        calls = min(in_flight, kind.width)
    children = _children(kind)
    largest = _shared(calls, children)  # calls in the process that has most
    in_threads = backend.threads_per_call or (backend.bounded and not backend.pool_of_processes)
    connections = calls if client.network else 0
    processes = 1 + children + kind.crew.processes + (kind.provider_processes if client.network else 0)
    # A pool of one process has two threads of its own beside it.
    threads = (calls if in_threads else 0) + kind.crew.threads + 2 * kind.crew.processes
    return Need(
        kind=kind,
        in_flight=in_flight,
        descriptors_cell=_FDS_OF_A_PROCESS
        + max(largest * client.fds_per_call, (children + 3 * kind.crew.processes) * _FDS_OF_A_CHILD),
        descriptors_provider=(
            _FDS_OF_A_PROCESS + _shared(connections, kind.provider_processes) if client.network else 0
        ),
        threads=threads,
        processes=processes,
        maps=_MAPS_OF_A_PROCESS + (_MAPS_OF_A_THREAD * largest if in_threads else 0),
        ports=_shared(connections, kind.provider_ports),
        memory_bytes=(
            processes * _BYTES_OF_A_PROCESS
            + calls * _BYTES_OF_A_CALL
            + connections * _BYTES_OF_A_CONNECTION
            + threads * _BYTES_OF_A_THREAD
        ),
        backlog=_shared(connections, kind.provider_ports),
        pooled=largest if client.network else 0,
    )


def _children(kind: Kind) -> int:
    """Worker processes under the cell."""
    if kind.backend.pool_of_processes:
        return kind.width or 1
    return kind.workers if kind.backend.processes else 0


def _shared(calls: int, among: int) -> int:
    """The larger share of calls divided evenly; all of them where there is nobody to share with."""
    return -(-calls // max(1, among))


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """One limit: what is left of it, what a cell takes, how to lift it, and the words for a person.

    have: None where there is no limit; of the kind of cell it takes what its client brings along. unit:
    what figures are divided by before they are shown. forbids: whether a cell cannot run, or only runs
    worse.
    """

    have: Callable[[Limits, Kind], int | None]
    need: Callable[[Need], int]
    remedy: Callable[[Limits, Kind, int], str]
    what: str
    source: str
    unit: int = 1
    forbids: bool = True


def _left(limit: int | None, used: int | None) -> int | None:
    return None if limit is None else max(0, limit - (used or 0))


_TASKS = "threads and processes"

_RULES: dict[LimitName, _Rule] = {
    LimitName.NOFILE: _Rule(
        have=lambda limits, kind: limits.nofile_hard,
        need=lambda need: need.descriptors,
        remedy=lambda limits, kind, need: f"ulimit -Hn {need}",
        what="open files",
        source="allowed (hard limit)",
    ),
    LimitName.NPROC: _Rule(
        have=lambda limits, kind: None if limits.nproc_exempt else _left(limits.nproc, limits.nproc_now),
        need=lambda need: need.tasks,
        remedy=lambda limits, kind, need: f"ulimit -u {need + (limits.nproc_now or 0)}",
        what=_TASKS,
        source="left to this user (RLIMIT_NPROC)",
    ),
    LimitName.PIDS: _Rule(
        have=lambda limits, kind: _left(limits.pids_max, limits.pids_now),
        need=lambda need: need.tasks,
        remedy=lambda limits, kind, need: (
            f"pids.max = {need + (limits.pids_now or 0)} in the control group"
            f" (docker run --pids-limit {need + (limits.pids_now or 0)})"
        ),
        what=_TASKS,
        source="left in the control group (pids.max)",
    ),
    LimitName.THREADS_MAX: _Rule(
        have=lambda limits, kind: _left(limits.threads_max, limits.threads_now),
        need=lambda need: need.tasks,
        remedy=lambda limits, kind, need: f"sysctl -w kernel.threads-max={need + (limits.threads_now or 0)}",
        what=_TASKS,
        source="left on this machine (kernel.threads-max)",
    ),
    LimitName.PID_MAX: _Rule(
        have=lambda limits, kind: _left(limits.pid_max, (limits.threads_now or 0) + _RESERVED_PIDS),
        need=lambda need: need.tasks,
        remedy=lambda limits, kind, need: (
            f"sysctl -w kernel.pid_max={need + (limits.threads_now or 0) + _RESERVED_PIDS}"
        ),
        what=_TASKS,
        source="numbers left on this machine (kernel.pid_max)",
    ),
    LimitName.MAP_COUNT: _Rule(
        have=lambda limits, kind: limits.map_count_max,
        need=lambda need: need.maps,
        remedy=lambda limits, kind, need: f"sysctl -w vm.max_map_count={need}",
        what="mappings in one process",
        source="allowed (vm.max_map_count)",
    ),
    LimitName.PORTS: _Rule(
        have=lambda limits, kind: limits.ports,
        need=lambda need: need.ports,
        remedy=lambda limits, kind, need: (
            'sysctl -w net.ipv4.ip_local_port_range="1024 65535", or more ports for the provider'
        ),
        what="source ports to one provider port",
        source="in the range (net.ipv4.ip_local_port_range)",
    ),
    LimitName.MEMORY: _Rule(
        have=lambda limits, kind: limits.memory_available_bytes,
        need=lambda need: need.memory_bytes,
        remedy=lambda limits, kind, need: (
            f"{-(-need // _MIB)} MiB free (docker run --memory sets a container's)"
        ),
        what="MiB at the least",
        source="MiB available",
        unit=_MIB,
    ),
    LimitName.SOMAXCONN: _Rule(
        have=lambda limits, kind: limits.somaxconn,
        need=lambda need: need.backlog,
        remedy=lambda limits, kind, need: (
            f"sysctl -w net.core.somaxconn={need}, or more ports for the provider"
        ),
        what="connections waiting at one provider port",
        source="kept (net.core.somaxconn)",
        forbids=False,
    ),
    LimitName.CLIENT_POOL: _Rule(
        have=lambda limits, kind: kind.client.pool,
        need=lambda need: need.pooled,
        remedy=lambda limits, kind, need: kind.client.widen.format(need),
        what="connections of one pool",
        source="in the library's default one",
        forbids=False,
    ),
}


def _first_bite(kind: Kind, amount: Callable[[Need], int], have: int) -> int | None:
    """The smallest number of calls in flight that takes more than `have`; None if none does.

    Searched for instead of computed back, so that a need may follow any rule that only grows.
    """
    fitting = bisect_right(range(1, _SEARCHED_CALLS + 1), have, key=lambda calls: amount(_need(kind, calls)))
    return None if fitting == _SEARCHED_CALLS else fitting + 1
