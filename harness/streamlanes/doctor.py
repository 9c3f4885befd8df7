"""What `streamlanes doctor` knows of this machine for one kind of cell: limits, timers, noise. Pure.

`checkup` finds the figures, `doctor_lines` puts them in words; here is what they are, and their JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from streamlanes.facts import Missing
from streamlanes.limits import Limits
from streamlanes.preflight import Shortfall, reason

SCHEMA = "streamlanes.doctor/1"
LEFT_OUT = Missing("left out by --quick")
ADDRESS_SPACE_WHY = (
    "what a thread reserves beside its stack is the allocator's choice, so no number of calls is predicted; "
    "a run measures it"
)
ADDRESS_SPACE_REMEDY = "ulimit -v unlimited"


@dataclass(frozen=True, kw_only=True)
class Cpus:
    """The CPUs a run has. cpuset: of the control group; None where none says. quota: CPUs' worth of
    time, None for no quota. apart: whether cell and provider get CPUs of their own."""

    online: int
    affinity: int
    cpuset: int | None
    quota: float | None
    usable: int
    apart: bool


@dataclass(frozen=True, kw_only=True)
class Grain:
    """How late one timer at a time ends on an idle machine, signed; early_share: of those that ended
    before they were due."""

    p50_ms: float
    p99_ms: float
    early_share: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Noise:
    """One figure over identical cells: its median, and half its range as a share of that."""

    median: float
    unit: str
    half_range_share: float
    repetitions: int


@dataclass(frozen=True, kw_only=True)
class Others:
    """Shares of all CPU time that others took: while we idled, and in the worst of our cells; and what
    the hypervisor gave to other machines, in the worst cell."""

    idle_foreign_share: float | Missing
    cell_foreign_share: float | Missing
    steal_share: float | Missing


@dataclass(frozen=True, kw_only=True)
class RampUp:
    """A fixed loop after idling: its first turn and its best, and the CPU time until it was within
    5 % of the best."""

    first_ms: float
    best_ms: float
    to_speed_ms: float


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """What was measured; Missing says why something was not.

    gap_ms: between the timers. timers: by loop. noise_of: the cells it was measured with. noise: by
    the figure's path. doubts: flags of those cells, with how many had them.
    """

    gap_ms: float
    timers: Mapping[str, Grain | Missing]
    noise_of: str
    noise: Mapping[str, Noise | Missing]
    others: Others
    ramp_up: RampUp | Missing
    doubts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything the command says. calls, backend, client: what was asked for. width: of a bounded
    backend. bites: see `preflight.bites`. lacks: an import the backend needs and has not, in a line.
    default_pool: connections at once in the pool that the client's library has by default, where the cell
    asks for more and so sizes its own. widen: how a program does.
    """

    calls: int
    backend: str
    client: str
    width: int | None
    machine: Mapping[str, Any]
    limits: Limits
    cpus: Cpus
    bites: Sequence[Shortfall]
    lacks: str | None = None
    default_pool: int | None = None
    widen: str = ""
    checkup: Checkup | None = None

    @property
    def forbidden(self) -> str | None:
        """Why the calls do not fit, with what lifts it; None where they do."""
        short = [found for found in self.bites if found.bites and found.forbids]
        return self.lacks or (reason(short[0]) if short else None)


def as_json(report: Report) -> dict[str, Any]:
    """The report as one object. What does not apply or has no limit is absent; `null` is a figure that
    was wanted and not obtained, with its reason under `missing`."""
    missing: dict[str, str] = {}

    def told(path: str, value: Any) -> Any:
        if isinstance(value, Missing):
            missing[path] = value.reason
            return None
        inner = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
        if inner is None:
            return value
        return {name: told(f"{path}.{name}", one) for name, one in inner.items()}

    available: int | Missing | None = report.limits.memory_available_bytes
    if available is None:
        available = Missing("this system does not tell")
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "calls": report.calls,
        "backend": report.backend,
        "client": report.client,
        "fits": report.forbidden is None,
        "reason": report.forbidden,
        "limits": [_limit(found) for found in report.bites],
        "machine": dict(report.machine),
        "cpus": _set(asdict(report.cpus)),
        "memory_available_bytes": told("memory_available_bytes", available),
        "unread": list(report.limits.unread),
        **_set(
            {
                "width": report.width,
                "open_files_soft": report.limits.nofile_soft,
                "open_files_hard": report.limits.nofile_hard,
                "client_pool_default": report.default_pool,
            }
        ),
        "checkup": told("checkup", report.checkup or LEFT_OUT),
    }
    if report.limits.address_space_bytes is not None:
        made["address_space"] = {
            "limit_bytes": report.limits.address_space_bytes,
            "bites_at_calls": told("address_space.bites_at_calls", Missing(ADDRESS_SPACE_WHY)),
            "remedy": ADDRESS_SPACE_REMEDY,
        }
    return {**made, "missing": missing}


def encode(report: Report) -> bytes:
    """The report as one line of strict JSON."""
    return msgspec.json.encode(as_json(report))


def _limit(found: Shortfall) -> dict[str, Any]:
    return {
        "limit": found.limit.value,
        "bites_at_calls": found.calls,
        "need": found.need,
        "have": found.have,
        "of": found.of if found.unit == 1 else "bytes",
        "bites": found.bites,
        "forbids": found.forbids,
        "remedy": found.remedy,
    }


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
