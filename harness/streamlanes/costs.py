"""What a client costs: every client of a run side by side, under each way of running it. Pure.

A cost is about one client, one backend and one transport, over all sizes that were measured. It is told where
at least two libraries ran under the same backend with the same workload: else there is nothing to compare.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from streamlanes.capacity import Capacity, capacities
from streamlanes.clients import CLIENTS
from streamlanes.facts import Missing
from streamlanes.knee import without_searches
from streamlanes.record import Record, StatusName
from streamlanes.series import Line, Point, client_kind, clients_of, line_order, points
from streamlanes.stats import Fit, Ratio, fit_line, paired, paired_ratio
from streamlanes.words import plain

TOKEN, SETUP = "time.cpu_us_per_token", "time.cpu_us_per_call_setup"
_PSS, _HELD = "memory.plateau_pss_bytes", "memory.held_calls"
SIZES_OF_A_LINE = 3
"""Sizes that a slope takes: two always lie on a line."""
_OVER, _FASTER, _PLAIN = "over", "uvloop", "asyncio"


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Memory of the whole process over calls held: `fit` in bytes, from these numbers of calls."""

    fit: Fit
    held: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Against:
    """A figure of one loop over that of the other, paired by repetition at one size."""

    ratio: Ratio
    calls: int


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One client under one backend over one transport. points: a point a size, ascending. other: the same
    client under asyncio, for one under uvloop. knee: of the search that was made of it. at: the size at which
    all costs are compared, which most of them have."""

    client: str
    line: Line
    tls: bool
    points: tuple[Point, ...]
    at: int
    other: tuple[Point, ...] = ()
    knee: Capacity | None = None

    @property
    def library(self) -> str:
        """The client with the version that ran, and that of the HTTP library it stands on."""
        known: dict[str, str] = {}
        for record in self._records:
            known |= record.interpreter.get("libraries", {})
        info = CLIENTS.get(self.client)
        wanted = info.libraries if info else ()
        told = [f"{name} {known[name]}" for name in wanted if name in known]
        return " on ".join(told[:2]) if told else self.client

    @property
    def way(self) -> str:
        """The backend with its settings, and the transport."""
        return f"{self.line.label}, {'TLS' if self.tls else 'plain'}"

    @property
    def here(self) -> Point | None:
        """The point at the size that all are compared at."""
        return next((point for point in self.points if point.calls == self.at), None)

    @property
    def largest(self) -> Point | None:
        """The point of the largest size beyond that one; None where there is none."""
        return self.points[-1] if self.points[-1].calls > self.at else None

    @cached_property
    def growth(self) -> Growth | Missing:
        """Bytes of one more stream, and what there is without any, by least squares."""
        read = {
            int(held): pss
            for point in self.points
            if (held := point.pooled(_HELD)) is not None and (pss := point.pooled(_PSS)) is not None
        }
        if not read:
            return Missing(self.points[0].why_missing(_PSS))
        if len(read) < SIZES_OF_A_LINE:
            at = " and ".join(map(plain, sorted(read)))
            return Missing(f"a slope takes memory at {SIZES_OF_A_LINE} sizes, and it was read at {at}")
        sizes = sorted(read)
        return Growth(fit=fit_line(sizes, [read[size] for size in sizes]), held=tuple(sizes))

    @cached_property
    def against(self) -> Against | Missing:
        """uvloop's CPU per token over asyncio's, at the size with most clean pairs; of equals the largest."""
        if self.line.backend != _FASTER:
            return Missing(f"told of {_FASTER}, against {_PLAIN}")
        found: list[tuple[int, int, Ratio]] = []
        for mine in self.points:
            for theirs in self.other:
                if theirs.calls == mine.calls:
                    a, b = paired(_clean(mine), _clean(theirs))
                    found += [(len(a), mine.calls, paired_ratio(a, b))] if a else []
        if not found:
            return Missing(f"no repetition in which both {_FASTER} and {_PLAIN} are clean")
        _, calls, ratio = max(found, key=lambda each: each[:2])
        return Against(ratio=ratio, calls=calls)

    @property
    def _records(self) -> Iterable[Record]:
        return (record for point in self.points for record in point.records)


def costs(records: Iterable[Record]) -> list[Cost]:
    """The costs in these records, by client, then backend, plain before TLS; none where no two libraries can
    be compared. Where there are several workloads, of the one that most clients ran."""
    every = list(records)
    workload, found = _comparable(points(without_searches(every)))
    ways: dict[tuple[str, bool, Line], list[Point]] = defaultdict(list)
    for point in found:
        ways[point.client, _tls(point), point.line.without(_OVER)].append(point)
    if not ways:
        return []
    sizes = Counter(point.calls for point in found if point.pooled(TOKEN) is not None)
    at = max(sizes or [point.calls for point in found], key=lambda calls: (sizes[calls], calls))
    knees = {
        (one.client, _over_tls(one.knee.steps[0]), one.line.without(_OVER)): one
        for one in capacities(every)
        if one.workload == workload
    }
    order = clients_of(record for point in found for record in point.records)
    return [
        Cost(
            client=client,
            line=line,
            tls=tls,
            points=tuple(sorted(mine, key=lambda point: point.calls)),
            at=at,
            other=tuple(ways.get((client, tls, Line(_PLAIN, line.variant)), ())),
            knee=knees.get((client, tls, line)),
        )
        for (client, tls, line), mine in sorted(
            ways.items(), key=lambda way: (order.index(way[0][0]), line_order(way[0][2]), way[0][1])
        )
    ]


def _comparable(found: Sequence[Point]) -> tuple[str, list[Point]]:
    """The workload that most clients ran, and its points, bounded pools left out; none where there are no two
    libraries under one backend."""
    by_workload: dict[str, list[Point]] = defaultdict(list)
    for point in found:
        if not point.bounded and any(r.status.name is not StatusName.UNSUPPORTED for r in point.records):
            by_workload[point.workload].append(point)
    for workload, mine in sorted(by_workload.items(), key=lambda pair: -len({p.client for p in pair[1]})):
        libraries: Mapping[str, set[str]] = defaultdict(set)
        for point in mine:
            if client_kind(point.client) == 0:
                libraries[point.line.backend].add(point.client)
        if any(len(clients) > 1 for clients in libraries.values()):
            return workload, mine
    return "", []


def _clean(point: Point) -> dict[int, float]:
    """Its CPU per token by repetition, clean ones only: no other enters a ratio."""
    return {r.cell.repetition: value for r, value in point.figures(TOKEN) if r.clean and value > 0}


def _tls(point: Point) -> bool:
    return any(map(_over_tls, point.records))


def _over_tls(record: Record) -> bool:
    return bool(record.cell.axes.get("tls"))
