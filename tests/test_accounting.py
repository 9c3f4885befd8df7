"""From an answer's bytes to the figures of a record: acceptance cases A7, A8 and B1."""

from collections.abc import Callable

import pytest

from facts_made import MS, ORIGIN_NS, facts, timed
from jobs_fakes import receiver, small_schedule, stamps, tables
from streamlanes.facts import Missing
from streamlanes.jobs.io import Receiver
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls

TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"y"}}]}\n\n'
ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'

Act = Callable[[Receiver], object]


def figures(
    acts: list[Act], *, says_mark: bool = True, **provider: object
) -> Callable[[str], float | Missing]:
    """The record's figures, had each call's receiver been told what its act says."""
    plan = small_schedule(len(acts), tokens=5.0)
    pair = tables(plan)
    for call, act in enumerate(acts):
        pair[1]["begin"][call] = pair[1]["connected"][call] = pair[1]["sent"][call] = ORIGIN_NS
        act(receiver(call, pair))
    made = facts(plan, timed=timed(plan, calls=stamps(pair[1]), **provider), says_mark=says_mark)
    view = Calls(made)
    for table in pair:
        table.close()
    known = {metric.path: metric for metric in LANE.metrics}
    return lambda path: known[path].of(view)


def answer(*parts: tuple[bytes, float], reset: bool = False) -> Act:
    """Bodies at their times in ms, and the end with the last one."""

    def act(into: Receiver) -> None:
        for body, at_ms in parts:
            into.feed(body, ORIGIN_NS + round(at_ms * MS))
        into.closed(ORIGIN_NS + round(parts[-1][1] * MS), reset=reset)

    return act


def test_a7_usage_is_the_authority_and_its_chunk_no_token():
    used = b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":9,"total_tokens":13}}\n\n'
    filtered = b'data: {"choices":[],"prompt_filter_results":[]}\n\n'
    found = figures(
        [answer((filtered, 1), (TOKEN, 20), (TOKEN, 30), (TOKEN, 40), (used + b"data: [DONE]\n\n", 50))]
    )
    assert found("counts.ok") == 1
    assert found("counts.usage_tokens") == 9
    assert found("counts.without_usage") == 0
    assert found("counts.tokens") == 3, "chunks"
    assert found("counts.provider_error") == found("counts.protocol_error") == 0
    assert found("latency.ttft_ms.p50") == 20
    assert found("latency.first_event_ms.p50") == 1


def test_a7_without_usage_tokens_are_counted_from_chunks_and_it_is_said():
    found = figures([answer((TOKEN, 20), (TOKEN + FINISH, 30))])
    assert found("counts.tokens") == 2
    assert found("counts.without_usage") == 1
    told = found("counts.usage_tokens")
    assert isinstance(told, Missing)
    assert "counted from chunks" in told.reason


def test_a7_a_count_of_nothing_is_a_count():
    """A provider that says 0 has said it: only the call that was told none is without usage."""
    none = b'data: {"choices":[],"usage":{"completion_tokens":0}}\n\n'
    found = figures([answer((TOKEN, 20), (FINISH + none, 30)), answer((TOKEN, 20), (FINISH, 30))])
    assert found("counts.ok") == found("counts.tokens") == 2
    assert found("counts.usage_tokens") == 0
    assert found("counts.without_usage") == 1
    alone = figures([answer((TOKEN, 20), (FINISH + none, 30))])
    assert (alone("counts.usage_tokens"), alone("counts.without_usage")) == (0, 0)


def test_a8_only_what_said_that_it_was_over_is_ok():
    half = b'data: {"choices":[{"index":0,"delta":{"content":"y"}'
    kinds = [
        answer((TOKEN * 5, 10), (FINISH, 20)),
        answer((TOKEN * 2, 10), (half, 20)),
        answer((TOKEN * 2, 20)),
        answer((TOKEN * 5, 20), reset=True),
    ]
    found = figures(kinds * 10)
    assert (found("counts.ok"), found("counts.truncated"), found("counts.reset")) == (10, 20, 10)
    assert found("counts.no_sentinel") == 10
    assert found("counts.tokens") == 10 * (5 + 2 + 2 + 5), "the half event is no token"
    for series in ("e2e_ms", "ttft_ms", "first_event_ms", "first_visible_ms"):
        assert found(f"latency.{series}.count") == 10
    assert found("latency.lateness_ms.count") == 50


def test_a8_a_client_that_does_not_say_the_mark_has_no_count_of_it():
    acts = [answer((TOKEN * 5, 10), (FINISH, 20))] * 3
    assert figures(acts)("counts.no_sentinel") == 3
    told = figures(acts, says_mark=False)("counts.no_sentinel")
    assert told == Missing("this client does not say whether the mark came")
    assert isinstance(figures(acts, with_provider=False)("counts.no_sentinel"), Missing)


@pytest.mark.parametrize("word", ["reasoning_content", "reasoning"])
def test_b1_first_event_first_token_first_visible_token(word: str):
    thought = b'data: {"choices":[{"index":0,"delta":{"%s":"hm"}}]}\n\n' % word.encode()
    whole = answer((ROLE, 5), (thought, 40), (TOKEN, 400), (FINISH, 420))
    found = figures([whole])
    assert found("latency.first_event_ms.p50") == 5
    assert found("latency.ttft_ms.p50") == 40
    assert found("latency.first_visible_ms.p50") == 400


def test_b1_a_call_without_a_token_has_no_first_one_and_changes_no_sample():
    silent = answer((ROLE, 5), (FINISH, 420))
    found = figures([silent, answer((ROLE, 6), (TOKEN, 400), (FINISH, 420))])
    assert found("counts.ok") == 2
    assert found("latency.ttft_ms.count") == found("latency.first_visible_ms.count") == 1
    assert found("latency.ttft_ms.p50") == 400
    assert found("latency.first_event_ms.count") == 2
    alone = figures([silent])
    for series in ("ttft_ms", "first_visible_ms"):
        assert alone(f"latency.{series}.count") == 0
        assert alone(f"latency.{series}.p50") == Missing("no call that ended ok came to it")


def test_what_the_provider_saw_are_the_attempts():
    acts = [answer((TOKEN, 20), (FINISH, 30))] * 3
    said = ({"requests": 2}, {"requests": 3})
    assert figures(acts, provider_stats=said)("counts.attempts") == 5
    assert isinstance(figures(acts)("counts.attempts"), Missing)
    assert figures(acts, with_provider=False)("counts.attempts") == 3
    assert isinstance(figures(acts, with_provider=False)("counts.usage_tokens"), Missing)
    assert isinstance(figures(acts, with_provider=False)("counts.without_usage"), Missing)
