"""Calls as stamps show them, from facts whose values are known."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_made import MS, ORIGIN_NS, facts, schedule, timed
from streamlanes.facts import Missing
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls
from streamlanes.readings import Window
from streamlanes.samples import Outcome
from streamlanes.walls import in_flight_target
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


def test_the_plateau_lies_between_readings_within_it():
    calls = Calls(facts())
    window = calls.plateau
    assert isinstance(window, Window)
    first, last = calls.first_token_ns.max(), calls.stamps.end.min()
    assert first <= window.first.at_ns < first + 100 * MS
    assert last - 100 * MS < window.last.at_ns <= last


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


def untraced(*, seen: int = 0, early: int = 0, own_code: bool = True) -> Calls:
    """Ten calls of which the provider never saw the mark of the first `seen`, and sent the last token of the
    first `early` after it was received."""
    plan = schedule(10)
    pass_ = timed(plan)
    pass_.provider.seen[:seen] = 0
    pass_.provider.sent[plan.first[1 : early + 1] - 1] += 10**9
    return Calls(facts(plan, timed=pass_, own_code=own_code))


def test_calls_whose_tokens_are_of_another_request_enter_no_figure_that_needs_the_provider():
    for calls in (untraced(seen=4), untraced(early=4)):
        assert figure("counts.untraced", calls) == 4
        assert len(calls.start_lag_ms) == 6
        assert len(calls.client_ms) == len(calls.provider_ms) == 6 * 81
        assert calls.client_ms == pytest.approx(0.25)
        assert calls.stream_ms == pytest.approx(0.75)
        assert len(calls.lateness_ms) == 10 * 81
        assert len(calls.e2e_ms) == 10


def test_without_a_call_that_can_be_traced_the_reason_is_told():
    calls = untraced(seen=10)
    assert figure("counts.untraced", calls) == 10
    for name in ("stream_ms", "client_ms", "provider_ms", "start_lag_ms"):
        found = calls.distribution(name)["p99"]
        assert isinstance(found, Missing)
        assert "last request with its mark" in found.reason
    assert not isinstance(calls.distribution("lateness_ms")["p99"], Missing)


def test_a_token_that_no_request_was_sent_is_of_another_one():
    plan = schedule(2)
    pass_ = timed(plan)
    pass_.provider.sent[plan.first[1] :] = 0
    assert figure("counts.untraced", Calls(facts(plan, timed=pass_, own_code=True))) == 1


def test_of_the_projects_own_clients_nothing_is_left_out():
    calls = untraced(early=4, own_code=False)
    assert figure("counts.untraced", calls) == 0
    assert calls.client_ms.min() < 0


def test_a_persons_own_call_is_in_flight_from_when_the_provider_saw_it():
    plan = schedule(4, ramp_s=0.0)
    pass_ = timed(plan)
    pass_.calls.sent[:] = 0
    pass_.provider.seen[2:] = pass_.calls.end[:2].max()  # a pool of two let the others wait
    calls = Calls(facts(plan, timed=pass_, own_code=True))
    assert calls.peak_in_flight == 2
    pass_.provider.seen[:] = 0
    assert Calls(facts(plan, timed=pass_, own_code=True)).peak_in_flight == 0
    pass_.provider.seen[:] = pass_.calls.end.max() + MS
    late = Calls(facts(plan, timed=pass_, own_code=True))
    assert late.peak_in_flight == 0, "asked once more after the call was over"
    assert isinstance(late.mean_in_flight, Missing)
