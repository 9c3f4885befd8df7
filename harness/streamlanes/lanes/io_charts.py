"""The charts of the I/O lane: which figures, over what, asking which question."""

from streamlanes.lanes.base import Chart, Kind, Panel

_GROWING = ("asyncio", "uvloop", "threads", "processes+asyncio", "processes+uvloop", "processes+threads")

# For calls that come and go: they are never all in flight.
_ARRIVING = ("counts.mean_in_flight", "mean calls in flight")

_LATE = Panel(y=("latency.stream_ms.p99",), axis="stream lateness p99, ms")
_OVERRUN = Panel(y=("time.overrun_s",), axis="overrun, s")
_CPU = Panel(y=("time.cpu_us_per_token",), axis="client CPU per token, us", log=False)
_RESIDENT = Panel(y=("memory.per_call_bytes",), axis="resident, KiB per call", log=False, scale=1 / 1024)
_RESERVED = Panel(y=("memory.reserved_per_call_bytes",), axis="reserved, KiB per call", scale=1 / 1024)


def _axis(axis: str, x_axis: str, title: str, *panels: Panel, note: str = "") -> Chart:
    """A line per backend over the numbers of one axis."""
    return Chart(
        name=f"axis-{axis.replace('_', '-')}",
        title=title,
        kind=Kind.GROWTH,
        varied=axis,
        x=f"cell.axes.{axis}",
        x_axis=x_axis,
        panels=panels,
        note=note,
    )


def _named(axis: str, title: str, *panels: Panel, note: str = "") -> Chart:
    """A bar per backend and value of an axis that has names for values."""
    return Chart(
        name=f"axis-{axis.replace('_', '-')}",
        title=title,
        kind=Kind.BARS,
        varied=axis,
        x="cell.calls",
        x_axis="calls in flight",
        panels=panels,
        note=note,
    )


_START = Panel(y=("latency.start_lag_ms.p99",), axis="start lag p99, ms")

# Workloads that ask a question of their own.
_APART = (
    Chart(
        name="paced",
        title="What if each call keeps its own rate?",
        kind=Kind.GROWTH,
        x="cell.calls",
        x_axis="calls in flight, 10 tokens/s each",
        panels=(_LATE, _OVERRUN, _CPU),
        backends=_GROWING,
        apart=("paced",),
        note="The total rate grows with the calls; in the other charts it is the same at every size.",
    ),
    Chart(
        name="lockstep",
        title="What if all calls' tokens are due at once?",
        kind=Kind.GROWTH,
        x="cell.calls",
        x_axis="calls in flight",
        panels=(_LATE,),
        backends=_GROWING,
        apart=("lockstep",),
        beside=("steady",),
        note="The same calls with phases (steady) and without (lockstep): the provider itself needs the time "
        "of a whole round to send one.",
    ),
    Chart(
        name="arriving",
        title="How do calls fare that come and go?",
        kind=Kind.GROWTH,
        x=_ARRIVING[0],
        x_axis=_ARRIVING[1],
        panels=(
            _LATE,
            _START,
            Panel(y=("work.cpu_us_per_unit",), axis="CPU per token, set-up included, us", log=False),
        ),
        backends=_GROWING,
        apart=("chat", "code", "peak10", "trace"),
    ),
    Chart(
        name="ceiling",
        title="What does a client bear that never has to wait?",
        kind=Kind.BARS,
        x="cell.calls",
        x_axis="calls at once",
        panels=(
            Panel(y=("work.per_s",), axis="tokens taken per second", log=False),
            Panel(y=("work.cpu_us_per_unit",), axis="CPU per token, set-up included, us", log=False),
        ),
        apart=("flood",),
        note="Every call and every token at once: one read brings many tokens, as under no paced load.",
    ),
)

_AXES = (
    _axis("rate_per_s", "tokens per second in all", "How does it bear a higher rate?", _LATE, _CPU),
    _axis("workers", "worker processes", "What does another process bring?", _LATE, _CPU, _RESIDENT),
    _axis("switch_ms", "switch interval, ms", "What does the switch interval do?", _LATE, _OVERRUN, _CPU),
    _axis("stack_kib", "stack size, KiB", "What does a thread's stack size cost?", _RESIDENT, _RESERVED),
    _named(
        "start_method",
        "What does the start method cost?",
        Panel(y=("time.startup_s",), axis="start-up, s"),
        _RESIDENT,
    ),
    _named(
        "gc",
        "What does freezing the start-up heap do?",
        _LATE,
        Panel(y=("gc.pause_ms_max",), axis="longest GC pause, ms", log=False),
        _CPU,
    ),
)

CHARTS = (
    Chart(
        name="lateness",
        title="How late do tokens come?",
        kind=Kind.GROWTH,
        x="cell.calls",
        x_axis="calls in flight",
        arriving=_ARRIVING,
        panels=(_LATE,),
        backends=_GROWING,
        note="Lateness without start lag. Bounded pools are in a chart of their own.",
    ),
    Chart(
        name="overrun",
        title="How much longer than ideal, and how late do calls start?",
        kind=Kind.GROWTH,
        x="cell.calls",
        x_axis="calls in flight",
        arriving=_ARRIVING,
        panels=(
            _OVERRUN,
            _START,
        ),
        backends=_GROWING,
    ),
    Chart(
        name="cpu",
        title="What does a token cost in CPU?",
        kind=Kind.GROWTH,
        x="cell.calls",
        x_axis="calls in flight",
        arriving=_ARRIVING,
        panels=(
            _CPU,
            Panel(y=("time.provider_cpu_us_per_token",), axis="provider CPU per token, us", log=False),
        ),
        backends=_GROWING,
        note="Steady window only, while all calls stream. Loopback charges some receive work to the sender.",
    ),
    Chart(
        name="memory",
        title="What does a call in flight cost in memory?",
        kind=Kind.BARS,
        x="cell.calls",
        x_axis="calls in flight",
        panels=(
            Panel(
                y=("memory.per_call_bytes", "memory.fixed_per_call_bytes"),
                labels=("per call", "fixed part's share"),
                axis="resident, KiB per call",
                log=False,
                scale=1 / 1024,
            ),
            Panel(
                y=("memory.kernel_per_call_bytes",),
                axis="kernel (host-wide), KiB per call",
                log=False,
                scale=1 / 1024,
            ),
            Panel(y=("memory.reserved_per_call_bytes",), axis="reserved, KiB per call", scale=1 / 1024),
        ),
        backends=_GROWING,
        note="Resident: private and shared PSS at the plateau minus a bare interpreter. Bounded pools hold "
        "few calls at once; they are in the table.",
    ),
    Chart(
        name="pools",
        title="What does a bounded pool do to the wall?",
        kind=Kind.POOLS,
        varied="width",
        x="cell.axes.width",
        x_axis="pool width",
        panels=(
            Panel(
                y=("time.wall_s", "time.predicted_wall_s", "time.projected_wall_s"),
                labels=("measured", "predicted", "projected"),
                axis="wall, s",
            ),
        ),
        note="Predicted: calls in order of arrival in front of that many servers, nothing else.",
    ),
    Chart(
        name="capacity",
        title="How many tokens a second do the calls bear?",
        kind=Kind.CAPACITY,
        x="cell.axes.rate_per_s",
        x_axis="tokens per second in all",
        panels=(Panel(y=(), axis="tokens per second in all"),),
        note="Borne: stream lateness p99 within the bound, all calls in flight and ended ok, no token lost.",
    ),
    Chart(
        name="costs",
        title="What does a client cost?",
        kind=Kind.COSTS,
        x="cell.calls",
        x_axis="calls in flight",
        panels=(
            _CPU,
            Panel(y=("time.cpu_us_per_call_setup",), axis="CPU to set a call up, us"),
            _RESIDENT,
        ),
        note="Set-up is all CPU beside the tokens: connecting, handshake, request, and closing again.",
    ),
    *_APART,
    *_AXES,
)
