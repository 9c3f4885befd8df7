"""The I/O lane: N streaming calls, every token timed against the schedule."""

from collections.abc import Callable

from streamlanes.facts import Missing
from streamlanes.lanes import gc, memory
from streamlanes.lanes.base import Lane
from streamlanes.lanes.figures import HIGHER, LOWER, NEITHER, SPIN_DRIFT, figure, series
from streamlanes.lanes.io_charts import CHARTS
from streamlanes.lanes.io_counts import COUNTS
from streamlanes.metrics import Calls
from streamlanes.record import Quality
from streamlanes.walls import incomplete, predicted_s, projected_wall_s, wall_s


def _less(one: float | Missing, other: float) -> float | Missing:
    return one if isinstance(one, Missing) else one - other


def _efficiency(calls: Calls) -> float | Missing:
    wall = wall_s(calls)
    return wall if isinstance(wall, Missing) else calls.facts.full_schedule.ideal_wall_s / wall


def _plateau_s(calls: Calls) -> float | Missing:
    window = calls.plateau
    return window if isinstance(window, Missing) else window.span_s


def _cpu_share(calls: Calls) -> float | Missing:
    window = calls.plateau
    return window if isinstance(window, Missing) else window.busiest_share


def cpu_us_per_token(calls: Calls) -> float | Missing:
    """The cell's CPU per token received in the plateau window."""
    return _per_token(calls, lambda window: window.cell_ns)


def _provider_cpu_us_per_token(calls: Calls) -> float | Missing:
    if calls.timed.provider is None:
        return Missing("this client has no provider")
    return _per_token(calls, lambda window: window.provider_ns)


def _per_token(calls: Calls, cpu_ns: Callable[..., int]) -> float | Missing:
    window = calls.plateau
    if isinstance(window, Missing):
        return window
    tokens = calls.received_within(window)
    return cpu_ns(window) / 1000 / tokens if tokens else Missing("no token came in the plateau window")


def _cpu_us_per_call_setup(calls: Calls) -> float | Missing:
    per_token, whole = cpu_us_per_token(calls), calls.whole
    if isinstance(per_token, Missing):
        return per_token
    if isinstance(whole, Missing):
        return whole
    if why := incomplete(calls.facts):
        return why
    return (whole.cell_ns / 1000 - per_token * calls.tokens) / calls.schedule.calls


def _cpu_us_per_unit(calls: Calls) -> float | Missing:
    whole = calls.whole
    if isinstance(whole, Missing):
        return whole
    return whole.cell_ns / 1000 / calls.tokens if calls.tokens else Missing("no token came")


def _per_s(calls: Calls) -> float | Missing:
    wall = wall_s(calls)
    return wall if isinstance(wall, Missing) else calls.tokens / wall


_TIME = (
    figure("time.wall_s", "s", LOWER, "first intended start to the last call's end", wall_s),
    figure(
        "time.ideal_wall_s",
        "s",
        NEITHER,
        "the wall of a backend without any cost",
        lambda c: c.facts.full_schedule.ideal_wall_s,
        Quality.DERIVED,
    ),
    figure(
        "time.overrun_s",
        "s",
        LOWER,
        "wall minus ideal",
        lambda c: _less(wall_s(c), c.facts.full_schedule.ideal_wall_s),
    ),
    figure(
        "time.efficiency",
        "",
        HIGHER,
        "ideal over wall; a floor to pass, not for comparing workloads",
        _efficiency,
    ),
    figure(
        "time.predicted_wall_s",
        "s",
        NEITHER,
        "the wall of a pool of this width without any cost",
        lambda c: predicted_s(c.facts),
    ),
    figure(
        "time.projected_wall_s",
        "s",
        LOWER,
        "what the wall would have been at this pace",
        projected_wall_s,
        Quality.DERIVED,
    ),
    figure("time.startup_s", "s", LOWER, "from exec to ready", lambda c: c.timed.startup_s),
    figure(
        "time.plateau_s", "s", NEITHER, "last first token to first end, between outside readings", _plateau_s
    ),
    figure(
        "time.cpu_us_per_token",
        "us",
        LOWER,
        "the cell's CPU in the plateau over the tokens received in it",
        cpu_us_per_token,
    ),
    figure(
        "time.provider_cpu_us_per_token",
        "us",
        LOWER,
        "the provider's CPU in the plateau over the same tokens; loopback charges receiving to it in part",
        _provider_cpu_us_per_token,
    ),
    figure(
        "time.cpu_us_per_call_setup",
        "us",
        LOWER,
        "(CPU from ready to drained - CPU per token x all tokens) / calls",
        _cpu_us_per_call_setup,
        Quality.DERIVED,
    ),
    figure(
        "time.cpu_share",
        "cores",
        NEITHER,
        "of one core, by the cell's busiest process in the plateau",
        _cpu_share,
    ),
    SPIN_DRIFT,
)

_LATENCY = {
    "lateness_ms": "received minus due on the absolute schedule, every token",
    "stream_ms": "lateness without its call's start lag; the plateau's tokens, all where there is no plateau",
    "first_event_ms": "first event of any kind received, one without a token too, minus intended start",
    "ttft_ms": "first token received, text or reasoning, minus intended start",
    "first_visible_ms": "first token of text received minus intended start",
    "inter_chunk_ms": "between a call's consecutive chunks",
    "e2e_ms": "a call's end minus its intended start",
    "start_lag_ms": "request seen by the provider (timer: what due times count from) minus intended start",
    "queue_ms": "a call's first line minus its intended start",
    "connect_ms": "a call's first line to its connection",
    "accept_ms": "connection made to request seen by the provider",
    "provider_ms": "sent minus (request seen + offset): the provider's own lateness",
    "client_ms": "received minus sent: the client's part",
}


_WORK = (
    figure("work.unit", "", NEITHER, "what a unit of work is", lambda c: "token"),
    figure("work.done", "tokens", NEITHER, "tokens received", lambda c: c.tokens),
    figure("work.per_s", "tokens/s", HIGHER, "tokens over the wall", _per_s),
    figure(
        "work.cpu_us_per_unit",
        "us",
        LOWER,
        "CPU from ready to drained over all tokens, set-up included",
        _cpu_us_per_unit,
    ),
)

LANE = Lane(
    name="io",
    job="streamlanes.jobs.io:IoJob",
    unit="token",
    view=Calls,
    metrics=(
        *_TIME,
        *(metric for name, text in _LATENCY.items() for metric in series(f"latency.{name}", name, text)),
        *memory.METRICS,
        *gc.METRICS,
        *COUNTS,
        *_WORK,
    ),
    charts=CHARTS,
    headline=(
        "latency.stream_ms.p99",
        "time.cpu_us_per_token",
        "memory.per_call_bytes",
        "time.overrun_s",
    ),
    # Not the overrun: it is a few milliseconds where all is well, and a ratio of those says nothing.
    compared=("latency.stream_ms.p99", "time.cpu_us_per_token", "memory.per_call_bytes"),
    headline_of={
        "flood": (
            "work.per_s",
            "work.cpu_us_per_unit",
            "latency.stream_ms.p99",
            "memory.per_call_bytes",
        )
    },
)
