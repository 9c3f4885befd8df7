"""What durable cells come to, in words: stores side by side, shared commits, architectures, losses."""

from collections.abc import Iterable, Sequence
from statistics import median

from streamlanes.durable.architectures import CHECKPOINTS
from streamlanes.lanes import slo
from streamlanes.lanes.answers import middle
from streamlanes.lanes.durable_asks import BARE, RETRY
from streamlanes.record import Record, StatusName
from streamlanes.words import number, plain


def answer(records: Sequence[Record]) -> list[str]:
    """The stores side by side, what sharing commits is worth, and whether anything was lost. Of several
    architectures how far each holds, and the rates at the largest size."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for record in records:
        if record.status.name is StatusName.OK:
            key = (record.cell.client, record.cell.calls, record.cell.backend)
            groups.setdefault(key, []).append(record)
    held, lines = _architectures(records), []
    most = max((size for _, size, _ in groups), default=0)
    for (client, size, backend), group in sorted(groups.items(), key=lambda pair: pair[0][1]):
        if held and size < most:
            continue
        steps = "bare steps" if client == BARE else f"steps of a {client} call"
        where = f"{size:,} executions of {steps} under {backend}"
        lines += _stores(group, where) + _sharing(group, where)
    if held and not lines:
        lines = [f"DURABLE {most:,} executions at once, what breaks first:"]
    return [*lines, *held, *_kept(records)] if lines else []


def _architectures(records: Sequence[Record]) -> list[str]:
    """How far each architecture holds, and what breaks first; where there are several, or refused calls."""
    ways: dict[str, list[Record]] = {}
    for record in records:
        retry = record.cell.axes.get("retry")
        asks = f", retry {retry}" if retry not in (None, RETRY) else ""
        under = "" if record.cell.backend == "asyncio" else f" under {record.cell.backend}"
        way = f"{record.cell.axes.get('architecture')} on {record.cell.axes.get('store')}"
        ways.setdefault(f"{way}{under}{asks}", []).append(record)
    if len({record.cell.axes.get("architecture") for record in records} - {None}) < 2:
        return []
    lines = [f"{slo.line(slo.held(name, some))}{_asked(some)}" for name, some in sorted(ways.items())]
    why = slo.out_of_reach(records)
    return [f"        {each}" for each in (*lines, *([why] if why else []))]


def _asked(some: Sequence[Record]) -> str:
    """Where calls are refused: what came of all the asking. Of cells of one size."""
    refusing = all(record.cell.provider.get("limit_per_s") for record in some)
    if not refusing or len({record.cell.calls for record in some}) > 1:
        return ""
    (done, _), (calls, _) = middle(some, "work.done"), middle(some, "durable.calls_per_step")
    return "" if done is None or calls is None else f"; {plain(done)} steps kept, {number(calls)} calls each"


def _stores(group: Sequence[Record], where: str) -> list[str]:
    """Steps a second of each store as it comes, the fastest first."""
    said = {}
    usual = [record for record in group if _usual(record)]
    for name in dict.fromkeys(map(_named, usual)):
        some = [record for record in usual if _named(record) == name]
        (rate, doubt), (p99, _) = middle(some, "work.per_s"), middle(some, "durable.ack_ms.p99")
        if rate is not None and p99 is not None:
            said[f"{name} {number(rate)} (acknowledged p99 {number(p99)} ms){doubt}"] = rate
    if not said:
        return []
    ranked = ", ".join(sorted(said, key=lambda each: -said[each]))
    looks = [value for record in usual if (value := record.figure("durable.fsync_us")) is not None]
    disk = f"; a sync takes {number(median(looks))} us here" if looks else ""
    return [f"DURABLE {where}, steps/s: {ranked}{disk}"]


def _sharing(group: Sequence[Record], where: str) -> list[str]:
    """How many times as fast a store is where commits are shared, at each delay of its syncs."""
    said = []
    for name in dict.fromkeys(map(_named, group)):
        for added in sorted({record.cell.axes.get("sync_ms") or 0 for record in group}):
            some = [
                record
                for record in group
                if _named(record) == name and (record.cell.axes.get("sync_ms") or 0) == added
            ]
            shared, alone = (
                middle([r for r in some if r.cell.axes.get("group_commit") is each], "work.per_s")
                for each in (True, False)
            )
            if shared[0] and alone[0]:
                delay = f" with {plain(added)} ms added to a sync" if added else ""
                said.append(f"{name}{delay} {shared[0] / alone[0]:.1f}x{shared[1] or alone[1]}")
    return [f"        group commit over a commit a step, {where}: {', '.join(said)}"] if said else []


def _kept(records: Iterable[Record]) -> list[str]:
    """Of all cells together."""
    counted = [record for record in records if record.figure("durable.lost") is not None]
    if not counted:
        return []
    lost, twice, done = (
        sum(record.figure(path) or 0 for record in counted)
        for path in ("durable.lost", "durable.duplicated", "work.done")
    )
    return [f"        of {plain(done)} steps acknowledged: {plain(lost)} lost, {plain(twice)} duplicated"]


def _usual(record: Record) -> bool:
    axes = record.cell.axes
    return not axes.get("sync_ms") and axes.get("group_commit") in (None, True)


def _named(record: Record) -> str:
    axes = record.cell.axes
    way = axes.get("architecture")
    return str(axes["store"]) if way in (None, CHECKPOINTS) else f"{way} on {axes['store']}"
