"""The provider's rate limit: a bucket, and what it does to those who ask."""

import json

from hypothesis import given
from hypothesis import strategies as st

from serving import Serving
from streamlanes.provider.behaviour import Behaviour, problem
from streamlanes.provider.limit import Limit

S = 1_000_000_000


def admitted(limit: Limit, times_s: list[float]) -> list[bool]:
    return [limit.admits(round(at * S)) for at in times_s]


def test_a_second_of_it_may_come_at_once_and_then_no_more_than_the_limit():
    limit = Limit(10)
    assert sum(admitted(limit, [0.0] * 10)) == 10
    assert admitted(limit, [0.05, 0.3]) == [False, True], "0.05 s fills half a request; 0.3 s another two"


def test_who_is_refused_takes_from_it_too():
    patient, storming = Limit(10), Limit(10)
    admitted(patient, [0.0] * 10)
    admitted(storming, [0.0] * 10)
    assert sum(admitted(patient, [0.1 * k for k in range(2, 20, 2)])) == 9
    storm = [0.01 * k for k in range(1, 200)]  # ten times the limit
    assert sum(admitted(storming, storm)) < 5
    assert admitted(storming, [60.0]) == [True], "it never owes more than a second"


@given(st.floats(0.1, 1000), st.lists(st.floats(0, 0.5), max_size=200))
def test_it_never_admits_more_than_a_second_and_the_time_allow(per_s: float, pauses: list[float]):
    limit, at, seen = Limit(per_s), 0.0, 0
    for pause in pauses:
        at += pause
        seen += limit.admits(round(at * S))
    assert seen <= max(1.0, per_s) + at * per_s + 1e-6


def test_what_cannot_be_meant_is_said():
    assert problem(Behaviour(limit_per_s=0)) == "limit_per_s is 0; it must be from 0.01 to 1,000,000"
    assert problem(Behaviour(limit_per_s=0.5)) is None
    assert Behaviour(limit_per_s=5).without_faults() == Behaviour(), "a call that is held must live"


def test_a_request_beyond_it_gets_a_429_that_is_counted():
    up = Serving(behaviour=Behaviour(limit_per_s=0.01), calls=3)
    first, second = up.chat("[call 0] hi"), up.chat("[call 1] hi")
    stats = up.stats()
    up.close()
    assert (first[0], second[0]) == (200, 429)
    assert json.loads(second[1])["error"]["type"] == "rate_limit_error"
    assert stats["faults"] == {"status-429": 1}
    assert stats["in_flight"] == 0
