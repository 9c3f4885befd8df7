"""What mixed cells come to, in words: who kept the streams on time, and how long a call may work inline."""

from collections.abc import Sequence

from streamlanes.lanes import offloading
from streamlanes.lanes.answers import middle
from streamlanes.lanes.mixed_calls import ON_TIME_MS
from streamlanes.record import Record
from streamlanes.words import number


def answer(records: Sequence[Record]) -> list[str]:
    """Who kept the streams on time beside the work, and what one call may do inline; each client and each
    function of one's own for itself."""
    lines = []
    whose: dict[str, list[Record]] = {}
    for record in records:
        whose.setdefault(record.cell.call or record.cell.client, []).append(record)
    for name, own in whose.items():
        for (backend, size, kernel, switch), group in offloading.grouped(own, "kernel", "switch_ms").items():
            where = f"under {backend}, {size} calls, {kernel}, switch interval {switch} ms"
            if len(whose) > 1:
                where = f"for {name} {where}"
            lines += _beside(group, where) + _inline(group, where)
    return lines


def _beside(group: Sequence[Record], where: str) -> list[str]:
    """The ways side by side, at the load nearest to half a core."""
    loads = {record.cell.axes["load"] for record in group} - {None, 0}
    if not loads:
        return []
    load = min(loads, key=lambda each: abs(each - 0.5))
    some = [record for record in group if record.cell.axes["load"] == load]
    said = {}
    for way, ran in offloading.ways(some).items():
        (p50, doubt), (p99, _) = (middle(ran, f"mixed.lateness_ms.{which}") for which in ("p50", "p99"))
        if p50 is not None and p99 is not None:
            said[f"{way} {number(p50)} and {number(p99)} ms{doubt}"] = p50
    if not said:
        return []
    ranked = ", ".join(sorted(said, key=lambda each: said[each]))
    return [f"MIXED   at {load * 100:.0f} % of a core {where}: stream lateness p50 and p99 {ranked}"]


def _inline(group: Sequence[Record], where: str) -> list[str]:
    """How long one call may work inline; of the lengths that were measured."""
    kept: dict[float, bool] = {}
    for (work_ms,), ran in _by_work(group).items():
        p99, _ = middle(ran, "mixed.lateness_ms.p99")
        kept[work_ms] = p99 is not None and p99 < ON_TIME_MS
    tried = sorted(kept)
    if not any(tried):
        return []
    broke = next((each for each in tried if not kept[each]), None)
    last = max((each for each in tried if broke is None or each < broke), default=0.0)
    bound = f"stream lateness p99 under {ON_TIME_MS:g} ms"
    said = [f"up to {number(last)} ms of work a call kept {bound}"] if last else []
    said += (
        [f"{number(broke)} ms did not keep {bound}" if not last else f"{number(broke)} ms did not"]
        if broke
        else []
    )
    return [f"        inline {where}: {', '.join(said)}"] if said else []


def _by_work(group: Sequence[Record]) -> dict[tuple[float], list[Record]]:
    found: dict[tuple[float], list[Record]] = {}
    for record in group:
        if record.cell.axes["offload"] == "inline":
            found.setdefault((record.cell.axes["work_ms"],), []).append(record)
    return found
