"""The mixed lane: streaming calls that come and go, each one's text post-processed as soon as it is over."""

from typing import TYPE_CHECKING, Any

from streamlanes.errors import UserError
from streamlanes.facts import Missing
from streamlanes.lanes import io, offloading
from streamlanes.lanes.base import Asks, Chart, Kind, Lane, Panel, Usual
from streamlanes.lanes.figures import HIGHER, LOWER, NEITHER, divided, figure, series
from streamlanes.lanes.mixed_answer import answer
from streamlanes.lanes.mixed_calls import ON_TIME_MS, Mixed
from streamlanes.workload import Schedule, build

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell

LOADS = (0, 0.25, 0.5, 0.75, 1)

_MIXED = (
    *series(
        "mixed.lateness_ms",
        "during_ms",
        "lateness without start lag, of the tokens due from the first hand-over to the last result",
    ),
    *series("mixed.post_ms", "post_ms", "from a text's hand-over to its result"),
    figure(
        "mixed.window_s",
        "s",
        NEITHER,
        "from the first hand-over to the last result",
        lambda m: m.window_s,
    ),
    figure(
        "mixed.on_time_share",
        "",
        HIGHER,
        f"share of the ok calls of which no token was later than {ON_TIME_MS:g} ms, start lag left out",
        lambda m: m.on_time,
    ),
    figure(
        "mixed.work_ms",
        "ms",
        NEITHER,
        "CPU of one call's post-processing, the mean",
        lambda m: m.work_ms,
    ),
    figure(
        "mixed.cores",
        "cores",
        NEITHER,
        "CPU of all post-processing over the window: the load that ran",
        lambda m: m.cores,
    ),
    figure(
        "mixed.documents_per_call",
        "documents",
        NEITHER,
        "how often a call's text went through the kernel, to make up the work that was asked for",
        lambda m: offloading.fact(m, "documents_per_call"),
    ),
    *offloading.metrics("mixed"),
)

_WORK = (
    figure("work.unit", "", NEITHER, "what a unit of work is", lambda m: "document"),
    figure(
        "work.done",
        "documents",
        NEITHER,
        "texts that went through the kernel, each time counted",
        lambda m: m.done,
    ),
    figure(
        "work.per_s",
        "documents/s",
        HIGHER,
        "those over the window",
        lambda m: divided(m.done, m.window_s),
    ),
    figure(
        "work.cpu_us_per_unit",
        "us",
        LOWER,
        "CPU of the whole tree from ready to drained, streams included, over those",
        lambda m: divided(m.whole if isinstance(m.whole, Missing) else m.whole.cell_ns / 1000, m.done),
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
    answer=answer,
)
