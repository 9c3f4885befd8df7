"""When a refused call is made again."""

import random

from streamlanes.jobs.retrying import WAITS, Retry, wait_s


def test_none_gives_up_at_once_asks_without_a_pause_and_backoff_waits_longer_and_longer():
    draw = random.Random(1)
    assert wait_s(Retry.NONE, 1, draw) is None
    assert [wait_s(Retry.AT_ONCE, attempt, draw) for attempt in (1, 2, 500)] == [0.0] * 3
    drawn = [[wait_s(Retry.BACKOFF, attempt, draw) for _ in range(200)] for attempt in (1, 3, 60)]
    means = [sum(each) / len(each) for each in drawn]
    assert means == sorted(means)
    assert max(drawn[0]) <= WAITS.first_s
    assert WAITS.most_s / 2 < max(drawn[-1]) <= WAITS.most_s
    assert len(set(drawn[-1])) == 200, "those that failed together do not come back together"
