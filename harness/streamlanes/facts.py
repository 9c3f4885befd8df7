"""What the parent knows once a cell is over: stamps, readings, what was asked. No figures yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamlanes.mishaps import Mishap
from streamlanes.workload import Ns, Schedule

if TYPE_CHECKING:
    from streamlanes.probe.host import HostReading
    from streamlanes.probe.memory import MemoryReading
    from streamlanes.probe.stacks import StackReading


@dataclass(frozen=True)
class Missing:
    """In a figure's place: why there is none."""

    reason: str


@dataclass(frozen=True)
class CallStamps:
    """What the cell stamped, CLOCK_MONOTONIC ns; 0 where it did not come to it.

    Per admitted call: begin, connected, sent, first_event, first_visible (the first token of text),
    end, outcome (samples.Outcome), count of tokens, usage (the provider's count of them, -1 if it
    said none), no_sentinel (1 if it ended ok by its finish reason alone). Per token: received.
    """

    begin: Ns
    connected: Ns
    sent: Ns
    first_event: Ns
    first_visible: Ns
    end: Ns
    outcome: Ns
    count: Ns
    usage: Ns
    no_sentinel: Ns
    received: Ns


@dataclass(frozen=True)
class ProviderStamps:
    """What the provider stamped: per call accepted and seen, per token sent."""

    accepted: Ns
    seen: Ns
    sent: Ns


@dataclass(frozen=True)
class CpuReading:
    """CPU spent until at_ns: of each process of the cell (pid -> ns), of the provider in all, and of a server
    that runs for the cell. done: the sum of the column that the lane calls its progress, at that time."""

    at_ns: int
    cell_ns: Mapping[int, int]
    provider_ns: int
    server_ns: int = 0
    done: int = 0

    @property
    def cell_total_ns(self) -> int:
        """All processes of the cell together."""
        return sum(self.cell_ns.values())


@dataclass(frozen=True)
class TimedPass:
    """The pass whose timings count.

    readings: at ready, about every 100 ms, at drained; ascending. host: before and after. ours_ns: CPU
    of all our processes (parent, launcher, cell, provider) in between. spin_ms: a fixed loop's time
    before and after. provider: its stamps, None for a client without one. provider_stats:
    what each of its processes said at `/sim/stats`. over_ns: when the pass was over. mishaps: what went
    wrong in the cell, in words, by kind. own: the columns that the lane declares, by name. beside: what
    its module said before and after.
    """

    schedule: Schedule
    origin_ns: int
    calls: CallStamps
    provider: ProviderStamps | None
    readings: tuple[CpuReading, ...]
    startup_s: float
    over_ns: int
    host: "tuple[HostReading, HostReading]"
    ours_ns: int
    spin_ms: tuple[float, float]
    provider_stats: tuple[Mapping[str, Any], ...] = ()
    interpreter: Mapping[str, object] = field(default_factory=dict)
    gc: Mapping[str, float] = field(default_factory=dict)
    mishaps: Mapping[str, Mishap] = field(default_factory=dict)
    own: Mapping[str, Ns] = field(default_factory=dict)
    beside: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True)
class MemoryPass:
    """The pass that holds every call after its first token while the probe reads.

    bare_bytes: private and shared PSS of an interpreter that runs nothing. held: calls in flight at
    the plateau. kernel readings are host-wide.
    """

    bare_bytes: int
    held: int
    ready: "MemoryReading"
    plateau: "MemoryReading"
    stacks: "StackReading"
    host_ready: "HostReading"
    host_plateau: "HostReading"


@dataclass(frozen=True)
class Facts:
    """One cell's passes and what was asked of it.

    calls: asked for; the timed pass may have admitted fewer (a pool's whole waves within its
    budget). full_schedule: of all calls. width: of a bounded backend, else None. drained: every
    admitted call ended before the budget did. memory: the pass, or why there is none. grain_ms: of the
    timers that pace the tokens (Cell.grain_ms). tokens_per_chunk: how many tokens a chunk of the provider
    brings. own_code: whether the calls are a person's own function. says_mark: whether the client tells
    that the dialect's own mark of the end came.
    """

    calls: int
    full_schedule: Schedule
    width: int | None
    drained: bool
    budget_s: float
    timed: TimedPass
    memory: MemoryPass | str
    provider_cpus: float = 1.0
    tokens_per_chunk: int = 1
    grain_ms: float = 1.0
    own_code: bool = False
    says_mark: bool = True
