"""Workloads with a reality behind them: calls come and go, as real ones did.

How many are in flight is an outcome here, not a setting: the rate at which calls arrive times how long
they live. `time_scale` makes them arrive faster than they did; what a call itself takes (time to first
token, gaps) stays, so that a higher scale is a higher load.
"""

from dataclasses import replace

from streamlanes.errors import UserError
from streamlanes.workload import azure_2023
from streamlanes.workload.arrivals import PEAK_TIMES
from streamlanes.workload.draws import Dist, Draw, Quantiles, Recorded
from streamlanes.workload.settings import MOST_TOKENS_PER_S, SetTo, arrival, dist, gap, number, pace
from streamlanes.workload.shape import Arrival, Phase, Workload
from streamlanes.workload.trace import Trace

LEAST_RAMP_S = 20.0
"""Calls arrive for this long at the least, or the longest of them, alone at the end, would be most of
the cell; unless they really took less."""

PEAK_S = 30.0
"""A peak's length in real time. Before and after it, calls arrive at the usual rate for as long."""

TTFT_MS = Dist(200.0)
GAP_MS = Dist(20.0)
"""Fifty tokens a second: what a person reads along with, and a fast model sends."""

CHAT_TOKENS = Quantiles("azure-2023-conversation", azure_2023.CHAT_TOKENS)
CODE_TOKENS = Quantiles("azure-2023-code", azure_2023.CODE_TOKENS)


def chat(calls: int, set_to: SetTo) -> Workload:
    """Conversations: arrivals a little less even than Poisson, answers of 129 tokens in the median."""
    tokens = dist(set_to, "tokens", CHAT_TOKENS)
    real_s = calls * azure_2023.CHAT_MEAN_GAP_S
    return _arriving("chat", calls, set_to, Arrival.CHAT, tokens, real_s, _ramp_s(calls, tokens, real_s))


def code(calls: int, set_to: SetTo) -> Workload:
    """Code completion: bursts and silences, answers of 13 tokens in the median and a few very long."""
    tokens = dist(set_to, "tokens", CODE_TOKENS)
    real_s = calls * azure_2023.CODE_MEAN_GAP_S
    return _arriving("code", calls, set_to, Arrival.CODE, tokens, real_s, _ramp_s(calls, tokens, real_s))


def peak10(calls: int, set_to: SetTo) -> Workload:
    """`chat`'s answers; calls arrive ten times as fast for half a minute. It is the peak that keeps
    to the highest default rate."""
    tokens = dist(set_to, "tokens", CHAT_TOKENS)
    peak_over_mean = PEAK_TIMES * 3 / (PEAK_TIMES + 2)
    ramp_s = max(LEAST_RAMP_S, calls * tokens.mean * peak_over_mean / MOST_TOKENS_PER_S)
    return _arriving("peak10", calls, set_to, Arrival.PEAK, tokens, 3 * PEAK_S, ramp_s)


def replay(calls: int, set_to: SetTo) -> Workload:
    """The first calls of a recorded trace, in real time unless another scale is set."""
    trace = set_to.get("trace")
    if not isinstance(trace, Trace):
        raise UserError("workload trace replays a file; name one with --set trace=PATH")
    seed = int(number(set_to, "seed", 1))
    first = trace.head(calls).spread(max(seed, 0))
    load = _arriving(
        "trace",
        calls,
        set_to,
        Arrival.TRACE,
        dist(set_to, "tokens", Recorded(first.name, first.tokens)),
        first.span_s,
        first.span_s,
    )
    return replace(load, trace=first.name, recorded_ns=first.at_ns)


def _ramp_s(calls: int, tokens: Draw, real_s: float) -> float:
    """Fast enough to be a load, never past the highest default rate, and never slower than it was."""
    return min(real_s, max(LEAST_RAMP_S, calls * tokens.mean / MOST_TOKENS_PER_S))


def _arriving(
    name: str,
    calls: int,
    set_to: SetTo,
    usual: Arrival,
    tokens: Draw,
    real_s: float,
    ramp_s: float,
) -> Workload:
    """real_s, ramp_s: how long calls arrived for in reality, and do here unless something is set."""
    ramp_s, time_scale = pace(set_to, real_s, ramp_s, calls * tokens.mean)
    return Workload(
        name=name,
        arrival=arrival(set_to, usual),
        phase=Phase.SEEDED,
        ramp_s=ramp_s,
        ttft_ms=dist(set_to, "ttft_ms", TTFT_MS),
        gap_ms=gap(set_to, GAP_MS),
        tokens=tokens,
        seed=int(number(set_to, "seed", 1)),
        time_scale=time_scale,
    )
