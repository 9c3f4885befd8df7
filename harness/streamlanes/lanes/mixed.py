"""The mixed lane: streaming calls that come and go, each one's text post-processed as soon as it is over."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlanes.errors import UserError
from streamlanes.facts import Missing
from streamlanes.lanes import io, offloading
from streamlanes.lanes.base import Asks, Better, Chart, Kind, Lane, Metric, Panel, Usual
from streamlanes.lanes.offloading import Figure, divided
from streamlanes.distributions import MEMBERS, Floats
from streamlanes.metrics import Calls
from streamlanes.record import Record
from streamlanes.words import number
from streamlanes.workload import Schedule, build

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell

LOWER, HIGHER, NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER
ON_TIME_MS = 50.0
"""A call is on time if no token of it was later than this; the bound of the lane's answer too."""
LOADS = (0, 0.25, 0.5, 0.75, 1)


class Mixed(Calls):
    """The calls of a timed pass, with what became of their texts."""

    @cached_property
    def window_ns(self) -> tuple[int, int] | Missing:
        """While texts were post-processed: from the first hand-over to the last result."""
        handed, back = self.timed.own["handed"], self.timed.own["back"]
        if not back.any():
            return Missing("no call came to its post-processing")
        return int(handed[handed > 0].min()), int(back.max())

    @cached_property
    def window_s(self) -> float | Missing:
        """Its length."""
        window = self.window_ns
        return window if isinstance(window, Missing) else (window[1] - window[0]) / 1e9

    @cached_property
    def _late_ms(self) -> Floats:
        """Every token's lateness without its call's start lag."""
        late: Floats = (self.stamps.received - self.due_ns(self.model_start_ns)) / 1e6
        return late

    @cached_property
    def during_ms(self) -> Floats | Missing:
        """Lateness, without start lag, of the tokens that were due in the window."""
        window, rows = self.window_ns, self.traced_tokens
        if isinstance(window, Missing):
            return window
        if isinstance(rows, Missing):
            return rows
        due = self.due_ns(self.model_start_ns)
        return self._late_ms[rows & (due >= window[0]) & (due <= window[1])]

    @cached_property
    def post_ms(self) -> Floats | Missing:
        """From a text's hand-over to its result, waiting included."""
        handed, back = self.timed.own["handed"], self.timed.own["back"]
        ended: Floats = (back - handed)[back > 0] / 1e6
        return ended

    @cached_property
    def done(self) -> int:
        """Documents that went through the kernel well: each text as often as a call's work asked."""
        each = self.timed.interpreter.get("documents_per_call", 0)
        well = (self.timed.own["back"] > 0) & (self.timed.own["fault"] == 0)
        return int(well.sum()) * int(str(each))

    @cached_property
    def work_ms(self) -> float | Missing:
        """CPU of one call's post-processing, the mean."""
        spent = self.timed.own["kernel_cpu"][self.timed.own["back"] > 0]
        return float(spent.mean()) / 1e6 if len(spent) else Missing("no call came to its post-processing")

    @cached_property
    def cores(self) -> float | Missing:
        """CPU of all post-processing over the window."""
        return divided(float(self.timed.own["kernel_cpu"].sum()) / 1e9, self.window_s)

    @cached_property
    def on_time(self) -> float | Missing:
        """The share of the calls that ended ok whose every token was in time."""
        traced = self.traced
        if isinstance(traced, Missing):
            return traced
        if not traced.any():
            return Missing("no call ended ok")
        late = np.where(self.stamps.received > 0, self._late_ms, np.inf)  # one that never came is not in time
        latest = np.maximum.reduceat(late, self.schedule.first[:-1])
        return float((latest[traced] <= ON_TIME_MS).mean())


def _member(name: str, which: str) -> Callable[[Mixed], Figure]:
    return lambda mixed: mixed.distribution(name)[which]


def _series(path: str, name: str, text: str) -> list[Metric]:
    units = {"early_share": "", "count": "samples"}
    return [
        Metric(
            path=f"mixed.{path}.{which}",
            unit=units.get(which, "ms"),
            better=NEITHER if which in units or which == "min" else LOWER,
            help=f"{text}: {which}",
            of=_member(name, which),
        )
        for which in MEMBERS
    ]


_MIXED = (
    *_series(
        "lateness_ms",
        "during_ms",
        "lateness without start lag, of the tokens due from the first hand-over to the last result",
    ),
    *_series("post_ms", "post_ms", "from a text's hand-over to its result"),
    Metric(
        path="mixed.window_s",
        unit="s",
        better=NEITHER,
        help="from the first hand-over to the last result",
        of=lambda m: m.window_s,
    ),
    Metric(
        path="mixed.on_time_share",
        unit="",
        better=HIGHER,
        help=f"share of the ok calls of which no token was later than {ON_TIME_MS:g} ms, start lag left out",
        of=lambda m: m.on_time,
    ),
    Metric(
        path="mixed.work_ms",
        unit="ms",
        better=NEITHER,
        help="CPU of one call's post-processing, the mean",
        of=lambda m: m.work_ms,
    ),
    Metric(
        path="mixed.cores",
        unit="cores",
        better=NEITHER,
        help="CPU of all post-processing over the window: the load that ran",
        of=lambda m: m.cores,
    ),
    Metric(
        path="mixed.documents_per_call",
        unit="documents",
        better=NEITHER,
        help="how often a call's text went through the kernel, to make up the work that was asked for",
        of=lambda m: offloading.fact(m, "documents_per_call"),
    ),
    *offloading.metrics("mixed"),
)

_WORK = (
    Metric(path="work.unit", unit="", better=NEITHER, help="what a unit of work is", of=lambda m: "document"),
    Metric(
        path="work.done",
        unit="documents",
        better=NEITHER,
        help="texts that went through the kernel, each time counted",
        of=lambda m: m.done,
    ),
    Metric(
        path="work.per_s",
        unit="documents/s",
        better=HIGHER,
        help="those over the window",
        of=lambda m: divided(m.done, m.window_s),
    ),
    Metric(
        path="work.cpu_us_per_unit",
        unit="us",
        better=LOWER,
        help="CPU of the whole tree from ready to drained, streams included, over those",
        of=lambda m: divided(m.whole if isinstance(m.whole, Missing) else m.whole.cell_ns / 1000, m.done),
    ),
)


def calls_per_s(schedule: Schedule) -> float | None:
    """How fast calls arrive, and so end; None where they come at once."""
    span_ns = int(schedule.start_ns.max() - schedule.start_ns.min())
    return (schedule.calls - 1) / (span_ns / 1e9) if span_ns else None


def _work_ms(axes: "Axes", schedule: Schedule) -> float:
    """CPU of one call's post-processing that is asked for."""
    if axes.work_ms is not None:
        return float(axes.work_ms)
    pace = calls_per_s(schedule)
    return float(axes.load) * 1000 / pace if axes.load and pace else 0.0


def _resolved(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    work_ms, pace = _work_ms(cell.axes, schedule), calls_per_s(schedule)
    load = cell.axes.load if cell.axes.work_ms is None else pace and work_ms * pace / 1000
    return offloading.resolved(cell) | {
        "work_ms": round(work_ms, 3),
        "load": None if load is None else round(load, 4),
        "batch": 1,
    }


def _check(cell: "Cell") -> None:
    """Raise UserError for what cannot be meant."""
    offloading.check(cell)
    axes = cell.axes
    if axes.load is not None and axes.work_ms is not None:
        raise UserError("load and work_ms set the same thing; leave one out")
    if axes.load is None and axes.work_ms is None:
        raise UserError(
            "lane mixed needs its work: --set load=0.5 (cores in all) or work_ms=10 (of one call)"
        )
    if axes.load and calls_per_s(build(cell.load(), cell.calls)) is None:
        raise UserError(
            f"workload {cell.workload} has all calls at once, and load is a rate; take -w flow or set work_ms"
        )


def _setting(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    return offloading.setting(cell) | {
        "batch": 1,
        "work_ms": _work_ms(cell.axes, build(cell.load(), cell.calls)),
    }


def _answer(records: Sequence[Record]) -> list[str]:
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
        (p50, doubt), (p99, _) = (
            offloading.middle(ran, f"mixed.lateness_ms.{which}") for which in ("p50", "p99")
        )
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
        p99, _ = offloading.middle(ran, "mixed.lateness_ms.p99")
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


def _over(axis: str, x_axis: str, title: str) -> Chart:
    # Load and work of a call follow from each other: a sweep of one is no line in the chart over the other.
    other = {"load": "work_ms", "work_ms": "load"}.get(axis)
    lines = (
        each for each in ("offload", "load", "work_ms", "switch_ms", "kernel") if each not in (axis, other)
    )
    return Chart(
        name=f"lateness-{axis.replace('_', '-')}",
        title=title,
        kind=Kind.GROWTH,
        varied=axis,
        lines=tuple(lines),
        x=f"cell.axes.{axis}",
        x_axis=x_axis,
        panels=(
            Panel(y=("mixed.lateness_ms.p50",), axis="stream lateness p50, ms"),
            Panel(y=("mixed.lateness_ms.p99",), axis="stream lateness p99, ms"),
            Panel(y=("work.per_s",), axis="documents/s", log=False),
        ),
        note="Lateness, without start lag, of the tokens due while texts were post-processed.",
    )


LANE = Lane(
    name="mixed",
    job="streamlanes.jobs.mixed:MixedJob",
    unit="document",
    view=Mixed,
    metrics=(
        *(metric for metric in io.LANE.metrics if not metric.path.startswith("work.")),
        *_WORK,
        *_MIXED,
    ),
    charts=(
        _over(
            "load", "load of the post-processing, cores", "What does CPU work do to the streams beside it?"
        ),
        _over("work_ms", "work of one call, ms", "How long may one call work?"),
        _over("switch_ms", "switch interval, ms", "What does the switch interval do beside CPU work?"),
    ),
    headline=(
        "mixed.lateness_ms.p50",
        "mixed.lateness_ms.p99",
        "mixed.on_time_share",
        "work.per_s",
        "mixed.cores",
    ),
    compared=("mixed.lateness_ms.p50", "mixed.lateness_ms.p99"),
    usual=Usual(
        backends=("asyncio",),
        client="streams",
        workload="flow",
        calls=400,
        sweep={"offload": ("inline", "threads", "processes"), "load": LOADS},
        instead={"work_ms": "load"},
    ),
    backends=offloading.BACKENDS_OF_ONE_PROCESS,
    columns=offloading.COLUMNS,
    about_s=lambda cell: 1.0 if cell.memory else 0.5,
    asks=Asks(
        axes=(*(axis for axis in offloading.AXES if axis != "batch"), "load", "work_ms"),
        idle=lambda axes: tuple(axis for axis in offloading.idle(axes) if axis != "batch"),
        resolved=_resolved,
        check=_check,
        setting=_setting,
        crew=offloading.crew,
    ),
    answer=_answer,
)
