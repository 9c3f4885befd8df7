"""People's own functions as a client: every form, every token, one outcome whatever they do."""

import asyncio
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs_fakes import small_schedule, tables
from somebody import write
from streamlanes.backends.base import drive
from streamlanes.clients import call, call_blocking, own
from streamlanes.clients.base import Setting
from streamlanes.jobs.io import IoJob
from streamlanes.mishaps import Mishaps
from streamlanes.samples import Outcome, Table

MODULE = """
import asyncio, sys
closed = []

async def a_pieces(base_url, prompt):
    assert (base_url, prompt) == ("http://127.0.0.1:7", "[call 1] Say something.")
    for piece in (" the of", "", " and"):
        await asyncio.sleep(0)
        yield piece

async def a_whole(base_url, prompt):
    await asyncio.sleep(0)
    return "the of and"

def pieces(base_url, prompt):
    yield from (" the of", "", " and")

def whole(base_url, prompt):
    return "the of and"

class Answer:
    def __call__(self, base_url, prompt):
        return iter(["the", "of", "and"])

an_object = Answer()

async def a_nothing(base_url, prompt): return ""
async def a_none(base_url, prompt): pass
async def a_few(base_url, prompt): yield "the of"
async def a_many(base_url, prompt): yield "the of and to in"
async def a_raises(base_url, prompt):
    yield "the"
    raise LookupError("no such model")
async def a_exits(base_url, prompt): sys.exit(3)
async def a_bytes(base_url, prompt):
    try:
        yield "the"
        yield b"of"
    finally:
        closed.append("a_bytes")

def nothing(base_url, prompt): yield from ()
def none(base_url, prompt): pass
def a_list(base_url, prompt): return ["the"]
def raises(base_url, prompt): raise LookupError("no such model")
def exits(base_url, prompt): sys.exit(3)
def stops(base_url, prompt): raise StopIteration
def a_chunk(base_url, prompt):
    try:
        yield "the"
        yield {"choices": []}
    finally:
        closed.append("a_chunk")
async def misfit(base_url, prompt): yield "the"
"""


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Table, Table, Mishaps]]:
    write(tmp_path, MODULE, monkeypatch)
    schedule, samples = tables(small_schedule(2))  # of three tokens each
    mishaps = Mishaps.create()
    yield schedule, samples, mishaps
    for each in (schedule, samples, mishaps):
        each.close()


def setting(parts: tuple[Table, Table, Mishaps], function: str, **more: object) -> Setting:
    return Setting(
        parts[0], (("127.0.0.1", 7),), False, call=f"somebody:{function}", mishaps=parts[2], **more
    )


def run(parts: tuple[Table, Table, Mishaps], function: str, *, blocking: bool) -> Outcome:
    """Call 1 with this function; its outcome."""
    samples = parts[1]
    client = (call_blocking if blocking else call).open_client(setting(parts, function))
    job = IoJob(setting(parts, function), samples, client)
    if blocking:
        drive(job(1))
    else:
        asyncio.run(job(1))
    assert samples["begin"][1] <= samples["end"][1]
    assert samples["connected"][1] == samples["sent"][1] == 0, "nobody knows"
    assert samples["outcome"][0] == 0, "no other call was touched"
    return Outcome(samples["outcome"][1])


@pytest.mark.parametrize(
    ("function", "blocking", "times"),
    [
        ("a_pieces", False, 2),
        ("a_whole", False, 1),
        ("pieces", True, 2),
        ("whole", True, 1),
        ("an_object", True, 3),
    ],
)
def test_every_form_is_counted_by_words_and_stamped_when_it_gives_them(
    parts: tuple[Table, Table, Mishaps], function: str, blocking: bool, times: int
):
    assert run(parts, function, blocking=blocking) is Outcome.OK
    received = list(parts[1]["received"])
    assert received[:3] == [0, 0, 0]
    assert parts[1]["count"][1] == 3
    assert len(set(received[3:])) == times
    assert received[3:] == sorted(received[3:])
    assert parts[1]["begin"][1] <= received[3] <= received[5] <= parts[1]["end"][1]
    assert parts[2].read() == {}


@pytest.mark.parametrize(
    ("function", "blocking", "how", "says"),
    [
        ("a_nothing", False, Outcome.TRUNCATED, {}),
        ("a_few", False, Outcome.TRUNCATED, {}),
        ("nothing", True, Outcome.TRUNCATED, {}),
        ("a_many", False, Outcome.OK, {}),
        ("a_none", False, Outcome.JOB_ERROR, {"TypeError": "gave NoneType, not text"}),
        ("none", True, Outcome.JOB_ERROR, {"TypeError": "gave NoneType, not text"}),
        ("a_bytes", False, Outcome.JOB_ERROR, {"TypeError": "gave bytes, not text"}),
        ("a_chunk", True, Outcome.JOB_ERROR, {"TypeError": "gave dict, not text"}),
        ("a_list", True, Outcome.JOB_ERROR, {"TypeError": "gave list, not text"}),
        ("misfit", True, Outcome.JOB_ERROR, {"TypeError": "gave async_generator, not text"}),
        ("a_raises", False, Outcome.JOB_ERROR, {"LookupError": "no such model"}),
        ("raises", True, Outcome.JOB_ERROR, {"LookupError": "no such model"}),
        ("a_exits", False, Outcome.JOB_ERROR, {"SystemExit": "3"}),
        ("exits", True, Outcome.JOB_ERROR, {"SystemExit": "3"}),
        ("stops", True, Outcome.JOB_ERROR, {"RuntimeError": "StopIteration"}),
    ],
)
def test_whatever_it_does_is_one_outcome_and_errors_are_told(
    parts: tuple[Table, Table, Mishaps], function: str, blocking: bool, how: Outcome, says: dict[str, str]
):
    assert run(parts, function, blocking=blocking) is how
    found = parts[2].read()
    assert found.keys() == says.keys()
    for kind, message in says.items():
        assert message in found[kind].message
        assert found[kind].count == 1
    if function in ("a_nothing", "nothing"):
        assert parts[1]["first_visible"][1] == 0, "no token, no first one"
    if function in ("a_bytes", "a_chunk"):
        assert sys.modules["somebody"].closed == [function], "a generator that is left is closed"


def test_words_beyond_the_schedule_are_counted_not_stamped(parts: tuple[Table, Table, Mishaps]):
    run(parts, "a_many", blocking=False)
    assert parts[1]["count"][1] == 5
    assert all(parts[1]["received"][row] for row in (3, 4, 5))


@pytest.mark.parametrize(
    ("piece", "count"), [("", 0), (" \n", 0), (" the", 1), ("the", 1), ("a b  c\n", 3), ("夜 🦉", 2)]
)
def test_a_word_is_a_token(piece: str, count: int):
    assert own.words(piece) == count


def test_a_client_is_pickled_as_its_setting(parts: tuple[Table, Table, Mishaps]):
    """Pool workers of another start method get it so; a function alone may not pickle."""
    for form in (call, call_blocking):
        client = form.open_client(setting(parts, "an_object"))
        again = pickle.loads(pickle.dumps(client))
        assert type(again) is type(client)


@pytest.mark.parametrize(
    ("tls_ca", "url"), [(None, "http://127.0.0.1:7"), ("/run.pem", "https://127.0.0.1:7")]
)
def test_over_tls_the_scheme_and_what_is_trusted_change(
    parts: tuple[Table, Table, Mishaps], monkeypatch: pytest.MonkeyPatch, tls_ca: str | None, url: str
):
    trusted = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    for name in trusted:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    cell = setting(parts, "whole", tls_ca=tls_ca)
    own.opened(cell)
    assert own.base_url(cell, 1) == url
    assert [os.environ.get(name) for name in trusted] == [tls_ca, tls_ca]


def test_a_call_that_is_cancelled_leaves_its_function(parts: tuple[Table, Table, Mishaps]):
    samples = parts[1]
    client = call.open_client(setting(parts, "a_bytes"))
    client._function = _waits
    job = IoJob(setting(parts, "a_bytes"), samples, client)

    async def cancelled() -> None:
        task = asyncio.ensure_future(job(1))
        while not samples["received"][3]:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert samples["outcome"][1] == Outcome.CANCELLED
    assert LEFT == ["left"]


LEFT: list[str] = []


async def _waits(base_url: str, prompt: str):
    try:
        yield "the"
        await asyncio.Event().wait()
    finally:
        LEFT.append("left")
