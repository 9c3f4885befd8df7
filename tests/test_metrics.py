"""Figures from facts whose values are known."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_made import MS, ORIGIN_NS, facts, schedule, timed
from streamlanes.facts import Missing
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls, Window, distribution, in_flight_target, projected_wall_s, wall_s
from streamlanes.samples import Outcome
from streamlanes.workload import build, resolve


def figure(path: str, view: Calls) -> object:
    return next(metric for metric in LANE.metrics if metric.path == path).of(view)


def test_lateness_splits_exactly_into_its_parts():
    calls = Calls(facts())
    assert calls.lateness_ms == pytest.approx(1 + 2 + 3 + 0.5 + 0.25)
    assert calls.start_lag_ms == pytest.approx(6.0)
    assert calls.queue_ms == pytest.approx(1.0)
    assert calls.connect_ms == pytest.approx(2.0)
    assert calls.accept_ms == pytest.approx(3.0)
    assert calls.provider_ms == pytest.approx(0.5)
    assert calls.client_ms == pytest.approx(0.25)
    assert calls.stream_ms == pytest.approx(0.75)


@given(
    parts=st.lists(st.floats(-3, 400), min_size=5, max_size=5),
)
def test_the_parts_add_up_for_any_delays(parts: list[float]):
    plan = schedule(3, tokens=4.0)
    queue, connect, accept, provider, client = parts
    pass_ = timed(
        plan, queue_ms=queue, connect_ms=connect, accept_ms=accept, provider_ms=provider, client_ms=client
    )
    calls = Calls(facts(plan, timed=pass_))
    whole = np.repeat(calls.start_lag_ms, 4) + calls.provider_ms + calls.client_ms
    assert calls.lateness_ms == pytest.approx(whole)


def test_early_tokens_stay_negative():
    plan = schedule(2, tokens=5.0)
    calls = Calls(
        facts(plan, timed=timed(plan, queue_ms=0, connect_ms=0, accept_ms=0, provider_ms=0, client_ms=-0.5))
    )
    found = calls.distribution("lateness_ms")
    assert found["min"] == pytest.approx(-0.5)
    assert found["early_share"] == 1.0


def test_a_timer_has_no_provider_part_and_says_so():
    plan = schedule()
    pass_ = timed(plan, with_provider=False, queue_ms=1.0, client_ms=0.25)
    calls = Calls(facts(plan, timed=pass_))
    assert isinstance(calls.provider_ms, Missing)
    assert calls.lateness_ms == pytest.approx(1.25)
    assert calls.stream_ms == pytest.approx(0.25)
    assert calls.start_lag_ms == pytest.approx(1.0)


def test_only_ok_calls_enter_latency():
    plan = schedule(10)
    pass_ = timed(plan)
    pass_.calls.outcome[:4] = Outcome.TRUNCATED
    calls = Calls(facts(plan, timed=pass_))
    assert len(calls.e2e_ms) == 6
    assert calls.distribution("ttft_ms")["count"] == 6
    assert figure("counts.truncated", calls) == 4
    assert figure("counts.ok", calls) == 6


def test_without_an_ok_call_percentiles_are_missing_not_zero():
    pass_ = timed(schedule(3))
    pass_.calls.outcome[:] = Outcome.RESET
    calls = Calls(facts(schedule(3), timed=pass_))
    found = calls.distribution("lateness_ms")
    assert isinstance(found["p99"], Missing)
    assert found["count"] == 0


def test_percentiles_are_values_that_occurred():
    found = distribution(np.array([3.0, 1.0, 2.0, 10.0]))
    assert (found["min"], found["p50"], found["p90"], found["max"]) == (1.0, 2.0, 10.0, 10.0)
    hundred = distribution(np.arange(1.0, 101.0))
    assert (hundred["p50"], hundred["p99"], hundred["p999"]) == (50.0, 99.0, 100.0)


def test_the_plateau_lies_between_readings_within_it():
    calls = Calls(facts())
    window = calls.plateau
    assert isinstance(window, Window)
    first, last = calls.first_token_ns.max(), calls.stamps.end.min()
    assert first <= window.first.at_ns < first + 100 * MS
    assert last - 100 * MS < window.last.at_ns <= last


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


def test_wall_overrun_and_efficiency():
    calls = Calls(facts())
    ideal = calls.facts.full_schedule.ideal_wall_s
    wall = wall_s(calls)
    assert wall == pytest.approx(ideal + 0.00675 + 1e-6)
    assert figure("time.overrun_s", calls) == pytest.approx(wall - ideal)
    assert figure("time.efficiency", calls) == pytest.approx(ideal / wall)


def test_over_budget_has_a_projection_and_no_wall():
    plan = schedule()
    pass_ = timed(plan)
    half = pass_.calls.received > np.median(pass_.calls.received)
    pass_.calls.received[half] = 0
    pass_.calls.end[:] = 0
    pass_.calls.outcome[:] = 0
    pass_ = dataclasses.replace(pass_, over_ns=pass_.origin_ns + 4 * 10**9)
    calls = Calls(facts(plan, timed=pass_, drained=False))
    assert isinstance(wall_s(calls), Missing)
    assert projected_wall_s(calls) == pytest.approx(8.0, rel=0.01)
    assert figure("counts.unfinished", calls) == 20
    assert figure("counts.tokens", calls) == (~half).sum()


def test_a_pool_that_admits_some_waves_is_projected_by_its_pace():
    full = schedule(40, arrival="burst", ramp_s=0)
    head = full.head(10)
    calls = Calls(facts(head, calls=40, full_schedule=full, width=5, timed=timed(head)))
    assert isinstance(wall_s(calls), Missing)
    assert "10 of 40" in wall_s(calls).reason
    assert projected_wall_s(calls) > figure("time.predicted_wall_s", calls) * 0.4
    assert in_flight_target(calls.facts) == 5


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


def test_in_flight_is_computed_from_stamps():
    calls = Calls(facts())
    assert calls.peak_in_flight == 20
    assert in_flight_target(calls.facts) == 20
    assert calls.share_of_wall_at(20) > 0.4
    assert calls.share_of_wall_at(21) == 0


def test_the_mean_in_flight_is_what_was_in_flight_over_the_wall():
    plan = schedule(2, ramp_s=0.0, arrival="burst")
    pass_ = timed(plan)
    pass_.calls.sent[:] = pass_.origin_ns
    pass_.calls.end[:] = pass_.origin_ns + np.array([3, 4]) * 10**9
    assert figure("counts.mean_in_flight", Calls(facts(plan, timed=pass_))) == pytest.approx(7 / 4)


def test_a_call_without_an_end_is_in_flight_until_the_pass_was_over():
    plan = schedule(2, ramp_s=0.0, arrival="burst")
    pass_ = timed(plan)
    pass_.calls.sent[:] = pass_.origin_ns
    pass_.calls.end[:] = [pass_.origin_ns + 2 * 10**9, 0]
    pass_ = dataclasses.replace(pass_, over_ns=pass_.origin_ns + 4 * 10**9)
    calls = Calls(facts(plan, timed=pass_, drained=False))
    assert figure("counts.mean_in_flight", calls) == pytest.approx(6 / 4)
    pass_.calls.sent[:] = 0
    assert isinstance(figure("counts.mean_in_flight", Calls(facts(plan, timed=pass_))), Missing)


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


def test_a_client_that_does_not_say_when_it_is_connected_has_no_connect_part():
    plan = schedule(4)
    pass_ = timed(plan)
    pass_.calls.connected[:2] = 0
    some = Calls(facts(plan, timed=pass_))
    assert some.connect_ms == pytest.approx([2.0, 2.0]), "kept connections, for example"
    assert some.accept_ms == pytest.approx([3.0, 3.0])
    pass_.calls.connected[:] = 0
    none = Calls(facts(plan, timed=pass_))
    assert isinstance(none.connect_ms, Missing)
    assert isinstance(none.accept_ms, Missing)
    assert none.start_lag_ms == pytest.approx(6.0)


def test_gaps_are_between_chunks_not_between_the_tokens_of_one():
    plan = schedule(3, tokens=5.0)
    pass_ = timed(plan)
    for first in plan.first[:-1]:
        pass_.calls.received[first : first + 5] = ORIGIN_NS + np.array([10, 10, 30, 30, 60]) * MS
    assert list(Calls(facts(plan, timed=pass_)).inter_chunk_ms) == [0, 20, 0, 30] * 3
    assert list(Calls(facts(plan, timed=pass_, tokens_per_chunk=2)).inter_chunk_ms) == [20, 30] * 3


def test_a_flood_has_no_plateau_however_long_it_takes_to_read():
    plan = build(resolve("flood", 20, {}), 20)
    calls = Calls(facts(plan, timed=timed(plan, client_ms=3000.0)))
    assert isinstance(calls.plateau, Missing)
    assert len(calls.stream_ms) == plan.tokens
    assert calls.stream_ms == pytest.approx(3000.5)
