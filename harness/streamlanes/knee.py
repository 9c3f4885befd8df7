"""The knee: the highest total token rate that a fixed number of calls bears, as records show it. Pure.

A rate is borne if the stream lateness p99 stays within a bound and nothing is lost. One look can be
wrong: a rate whose first step is near the bound, crashed, or ran on a disturbed host is measured up to
three times, and the median decides. Where the provider ran out first, or the host did other things, it
is no fault of the client: the knee is then at or above what was borne.

What a search found is made from its records each time it is asked for, and is stored nowhere else.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from streamlanes.record import FlagName, Record, StatusName

RESOLUTION = 1.10
"""A search is content when the rate not borne is no more than this times the one that is."""
NEAR = 1.5
"""Between the bound over this and the bound times this, one look may be noise."""
LATE = "latency.stream_ms.p99"
CLIENT_PART = "latency.client_ms.p99"
RATE = "rate_per_s"

_DISTURBED = frozenset({FlagName.NOISY_HOST, FlagName.CPU_THROTTLED, FlagName.ACCEPT_LIMITED})
_ANOTHER_LOAD = frozenset({FlagName.FAILED_CALLS, FlagName.CAPPED})
_NOT_RUN = frozenset({StatusName.UNSUPPORTED, StatusName.SKIPPED})


class Verdict(enum.StrEnum):
    """What is known of one rate."""

    BORNE = "borne"
    NOT_BORNE = "not borne"
    PROVIDER = "provider-limited"  # not borne, and it was the provider that failed
    HOST = "host disturbed"  # not borne, and the host did other things meanwhile
    NOT_RUN = "not run"  # this machine cannot run such a cell
    OPEN = "open"  # to be measured once more


_FAILING = frozenset({Verdict.NOT_BORNE, Verdict.PROVIDER, Verdict.HOST})


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """The rates between which the knee lies.

    bears_per_s: the highest rate borne below the lowest that was not. fails_per_s: that lowest one.
    limit: who failed there (NOT_BORNE: the client). open_per_s: a rate to be measured once more. not_run:
    why this machine cannot run such cells.
    """

    bears_per_s: float | None = None
    fails_per_s: float | None = None
    limit: Verdict | None = None
    open_per_s: float | None = None
    not_run: str | None = None


def bracket(steps: Sequence[Record]) -> Bracket:
    """What the records of one search tell, whatever their order."""
    by_rate: dict[float, list[Record]] = {}
    for step in steps:
        by_rate.setdefault(rate_of(step), []).append(step)
    said = {rate: verdict(repetitions) for rate, repetitions in by_rate.items()}
    failing = [rate for rate, name in said.items() if name in _FAILING]
    high = min(failing, default=None)
    borne = [r for r, name in said.items() if name is Verdict.BORNE and (high is None or r < high)]
    return Bracket(
        bears_per_s=max(borne, default=None),
        fails_per_s=high,
        limit=None if high is None else said[high],
        open_per_s=min((rate for rate, name in said.items() if name is Verdict.OPEN), default=None),
        not_run=next((s.status.reason or s.status.name for s in steps if s.status.name in _NOT_RUN), None),
    )


def verdict(repetitions: Sequence[Record]) -> Verdict:
    """Of one rate, by what its repetitions showed: two of three that agree are the median."""
    if any(record.status.name in _NOT_RUN for record in repetitions):
        return Verdict.NOT_RUN
    over = [record for record in repetitions if late_ms(record) > _bound_ms(record)]
    borne = len(repetitions) - len(over)
    if borne == len(over) or (len(repetitions) == 1 and not clear(repetitions[0])):
        return Verdict.OPEN
    if borne > len(over):
        return Verdict.BORNE
    for whose, name in ((provider_ran_out, Verdict.PROVIDER), (disturbed, Verdict.HOST)):
        if 2 * sum(whose(record) for record in over) > len(over):
            return name
    return Verdict.NOT_BORNE


def late_ms(step: Record) -> float:
    """The lateness that the bound is held to; without end where calls did not all end well, were never all
    in flight, or lost a token."""
    late = step.figure(LATE)
    whole = step.status.name is StatusName.OK and not any(flag.name in _ANOTHER_LOAD for flag in step.flags)
    return inf if late is None or not whole or step.figure("counts.lost_tokens") != 0 else late


def clear(step: Record) -> bool:
    """Whether one look is enough: an undisturbed host, no crash, and a lateness far from the bound."""
    if step.status.name is StatusName.CRASHED or disturbed(step):
        return False
    return not _bound_ms(step) / NEAR <= late_ms(step) <= _bound_ms(step) * NEAR


def disturbed(step: Record) -> bool:
    """Whether the host did other things meanwhile, or held it up."""
    return any(flag.name in _DISTURBED for flag in step.flags)


def provider_ran_out(step: Record) -> bool:
    """Whether the provider was the limit of a rate that was not borne: flagged, and the client's own part
    of the lateness is within the bound (or not known)."""
    own = step.figure(CLIENT_PART)
    flagged = any(flag.name is FlagName.PROVIDER_LIMITED for flag in step.flags)
    return flagged and (own is None or own <= _bound_ms(step))


def rate_of(step: Record) -> float:
    """The rate that a step of a search was asked for."""
    return float(step.cell.asked[RATE])


def is_step(record: Record) -> bool:
    """Whether a record is a step of a search: it may overload on purpose, and is compared with nothing."""
    return record.cell.knee_bound_ms is not None


def _bound_ms(step: Record) -> float:
    assert step.cell.knee_bound_ms is not None
    return step.cell.knee_bound_ms


def search_of(cell_id: str) -> str:
    """A cell's identity without its rate and repetition: the search that it is a step of."""
    return "/".join(part for part in cell_id.split("/")[:-1] if not part.startswith(f"{RATE}="))


@dataclass(frozen=True, kw_only=True)
class Knee:
    """What one search has found so far. steps: its records, in the order measured."""

    steps: tuple[Record, ...]
    bracket: Bracket

    @property
    def bound_ms(self) -> float:
        """What the stream lateness p99 was held to."""
        return _bound_ms(self.steps[0])

    @property
    def disturbed(self) -> int:
        """How many of its steps were."""
        return sum(map(disturbed, self.steps))

    @property
    def cut_short(self) -> bool:
        """Whether the two rates are still further apart than a search brings them."""
        low, high = self.bracket.bears_per_s, self.bracket.fails_per_s
        return low is not None and high is not None and high > RESOLUTION * low


def knees(records: Iterable[Record]) -> list[Knee]:
    """What every search among these records has found, in the order in which they began."""
    searches: dict[str, list[Record]] = {}
    for record in filter(is_step, records):
        searches.setdefault(search_of(record.cell.id), []).append(record)
    return [Knee(steps=tuple(steps), bracket=bracket(steps)) for steps in searches.values()]


def without_searches(records: Iterable[Record]) -> list[Record]:
    """The records that are no steps: what tables, charts, ratios and the gate are about."""
    return [record for record in records if not is_step(record)]
