"""What executions are held to, and what breaks first as there are more of them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamlanes.record import FlagName, Record, StatusName
from streamlanes.words import number, plain, why_missing


@dataclass(frozen=True, kw_only=True)
class Slo:
    """One bound. most, least: what a figure must not pass. must: whether a cell without the figure breaks it;
    else that says nothing."""

    path: str
    says: str
    most: float | None = None
    least: float | None = None
    must: bool = False

    def broken_by(self, record: Record) -> str | None:
        """By how much a record breaks it; None where it does not."""
        value = record.figure(self.path)
        if value is None:
            return f"nothing acknowledged to judge: {why_missing(record, self.path)}" if self.must else None
        if self.most == 0 and value > 0:  # a count
            return self.says.format(plain(value))
        if self.most is not None and value > self.most:
            return f"{self.says.format(number(value))} ({number(self.most)} at most)"
        if self.least is not None and value < self.least:
            return f"{self.says.format(number(value))} ({number(self.least)} at least)"
        return None


LEAST_PACE = 0.9
"""Of what executions would do whose steps take their calls' own time and nothing else."""

SLOS = (
    Slo(path="durable.lost", says="{} steps lost", most=0),
    Slo(path="durable.duplicated", says="{} steps duplicated", most=0),
    Slo(path="counts.job_error", says="{} executions failed", most=0),
    Slo(path="counts.unfinished", says="{} executions unfinished", most=0),
    Slo(path="counts.cancelled", says="{} executions cancelled", most=0),
    Slo(path="counts.unaccounted_calls", says="{} executions never begun", most=0),
    Slo(path="durable.ack_ms.p99", says="acknowledged within {} ms at p99", most=100, must=True),
    Slo(path="durable.of_ideal", says="{} of the ideal pace", least=LEAST_PACE),
)
"""The gravest first: of several that break at once, that one is named first."""


@dataclass(frozen=True)
class Held:
    """How far one way of carrying executions on holds.

    holds: the most executions below the first break, 0 for none. breaks_at: executions where it breaks, None
    where it never did. first: what broke there, the gravest first. noisy: every cell that broke there was
    disturbed by other programs.
    """

    name: str
    holds: int
    breaks_at: int | None
    first: tuple[str, ...]
    noisy: bool = False


def broken(record: Record) -> list[str]:
    """All that a record breaks, the gravest first."""
    if record.status.name is not StatusName.OK:
        return [record.status.name.value.replace("_", " ")]
    return [said for slo in SLOS if (said := slo.broken_by(record)) is not None]


def held(name: str, records: Sequence[Record]) -> Held:
    """One way over its sizes. A size breaks where most of its repetitions do; what cannot run here at all
    says nothing of it."""
    sizes: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        if record.status.name not in (StatusName.UNSUPPORTED, StatusName.SKIPPED):
            sizes[record.cell.calls].append(record)
    holds = 0
    for size in sorted(sizes):
        breaking = [record for record in sizes[size] if broken(record)]
        if 2 * len(breaking) > len(sizes[size]):
            noisy = all(_noisy(record) for record in breaking)
            return Held(name, holds, size, tuple(broken(breaking[0])), noisy)
        holds = size
    return Held(name, holds, None, ())


def line(of: Held) -> str:
    """The same in words."""
    if of.breaks_at is None:
        return (
            f"{of.name} holds {of.holds:,}, the most that were tried"
            if of.holds
            else f"{of.name} did not run"
        )
    kept = f"holds {of.holds:,} and " if of.holds else ""
    first, *others = of.first
    also = f"; also {', '.join(others)}" if others else ""
    doubt = " (noisy host)" if of.noisy else ""
    return f"{of.name} {kept}breaks at {of.breaks_at:,}: {first}{also}{doubt}"


def out_of_reach(records: Iterable[Record]) -> str | None:
    """Where a provider that refuses calls lets so few through that no way can keep the pace: why none holds,
    in words. None where that cannot be known or is not so."""
    for record in sorted(records, key=lambda each: each.cell.calls):
        limit = record.cell.provider.get("limit_per_s")
        pace, share = record.figure("work.per_s"), record.figure("durable.of_ideal")
        if limit and pace and share and limit < LEAST_PACE * pace / share:
            least = number(LEAST_PACE)
            return (
                f"none can hold {record.cell.calls:,}: the provider lets {number(limit)} calls a second "
                f"through, and {least} of the ideal pace is {number(LEAST_PACE * pace / share)}"
            )
    return None


def _noisy(record: Record) -> bool:
    return any(flag.name is FlagName.NOISY_HOST for flag in record.flags)
