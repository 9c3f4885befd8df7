"""The record: what one cell measured, as it stands in records.jsonl, one JSON object a line.

Schema history
  streamlanes.cell/1  first version. Groups `cpu`, `mixed`, `durable` and `chaos` came later: of their
  lanes, absent elsewhere.

Rules every reader may rely on: a figure that was wanted and not obtained is `null` and has its
reason under `missing`; a path that is absent belongs to another lane; `quality` names every figure
that was not simply measured. Strict JSON: no NaN, no infinities.
"""

import enum
from typing import Any

import msgspec

SCHEMA = "streamlanes.cell/1"

Figures = dict[str, Any]
"""A group of figures: a number, `null`, or a nested group such as `lateness_ms: {p50: ..., p99: ...}`."""


class StatusName(enum.StrEnum):
    """How a cell ended."""

    OK = "ok"
    UNSUPPORTED = "unsupported"  # a limit of this machine, foreseen or met at the first refusal
    OVER_BUDGET = "over_budget"  # stopped at its hard budget, or known beforehand not to fit it
    CRASHED = "crashed"  # the measured process died or raised
    SKIPPED = "skipped"  # nothing was tried


class FlagName(enum.StrEnum):
    """Why a figure may not be the backend's own (DESIGN.md, rule 13)."""

    FAILED_CALLS = "failed-calls"
    CLIENT_LIMITED = "client-limited"
    PROVIDER_LIMITED = "provider-limited"
    CAPPED = "capped"
    BOUNDED = "bounded"
    NOISY_HOST = "noisy-host"
    ACCEPT_LIMITED = "accept-limited"
    CPU_THROTTLED = "cpu-throttled"
    BELOW_TIMER_GRAIN = "below-timer-grain"
    BUFFERED_PATH = "buffered-path"


NOTES = frozenset({FlagName.BOUNDED})
"""Flags that are a note and not a doubt: such cells still count as clean."""


class Quality(enum.StrEnum):
    """How a figure was obtained; `measured` is the rule and is not listed in a record."""

    MEASURED = "measured"
    SAMPLED = "sampled"
    DERIVED = "derived"
    UPPER_BOUND = "upper_bound"
    HOST_WIDE = "host_wide"


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the cell ended, why, and how far it came.

    reason: one line, null for `ok`. reached: calls (of a pool: workers) started when the system refused
    the next one.
    """

    name: StatusName
    reason: str | None = None
    reached: int | None = None


class Flag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A doubt about the cell, with the numbers that raised it."""

    name: FlagName
    evidence: dict[str, float | int | str | None] = {}


class CellInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured. `id` is the cell's identity within a run; `axes` holds resolved values, `asked`
    those that the profile or the command line had set, `provider` what the profile set of the provider.
    `call`: the function that client `call` calls. `knee_bound_ms`: of a step of a knee search the bound it
    was held to, null for every other cell."""

    id: str
    lane: str
    backend: str
    client: str
    workload: str
    calls: int
    repetition: int
    axes: dict[str, Any]
    asked: dict[str, Any] = {}
    provider: dict[str, Any] = {}
    call: str | None = None
    knee_bound_ms: float | None = None


class Error(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of error within the cell: how often it was met, and the message of the first."""

    count: int
    message: str


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cell's result.

    machine: what it ran on (CPU count, memory, kernel, interpreter, library versions; no names).
    interpreter: what the measured process reported of itself (loop class, GIL, stack size, ...).
    errors: class -> what jobs raised (and `EventLoopBlocked`, which is seen and not raised); the first few
    classes, the others counted together. missing: path -> reason, for every null figure. quality: path ->
    how it was obtained. cpu, mixed, durable, chaos: of the lane of that name, absent in the
    others' records.
    """

    schema: str = SCHEMA
    cell: CellInfo
    machine: Figures
    status: Status
    flags: list[Flag] = []
    interpreter: Figures = {}
    time: Figures = {}
    latency: Figures = {}
    memory: Figures = {}
    counts: Figures = {}
    work: Figures = {}
    gc: Figures = {}
    provider: Figures = {}
    errors: dict[str, Error] = {}
    cpu: Figures | msgspec.UnsetType = msgspec.UNSET
    mixed: Figures | msgspec.UnsetType = msgspec.UNSET
    durable: Figures | msgspec.UnsetType = msgspec.UNSET
    chaos: Figures | msgspec.UnsetType = msgspec.UNSET
    missing: dict[str, str] = {}
    quality: dict[str, Quality] = {}

    @property
    def clean(self) -> bool:
        """Whether the record may enter a ratio: it ended `ok` and nothing casts doubt on it."""
        return self.status.name is StatusName.OK and all(flag.name in NOTES for flag in self.flags)

    def figure(self, path: str) -> float | None:
        """The number at a dotted path (`latency.stream_ms.p99`); None if it is null or absent."""
        at: Any = self.cell.axes if path.startswith("cell.axes.") else self
        for name in path.removeprefix("cell.axes.").split("."):
            at = at.get(name) if isinstance(at, dict) else getattr(at, name, None)
            if at is None:
                return None
        return at if isinstance(at, (int, float)) and not isinstance(at, bool) else None


def encode(record: Record) -> bytes:
    """The record as one line of JSON, newline included."""
    return msgspec.json.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """A record from its line; raises msgspec.DecodeError or msgspec.ValidationError."""
    record = _DECODER.decode(line)
    if record.schema != SCHEMA:
        raise msgspec.ValidationError(f"schema is {record.schema!r}, this version reads {SCHEMA!r}")
    return record


_DECODER = msgspec.json.Decoder(Record)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record, as published in docs/record.schema.json."""
    return msgspec.json.schema(Record)
