"""What a run says, in its last lines: what won, by how much, what breaks first, what is in doubt. Pure.

Every claim names its client and its size, and stands on clean records only. What the records do not
show is left out, or said to be missing.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from streamlanes.capacity import Capacity, capacities
from streamlanes.contest import OWN, Contest, clean, doubts
from streamlanes.knee import without_searches
from streamlanes.lanes.base import Lane
from streamlanes.preflight import LimitName
from streamlanes.record import NOTES, FlagName, Record, StatusName
from streamlanes.series import YARDSTICKS, Point, by_reason, client_words, clients_of, points
from streamlanes.stats import Ratio
from streamlanes.words import ending, plain, quantity, title

_COLUMNS = 110
_INDENT = " " * 8
_LOST = "counts.lost_tokens"
_RUNNERS_UP = 2


def answer(records: Sequence[Record], lanes: Sequence[Lane]) -> list[str]:
    """What the records of these lanes show, one block a client, then the flags of all, in lines that fit a
    terminal."""
    names = {lane.name for lane in lanes}
    own = [record for record in records if record.cell.lane in names]
    said = [line for lane in lanes for line in _said([r for r in own if r.cell.lane == lane.name], lane)]
    return [piece for line in [*said, *([_flags(own, lanes)] if own else [])] for piece in _folded(line)]


def _said(own: Sequence[Record], lane: Lane) -> list[str]:
    """One lane's part. Steps of knee searches are no cells to compare: of them it says what the searches
    found."""
    if not own:
        return [f"ANSWER  none: no {lane.name} cell was measured"]
    if lane.answer is not None:
        return lane.answer(own) or [f"ANSWER  none: no {lane.name} cell came to its figures"]
    measured, sought = points(without_searches(own)), capacities(own)
    said: list[str] = []
    clients = clients_of(own)
    for client in clients:
        mine = [point for point in measured if point.client == client]
        groups = _by_load(one for one in sought if one.client == client)
        who = client_words(client, (record for record in own if record.cell.client == client))
        beside = client in YARDSTICKS and clients[0] not in YARDSTICKS
        block = _yardstick if beside else _block
        leads = [_INDENT if mine else f"ANSWER  on the {who} ", *[_INDENT] * len(groups)]
        said += block(mine, who, lane) if mine else []
        said += [f"{lead}{_bears(group)}" for lead, group in zip(leads, groups, strict=False)]
    return said


def _folded(line: str) -> list[str]:
    return textwrap.wrap(
        line, _COLUMNS, subsequent_indent=_INDENT + "  ", break_long_words=False, break_on_hyphens=False
    )


def _by_load(found: Iterable[Capacity]) -> list[list[Capacity]]:
    """Searches of the same load and bound together, the highest rate first."""
    groups: dict[tuple[str, int, float], list[Capacity]] = {}
    for one in found:
        groups.setdefault((one.workload, one.calls, one.knee.bound_ms), []).append(one)
    return [
        sorted(group, key=lambda one: -(one.knee.bracket.bears_per_s or 0.0)) for group in groups.values()
    ]


def _bears(group: Sequence[Capacity]) -> str:
    """What the calls of one load bear under each backend."""
    first = group[0]
    return (
        f"{first.calls:,} calls ({first.workload}) bear {', '.join(map(_bears_under, group))}; "
        f"stream lateness p99 within {plain(first.knee.bound_ms)} ms"
    )


def _bears_under(one: Capacity) -> str:
    fails = [f"not {one.fails}"] if one.knee.bracket.bears_per_s is not None and one.bounded_above else []
    beside = [*fails, *one.notes]
    return f"{one.bears} under {one.line.label}" + (f" ({', '.join(beside)})" if beside else "")


def _block(mine: Sequence[Point], who: str, lane: Lane) -> list[str]:
    contest = Contest(mine, lane)
    if not contest.field:
        return [f"ANSWER  none on the {who}: {_no_contest(mine)}", *_breaks(mine)]
    best, *others = contest.field
    alone = "" if others else ", the only one with clean figures"
    head = f"{best.line.label} on the {who}{alone}: at {best.calls:,} calls {_figures(best, contest)}"
    against = [_against(contest, best, other) for other in others[:_RUNNERS_UP]]
    return [f"ANSWER  {head}", *against, *_left_out(contest.left_out, mine), *_breaks(mine)]


def _yardstick(mine: Sequence[Point], who: str, lane: Lane) -> list[str]:
    """What a client that nobody uses takes, beside those that people do: nothing wins here."""
    lead, contest = f"{mine[0].client.upper():8}", Contest(mine, lane)
    if not contest.field:
        return [f"{lead}none: {_no_contest(mine)}"]
    each = "; ".join(f"{point.line.label} {_figures(point, contest)}" for point in contest.field)
    return [f"{lead}the {who} at {contest.field[0].calls:,} calls: {each}"]


def _figures(point: Point, contest: Contest) -> str:
    """The point's clean figures, the one that decides first."""
    return ", ".join(
        f"{title(m.path)} {quantity(value, m.unit)}"
        for m in contest.headline
        if (value := clean(point, m)) is not None
    )


def _no_contest(mine: Sequence[Point]) -> str:
    records = [record for point in mine for record in point.records if not point.bounded]
    if records and all(map(_never_meant, records)):
        return "; ".join(dict.fromkeys(str(record.status.reason) for record in records))
    flags = Counter(f.name.value for r in records for f in r.flags if f.name not in NOTES | OWN)
    if not flags:
        return "no cell ended ok and unflagged"
    counted = ", ".join(f"{name} in {count}" for name, count in flags.most_common())
    remedy = "; measure again on a quiet machine" if flags[FlagName.NOISY_HOST.value] else ""
    return f"too few cells are beyond doubt ({counted} of {len(records)}){remedy}"


def _against(contest: Contest, best: Point, other: Point) -> str:
    """The winner over another, figure by figure, with intervals."""
    who = f"{_INDENT}{best.line.label} against {other.line.label}"
    found = contest.compare(best, other)
    if not found:
        return f"{who}: no repetition in which both are clean, so no ratio"
    most = max(one.ratio.pairs for one in found)
    parts = []
    for one in found:
        fewer = "" if one.ratio.pairs == most else f" ({_pairs(one.ratio.pairs)})"
        parts.append(
            f"{title(one.metric.path)} {'same' if one.alike and one.known else _times(one.ratio) + fewer}"
        )
    pairs = _pairs(most) + (", so no interval" if most == 1 else "")
    return f"{who} ({best.calls:,} calls, {pairs}): {', '.join(parts)}"


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"


def _times(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}x"
    return f"{ratio.value:.2f}x [{ratio.low:.2f}, {ratio.high:.2f}]"


def _left_out(left_out: Sequence[Point], mine: Sequence[Point]) -> list[str]:
    """Who was not compared at the winner's size, unless the line on what breaks first says it."""
    least = _least_broken(mine)
    meant = [point for point in left_out if not all(map(_never_meant, point.records))]
    silent = [point for point in meant if not (_broke(point) and point.calls == least)]
    if not silent:
        return []
    why = by_reason((p.line.label, _broke(p) or ", ".join(doubts(p)) or "no figure") for p in silent)
    said = "; ".join(f"{', '.join(labels)}: {reason}" for reason, labels in why)
    return [f"{_INDENT}left out at {silent[0].calls:,}: {said}"]


def _breaks(mine: Sequence[Point]) -> list[str]:
    """What failed at the smallest size. A bounded pool counts only where it crashed or could not start:
    that it does not finish in its budget is arithmetic."""
    free = [p for p in mine if _competes(p) and not all(map(_never_meant, p.records))]
    least = _least_broken(mine)
    if not free:
        return []
    if least is None:
        return [f"{_INDENT}breaks first: nothing up to {max(point.calls for point in free):,} calls"]
    why = by_reason((p.line.label, _broke(p)) for p in free if p.calls == least and _broke(p))
    said = "; ".join(f"{', '.join(labels)} at {least:,}: {reason}" for reason, labels in why)
    return [f"{_INDENT}breaks first: {said}"]


def _least_broken(mine: Sequence[Point]) -> int | None:
    return min((point.calls for point in mine if _competes(point) and _broke(point)), default=None)


def _competes(point: Point) -> bool:
    failed = (StatusName.CRASHED, StatusName.UNSUPPORTED)
    return not point.bounded or any(record.status.name in failed for record in point.records)


def _broke(point: Point) -> str:
    """How the backend itself failed here; empty if it did not."""
    for record in point.records:
        if record.status.name not in (StatusName.OK, StatusName.SKIPPED) and not _never_meant(record):
            return ending(record)
    limited = any(f.name is FlagName.CLIENT_LIMITED for record in point.records for f in record.flags)
    return FlagName.CLIENT_LIMITED.value if limited else ""


def _never_meant(record: Record) -> bool:
    """Whether nothing of the machine's kept the cell from running: the backend does not fit, or an import
    is not there. A foreseen limit is named at the head of its reason; one that was met has a count."""
    status = record.status
    limited = status.reached is not None or str(status.reason).partition(":")[0] in set(LimitName)
    return status.name is StatusName.UNSUPPORTED and not limited


def _flags(records: Sequence[Record], lanes: Sequence[Lane]) -> str:
    """Endings and flags of the cells that are compared, since a search breaks some on purpose; the host's
    noise of those whose lane looks at it, and lost tokens of all."""
    compared = without_searches(records)
    statuses = Counter(
        r.status.name.replace("_", " ") for r in compared if r.status.name is not StatusName.OK
    )
    flags = Counter(flag.name.value for record in compared for flag in record.flags)
    flags.pop(FlagName.NOISY_HOST.value, 0)
    looking = {lane.name for lane in lanes if lane.doubts is None or FlagName.NOISY_HOST in lane.doubts}
    looked = [record for record in records if record.cell.lane in looking]
    noisy = sum(flag.name is FlagName.NOISY_HOST for record in looked for flag in record.flags)
    counted = [f"{count} {name}" for names in (statuses, flags) for name, count in sorted(names.items())]
    host = f"host noisy in {noisy} of {len(looked)} cells" if noisy else "host quiet"
    ended = [record for record in records if record.status.name is StatusName.OK]
    seen = noisy or any(record.cell.lane in looking for record in ended)
    parts = [", ".join(counted) or "none", *([host] if seen else []), *_lost(ended)]
    return f"FLAGS   {'; '.join(parts)}"


def _lost(ended: Iterable[Record]) -> list[str]:
    """Lost tokens of all cells that ended ok; a cell whose count is not known is said, not skipped."""
    asked = [r for r in ended if _LOST in r.missing or r.figure(_LOST) is not None]
    if not asked:
        return []
    known = [value for record in asked if (value := record.figure(_LOST)) is not None]
    unknown = len(asked) - len(known)
    text = f"{plain(sum(known))} tokens lost" if known else "lost tokens not known"
    return [text + (f" (not known in {unknown} cells)" if known and unknown else "")]
