"""Which calls go wrong, and where: the same each time, in the shares that were asked for."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.provider.behaviour import Behaviour, problem
from streamlanes.provider.faults import Fault, fault_of, strikes_before

CALLS = 20_000


def test_each_fault_has_its_share():
    shares = dict.fromkeys(Fault, 0.04)
    found = Counter(fault_of(7, call, shares) for call in range(CALLS))
    for fault in Fault:
        assert found[fault] == pytest.approx(0.04 * CALLS, rel=0.15)
    assert found[None] == pytest.approx((1 - 0.04 * len(Fault)) * CALLS, rel=0.05)


def test_a_call_has_the_same_fault_whatever_the_order_of_the_table():
    shares = {Fault.RESET: 0.2, Fault.STALL: 0.3, Fault.GZIP: 0.1}
    turned = dict(reversed(shares.items()))
    found = [fault_of(1, call, shares) for call in range(200)]
    assert found == [fault_of(1, call, turned) for call in range(200)]
    assert found != [fault_of(2, call, shares) for call in range(200)]
    assert None in found


def test_all_calls_can_have_one():
    assert {fault_of(1, call, {Fault.RESET: 1.0}) for call in range(1000)} == {Fault.RESET}
    assert {fault_of(1, call, {}) for call in range(1000)} == {None}
    halves = {Fault.RESET: 0.5, Fault.CRLF: 0.5}
    assert None not in {fault_of(1, call, halves) for call in range(CALLS)}


@given(st.integers(0, 2**40), st.integers(0, 10**9), st.integers(1, 5000), st.floats(0, 1) | st.none())
def test_it_strikes_within_the_answer(seed: int, call: int, events: int, at: float | None):
    before = strikes_before(seed, call, events, at)
    assert before == strikes_before(seed, call, events, at)
    assert min(1, events - 1) <= before <= events - 1


def test_where_it_strikes_can_be_set():
    assert [strikes_before(1, 5, 10, at) for at in (0, 0.5, 0.99, 1)] == [1, 5, 9, 9]
    assert len({strikes_before(1, call, 100, None) for call in range(200)}) > 50, "drawn for each call"


@pytest.mark.parametrize(
    ("behaviour", "word"),
    [
        (Behaviour(at=1.5), "at is 1.5"),
        (Behaviour(stall_ms=-1), "stall_ms"),
        (Behaviour(tokens_per_chunk=0), "tokens_per_chunk"),
        (Behaviour(long_line_bytes=1 << 30), "long_line_bytes"),
        (Behaviour(faults={Fault.RESET: -0.1}), "share of reset"),
        (Behaviour(faults={Fault.RESET: float("nan")}), "share of reset"),
        (Behaviour(faults={Fault.RESET: 0.6, Fault.STALL: 0.6}), "1.2 together"),
    ],
)
def test_what_cannot_be_meant_is_told(behaviour: Behaviour, word: str):
    assert word in (problem(behaviour) or "")


def test_what_can_be_meant_is_not():
    assert problem(Behaviour()) is None
    assert problem(Behaviour(faults=dict.fromkeys(Fault, 1 / len(Fault)))) is None
