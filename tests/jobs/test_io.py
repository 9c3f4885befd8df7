"""The job and its receiver: every token stamped or counted, every call with one outcome."""

import asyncio
from collections.abc import Callable

import pytest

from answers import REASONING, TEXT, TOKENS, USAGE, WHOLE
from jobs_fakes import receiver, setting, small_schedule, tables
from streamlanes.backends.base import drive
from streamlanes.jobs.io import IoJob, Receiver
from streamlanes.samples import Outcome
from streamlanes.wire import DIALECTS
from streamlanes.wire.base import ProtocolError
from streamlanes.wire.sse import EventTooLong

ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
THOUGHT = b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
USED = b'data: {"choices":[],"usage":{"completion_tokens":9}}\n\n'
DONE = b"data: [DONE]\n\n"
FAILED = b'data: {"error":{"message":"x"}}\n\n'
FAILED_BESIDE = (
    b'data: {"error":{"message":"x"},"choices":[{"delta":{"content":""},"finish_reason":null}]}\n\n'
)
STOP_REASON = b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
PING = b'event: ping\ndata: {"type":"ping"}\n\n'


@pytest.fixture
def two():
    """Tables of two calls of three tokens each."""
    schedule, samples = tables(small_schedule(2))
    yield schedule, samples
    schedule.close()
    samples.close()


def row(two, call: int) -> dict[str, int]:
    """What a call's columns hold."""
    return {name: two[1][name][call] for name, _ in two[1].columns if name != "received"}


def test_every_token_gets_the_time_of_its_read(two):
    _, samples = two
    into = receiver(1, two)
    assert into.feed(TOKEN, 10) is False
    assert into.feed(TOKEN + TOKEN[:20], 20) is False
    assert into.feed(TOKEN[20:] + DONE, 30) is True
    into.closed(40)
    assert list(samples["received"]) == [0, 0, 0, 10, 20, 30]
    found = row(two, 1)
    assert (found["count"], found["end"], found["outcome"]) == (3, 40, Outcome.OK)
    assert set(row(two, 0).values()) == {0}


def test_tokens_beyond_the_schedule_are_counted_not_written(two):
    _, samples = two
    into = receiver(0, two)
    into.feed(TOKEN * 5, 9)
    into.feed(TOKEN, 10)
    into.tokens(2, 11)
    into.closed(12)
    assert list(samples["received"]) == [9, 9, 9, 0, 0, 0]
    assert samples["count"][0] == 8


def test_b1_first_event_first_token_and_first_visible_token_are_three_times(two):
    _, samples = two
    into = receiver(0, two)
    for body, now in ((ROLE, 5), (THOUGHT, 40), (TOKEN, 400), (FINISH, 420)):
        into.feed(body, now)
    into.closed(421)
    found = row(two, 0)
    assert (found["first_event"], samples["received"][0], found["first_visible"]) == (5, 40, 400)
    assert samples["received"][1] == 400


def test_b1_a_role_and_a_finish_are_no_token(two):
    _, samples = two
    into = receiver(0, two)
    for body, now in ((ROLE, 5), (FINISH, 420)):
        into.feed(body, now)
    into.closed(421)
    found = row(two, 0)
    assert (found["first_event"], samples["received"][0], found["first_visible"]) == (5, 0, 0)
    assert (found["count"], found["outcome"]) == (0, Outcome.OK)


def test_a_ping_is_the_first_event_and_a_comment_is_none(two):
    into = receiver(0, two, api="anthropic")
    into.feed(b": hello\n\n", 1)
    into.feed(PING, 2)
    assert row(two, 0)["first_event"] == 2


def test_a7_the_providers_count_stands_beside_the_chunks(two):
    into = receiver(0, two)
    assert into.feed(b'data: {"choices":[],"prompt_filter_results":[]}\n\n', 1) is False
    for now in (2, 3, 4):
        into.feed(TOKEN, now)
    into.feed(USED + DONE, 5)
    into.closed(6)
    found = row(two, 0)
    assert (found["count"], found["usage"], found["outcome"]) == (3, 9, Outcome.OK)
    assert (found["first_event"], two[1]["received"][0]) == (1, 2)


@pytest.mark.parametrize("api", DIALECTS)
def test_a_whole_answer(two, api: str):
    into = receiver(0, two, api=api)
    body = WHOLE[api, "\n"]
    over = [into.feed(body[at : at + 1], at) for at in range(len(body))]
    assert over.index(True) == len(body) - 1
    into.closed(len(body))
    found = row(two, 0)
    assert (found["count"], found["usage"], found["no_sentinel"]) == (TOKENS, USAGE, 0)
    assert found["outcome"] == Outcome.OK
    first = two[1]["received"][0]
    assert 0 < found["first_event"] < first < found["first_visible"]
    assert body[:first].count(REASONING[0].encode()) == 1
    assert TEXT[0].encode() in body[: found["first_visible"]]


@pytest.mark.parametrize(
    ("api", "body", "reset", "how", "no_sentinel"),
    [
        ("openai", TOKEN + FINISH + DONE, False, Outcome.OK, 0),
        ("openai", FINISH, False, Outcome.OK, 1),
        ("openai", DONE, True, Outcome.OK, 0),
        ("openai", b"", False, Outcome.TRUNCATED, 0),
        ("openai", TOKEN, False, Outcome.TRUNCATED, 0),
        ("openai", TOKEN + FINISH[:30], False, Outcome.TRUNCATED, 0),
        ("openai", TOKEN + USED, False, Outcome.TRUNCATED, 0),
        ("openai", TOKEN, True, Outcome.RESET, 0),
        ("openai", TOKEN + FAILED, False, Outcome.PROVIDER_ERROR, 0),
        ("openai", TOKEN + FAILED + DONE, False, Outcome.PROVIDER_ERROR, 0),
        ("openai", TOKEN + FAILED_BESIDE + DONE, False, Outcome.PROVIDER_ERROR, 0),
        ("anthropic", STOP_REASON + MESSAGE_STOP, False, Outcome.OK, 0),
        ("anthropic", STOP_REASON, False, Outcome.OK, 1),
        ("anthropic", MESSAGE_STOP, False, Outcome.OK, 0),
        ("anthropic", PING, False, Outcome.TRUNCATED, 0),
        ("anthropic", STOP_REASON[:-1], False, Outcome.TRUNCATED, 0),
        ("anthropic", PING, True, Outcome.RESET, 0),
        ("anthropic", OVERLOADED, False, Outcome.PROVIDER_ERROR, 0),
    ],
)
def test_success_needs_a_terminal_mark(
    two, api: str, body: bytes, reset: bool, how: Outcome, no_sentinel: int
):
    into = receiver(0, two, api=api)
    into.feed(body, 1)
    into.closed(2, reset=reset)
    into.closed(3)
    found = row(two, 0)
    assert (found["outcome"], found["end"], found["no_sentinel"]) == (how, 2, no_sentinel)


@pytest.mark.parametrize("body", [FAILED, OVERLOADED])
def test_an_error_is_the_end_of_the_stream(two, body: bytes):
    into = receiver(0, two, api="openai" if body is FAILED else "anthropic")
    assert into.feed(body, 1) is True


# Chunks of several tokens


def test_a_chunk_of_several_tokens_stamps_as_many_rows_and_the_last_one_the_rest():
    pair = tables(small_schedule(2, tokens=5.0))
    schedule, samples = pair
    into = receiver(1, pair, tokens_per_chunk=2)
    for now in (10, 20, 30):
        into.feed(TOKEN, now)
    assert list(samples["received"]) == [0] * 5 + [10, 10, 20, 20, 30]
    assert into.count == 5
    into.feed(TOKEN, 40)
    assert into.count == 7, "beyond the schedule nobody knows better"
    into.closed(50)
    assert samples["received"][9] == 30
    schedule.close()
    samples.close()


# Libraries that decode by themselves


def test_what_a_library_says_counts_like_bytes(two):
    _, samples = two
    into = receiver(0, two)
    into.event(5)
    into.event(6)
    into.tokens(1, 40, visible=False)
    into.tokens(2, 400)
    into.used(None)
    into.used(7)
    into.used(None)
    into.finished()
    into.closed(420)
    found = row(two, 0)
    assert (found["first_event"], found["first_visible"]) == (5, 400)
    assert list(samples["received"])[:3] == [40, 400, 400]
    assert (found["count"], found["usage"], found["no_sentinel"]) == (3, 7, 0)
    assert found["outcome"] == Outcome.OK


@pytest.mark.parametrize(("marked", "no_sentinel"), [((False,), 1), ((True,), 0), ((False, True), 0)])
def test_a_finish_reason_is_no_mark_of_the_end(two, marked: tuple[bool, ...], no_sentinel: int):
    into = receiver(0, two)
    for each in marked:
        into.finished(marked=each)
    into.closed(9)
    found = row(two, 0)
    assert (found["outcome"], found["no_sentinel"]) == (Outcome.OK, no_sentinel)


def test_a_token_is_an_event_too(two):
    into = receiver(0, two)
    into.tokens(1, 7)
    assert row(two, 0)["first_event"] == 7


@pytest.mark.parametrize(
    ("act", "reset", "how"),
    [
        (lambda into: None, False, Outcome.TRUNCATED),
        (lambda into: None, True, Outcome.RESET),
        (lambda into: into.failed(), False, Outcome.PROVIDER_ERROR),
        (lambda into: (into.finished(), into.failed()), False, Outcome.PROVIDER_ERROR),
        (lambda into: (into.finished(marked=False), into.failed()), False, Outcome.PROVIDER_ERROR),
        (lambda into: into.used(3), False, Outcome.TRUNCATED),
    ],
)
def test_a_library_that_saw_no_end_has_no_ok_call(two, act, reset: bool, how: Outcome):
    into = receiver(0, two)
    into.tokens(3, 1)
    act(into)
    into.closed(2, reset=reset)
    assert row(two, 0)["outcome"] == how


@pytest.mark.parametrize("api", DIALECTS)
def test_a_call_names_itself_in_its_request(two, api: str):
    into = receiver(1, two, api=api)
    assert into.prompt.startswith("[call 1]")
    assert into.prompt.encode() in into.request
    assert into.path in ("/v1/chat/completions", "/v1/messages")


# The job


class Scripted:
    """A client whose stream does what a test says."""

    def __init__(self, act: Callable[[Receiver], None]) -> None:
        self._act = act

    async def stream(self, into: Receiver) -> None:
        self._act(into)


def _raise(error: BaseException) -> Callable[[Receiver], None]:
    def act(into: Receiver) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "how"),
    [
        (lambda into: into.end(Outcome.STATUS_5XX, 5), Outcome.STATUS_5XX),
        (lambda into: None, Outcome.JOB_ERROR),
        (_raise(RuntimeError("x")), Outcome.JOB_ERROR),
        (_raise(ProtocolError("x")), Outcome.PROTOCOL_ERROR),
        (_raise(EventTooLong("x")), Outcome.PROTOCOL_ERROR),
        (lambda into: into.feed(b"data: {\n\n", 1), Outcome.PROTOCOL_ERROR),
        (lambda into: (into.end(Outcome.OK, 5), into.end(Outcome.RESET, 6)), Outcome.OK),
    ],
)
def test_every_way_out_is_one_outcome(two, act, how: Outcome):
    schedule, samples = two
    drive(IoJob(setting(schedule), samples, Scripted(act))(0))
    assert samples["begin"][0] > 0
    assert samples["outcome"][0] == how


def test_a_cancelled_call_is_accounted_for(two):
    schedule, samples = two
    with pytest.raises(asyncio.CancelledError):
        drive(IoJob(setting(schedule), samples, Scripted(_raise(asyncio.CancelledError())))(0))
    assert samples["outcome"][0] == Outcome.CANCELLED
