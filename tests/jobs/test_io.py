"""The job and its receiver: every token stamped or counted, every call with one outcome."""

import asyncio
from collections.abc import Callable

import pytest

from jobs_fakes import small_schedule, tables
from streamlanes.backends.base import drive
from streamlanes.jobs.io import IoJob, Receiver
from streamlanes.samples import Outcome
from streamlanes.wire.openai import ProtocolError

TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


@pytest.fixture
def two():
    schedule, samples = tables(small_schedule(2))
    yield schedule, samples
    schedule.close()
    samples.close()


def test_every_token_gets_the_time_of_its_read(two):
    schedule, samples = two
    into = Receiver(1, schedule, samples)
    assert into.feed(TOKEN, 10) is False
    assert into.feed(TOKEN + TOKEN[:20], 20) is False
    assert into.feed(TOKEN[20:] + b"data: [DONE]\n\n", 30) is True
    into.closed(40)
    assert list(samples["received"]) == [0, 0, 0, 10, 20, 30]
    assert samples["count"][1] == 3
    assert samples["end"][1] == 40
    assert samples["outcome"][1] == Outcome.OK
    assert samples["outcome"][0] == 0


def test_tokens_beyond_the_schedule_are_counted_not_written(two):
    schedule, samples = two
    into = Receiver(0, schedule, samples)
    into.feed(TOKEN * 5, 9)
    into.tokens(2, 11)
    into.closed(12)
    assert list(samples["received"]) == [9, 9, 9, 0, 0, 0]
    assert samples["count"][0] == 7


@pytest.mark.parametrize(
    ("body", "reset", "how"),
    [
        (FINISH, False, Outcome.OK),
        (b"data: [DONE]\n\n", True, Outcome.OK),
        (TOKEN, False, Outcome.TRUNCATED),
        (TOKEN + TOKEN[:30], False, Outcome.TRUNCATED),
        (TOKEN, True, Outcome.RESET),
        (b'data: {"error":{"message":"x"}}\n\n', False, Outcome.PROVIDER_ERROR),
    ],
)
def test_success_needs_a_terminal_mark(two, body: bytes, reset: bool, how: Outcome):
    schedule, samples = two
    into = Receiver(0, schedule, samples)
    into.feed(body, 1)
    into.closed(2, reset=reset)
    assert samples["outcome"][0] == how


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
        (lambda into: (into.end(Outcome.OK, 5), into.end(Outcome.RESET, 6)), Outcome.OK),
    ],
)
def test_every_way_out_is_one_outcome(two, act, how: Outcome):
    schedule, samples = two
    drive(IoJob(schedule, samples, Scripted(act))(0))
    assert samples["begin"][0] > 0
    assert samples["outcome"][0] == how


def test_a_cancelled_call_is_accounted_for(two):
    schedule, samples = two
    with pytest.raises(asyncio.CancelledError):
        drive(IoJob(schedule, samples, Scripted(_raise(asyncio.CancelledError())))(0))
    assert samples["outcome"][0] == Outcome.CANCELLED
