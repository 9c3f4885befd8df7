"""Builders of records for tests: everything a reader of a run can meet, without measuring anything."""

from collections.abc import Iterable, Mapping
from typing import Any

from streamlanes.lanes.base import Better, Chart, Kind, Lane, Metric, Missing, Panel
from streamlanes.record import CellInfo, Flag, FlagName, Record, Status, StatusName

MACHINE: dict[str, Any] = {
    "cpu": "Invented CPU 9000",
    "cpus_usable": 4,
    "memory_bytes": 16 << 30,
    "system": "Linux",
    "kernel": "6.8.0",
    "implementation": "CPython",
    "python": "3.12.1",
    "uvloop": "0.23.0",
}

_SHAPES: dict[str, dict[str, Any]] = {
    "steady": {"arrival": "ramp", "ramp_s": 2.0, "ttft_ms": 200.0, "tokens": 40, "rate_per_s": 20000.0},
    "lesson": {"arrival": "burst", "ramp_s": 0.0, "ttft_ms": 100.0, "tokens": 10, "rate_per_s": 12500.0},
}


def record(  # noqa: PLR0913  a builder has one argument for each thing a test may care about
    backend: str = "asyncio",
    calls: int = 2000,
    repetition: int = 1,
    *,
    client: str = "streams",
    workload: str = "steady",
    lane: str = "io",
    status: StatusName = StatusName.OK,
    reason: str | None = None,
    reached: int | None = None,
    flags: Iterable[FlagName] = (),
    axes: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
    missing: Mapping[str, str] | None = None,
    machine: Mapping[str, Any] | None = None,
    knee_bound_ms: float | None = None,
) -> Record:
    """A record with plausible counts; `figures` sets dotted paths, `missing` nulls them with a reason.

    All of `axes` were asked for, unless `asked` says what was.
    """
    chosen = {"seed": 1, "width": None, **_SHAPES.get(workload, {}), **(axes or {})}
    wanted = dict((axes or {}) if asked is None else asked)
    extra = "".join(f"/{axis}={value}" for axis, value in wanted.items())
    extra += "" if knee_bound_ms is None else f"/knee_bound_ms={knee_bound_ms:g}"
    groups: dict[str, Any] = {"counts": _counts(calls) if status is StatusName.OK else {}}
    for path, value in {**(figures or {}), **dict.fromkeys(missing or {})}.items():
        *parents, last = path.split(".")
        at = groups
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = value
    return Record(
        cell=CellInfo(
            id=f"{lane}/{backend}/{client}/{workload}/{calls}{extra}/r{repetition}",
            lane=lane,
            backend=backend,
            client=client,
            workload=workload,
            calls=calls,
            repetition=repetition,
            axes=chosen,
            asked=wanted,
            knee_bound_ms=knee_bound_ms,
        ),
        machine=dict(MACHINE if machine is None else machine),
        status=Status(status, reason, reached),
        flags=[Flag(name, {"share": 0.97}) for name in flags],
        missing=dict(missing or {}),
        **groups,
    )


def _counts(calls: int) -> dict[str, int]:
    return {
        "calls": calls,
        "started": calls,
        "ok": calls,
        "tokens": calls * 40,
        "expected_tokens": calls * 40,
        "lost_tokens": 0,
        "extra_tokens": 0,
        "unaccounted_calls": 0,
        "peak_in_flight": calls,
        "in_flight_target": calls,
    }


def metric(path: str, unit: str, better: Better = Better.LOWER) -> Metric:
    """A declared figure; nothing here computes it."""
    return Metric(
        path=path, unit=unit, better=better, help=f"what {path} means", of=lambda facts: Missing("unused")
    )


SIX = ("asyncio", "uvloop", "threads", "processes+asyncio", "processes+uvloop", "processes+threads")

LANE = Lane(
    name="io",
    job="nowhere:job",
    unit="token",
    view=lambda facts: facts,
    metrics=(
        metric("latency.stream_ms.p99", "ms"),
        metric("time.cpu_us_per_token", "us"),
        metric("memory.per_call_bytes", "B"),
        metric("time.overrun_s", "s"),
        metric("counts.peak_in_flight", "count", Better.NEITHER),
    ),
    charts=(
        Chart(
            name="lateness",
            title="How late do tokens come as calls grow?",
            kind=Kind.GROWTH,
            x="cell.calls",
            x_axis="calls in flight",
            panels=(Panel(y=("latency.stream_ms.p99",), axis="stream lateness p99 (ms)"),),
            backends=SIX,
            note="Six backends; pools have a chart of their own.",
        ),
        Chart(
            name="overrun",
            title="How much longer than ideal does it take, and how late do calls start?",
            kind=Kind.GROWTH,
            x="cell.calls",
            x_axis="calls in flight",
            panels=(
                Panel(y=("time.overrun_s",), axis="overrun (s)", ideal=0.0),
                Panel(y=("latency.start_lag_ms.p99",), axis="start lag p99 (ms)"),
            ),
        ),
        Chart(
            name="cpu",
            title="What does a token cost in CPU?",
            kind=Kind.GROWTH,
            x="cell.calls",
            x_axis="calls in flight",
            panels=(
                Panel(y=("time.cpu_us_per_token",), axis="client CPU per token (us)", log=False),
                Panel(y=("time.provider_cpu_us_per_token",), axis="provider CPU per token (us)", log=False),
            ),
        ),
        Chart(
            name="memory",
            title="What does a call cost in memory?",
            kind=Kind.BARS,
            x="cell.calls",
            x_axis="calls",
            panels=(
                Panel(
                    y=("memory.per_call_bytes", "memory.fixed_per_call_bytes"),
                    axis="resident (KiB a call)",
                    labels=("a call's own", "fixed part, shared out"),
                    scale=1 / 1024,
                    log=False,
                ),
                Panel(
                    y=("memory.kernel_per_call_bytes",),
                    axis="kernel (KiB a call)",
                    scale=1 / 1024,
                    log=False,
                ),
                Panel(
                    y=("memory.reserved_per_call_bytes",),
                    axis="reserved (KiB a call)",
                    scale=1 / 1024,
                    log=False,
                ),
            ),
        ),
        Chart(
            name="pools",
            title="Do bounded pools take as long as their width predicts?",
            kind=Kind.POOLS,
            x="cell.axes.width",
            x_axis="width",
            panels=(
                Panel(
                    y=("time.wall_s", "time.predicted_wall_s", "time.projected_wall_s"),
                    axis="wall (s)",
                    labels=("measured", "predicted", "projected"),
                ),
            ),
        ),
    ),
    headline=("latency.stream_ms.p99", "time.cpu_us_per_token", "memory.per_call_bytes", "time.overrun_s"),
    compared=("latency.stream_ms.p99", "time.cpu_us_per_token", "memory.per_call_bytes"),
)
