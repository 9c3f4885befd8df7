"""The I/O lane's own figures, from facts whose values are known."""

import pytest

from facts_made import facts, schedule, timed
from streamlanes.facts import Missing
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls
from streamlanes.samples import Outcome


def figure(path: str, view: Calls) -> object:
    return next(metric for metric in LANE.metrics if metric.path == path).of(view)


def test_cpu_is_per_token_received_in_the_plateau():
    calls = Calls(facts())
    window = calls.plateau
    tokens = calls.received_within(window)
    assert figure("time.cpu_us_per_token", calls) == pytest.approx(window.span_s * 0.5e6 / tokens)
    assert figure("time.provider_cpu_us_per_token", calls) == pytest.approx(window.span_s * 0.2e6 / tokens)
    assert figure("time.cpu_share", calls) == pytest.approx(0.5)
    whole = calls.whole
    left = whole.cell_ns / 1000 - figure("time.cpu_us_per_token", calls) * calls.tokens
    assert figure("time.cpu_us_per_call_setup", calls) == pytest.approx(left / 20)


def test_a_short_plateau_is_none():
    plan = schedule(20, tokens=15.0)
    calls = Calls(facts(plan, timed=timed(plan)))
    for path in ("time.plateau_s", "time.cpu_us_per_token", "time.cpu_us_per_call_setup", "time.cpu_share"):
        found = figure(path, calls)
        assert isinstance(found, Missing)
        assert "no plateau" in found.reason
    assert len(calls.stream_ms) == plan.tokens, "then all tokens count"


def test_lost_and_extra_tokens_and_calls_that_never_began():
    plan = schedule(5, tokens=10.0)
    pass_ = timed(plan)
    pass_.calls.count[0] -= 3
    pass_.calls.count[1] += 2
    for column in (
        pass_.calls.begin,
        pass_.calls.sent,
        pass_.calls.end,
        pass_.calls.outcome,
        pass_.calls.count,
    ):
        column[4] = 0
    calls = Calls(facts(plan, timed=pass_))
    assert figure("counts.lost_tokens", calls) == 3
    assert figure("counts.extra_tokens", calls) == 2
    assert figure("counts.unaccounted_calls", calls) == 1
    assert figure("counts.started", calls) == 4


def test_started_is_the_sum_of_outcomes():
    pass_ = timed(schedule(8))
    pass_.calls.outcome[:] = [1, 1, 2, 3, 8, 12, 0, 0]
    calls = Calls(facts(schedule(8), timed=pass_))
    names = [how.name.lower() for how in Outcome]
    assert sum(figure(f"counts.{name}", calls) for name in names) == figure("counts.started", calls) == 8


def test_memory_figures():
    calls = Calls(facts())
    assert figure("memory.fixed_bytes", calls) == 6_000
    assert figure("memory.per_call_bytes", calls) == 1_000
    assert figure("memory.fixed_per_call_bytes", calls) == 300
    assert figure("memory.reserved_per_call_bytes", calls) == 2_000
    assert figure("memory.kernel_per_call_bytes", calls) == (400 + 100 + 100 + 100) / 20
    assert figure("memory.thread_stack_resident_bytes", calls) == 800
    absent = Calls(facts(memory="read in repetition 1 only"))
    assert figure("memory.per_call_bytes", absent) == Missing("read in repetition 1 only")
