"""However a call ends, each library's own error becomes one outcome, and no connection is left."""

import asyncio
import socket

import pytest

from calling import FORMS, Calling, names
from scripted import LAST_CHUNK, Do, Script, Scripted, chunk, refusal
from serving import made_certificate
from streamlanes.backends import Waits
from streamlanes.clients import CLIENTS
from streamlanes.provider.tls import server_context
from streamlanes.samples import Outcome
from streams_said import SAID, TOKENS, Said

every_form = pytest.mark.parametrize(("client", "waits"), FORMS, ids=names(FORMS))
asynchronous = [form for form in FORMS if form[1] is Waits.ASYNC]


def said(client: str) -> Said:
    return SAID[CLIENTS[client].dialect or "openai"]


def endings(events: Said) -> dict[str, tuple[Script, Outcome, int]]:
    """Name -> how the provider answers, what that is, tokens that came before."""
    two = events.part(2)
    half = chunk(events.token[: len(events.token) // 2])
    return {
        "whole": (events.whole, Outcome.OK, TOKENS),
        "in one piece": ([b"".join(events.whole)], Outcome.OK, TOKENS),
        "refused 429": ([refusal(429)], Outcome.STATUS_4XX, 0),
        "refused 503": ([refusal(503)], Outcome.STATUS_5XX, 0),
        "error in mid-stream": ([*two, chunk(events.error), LAST_CHUNK], Outcome.PROVIDER_ERROR, 2),
        "over without an end": ([*two, LAST_CHUNK], Outcome.TRUNCATED, 2),
        "cut between events": ([*two, Do.CLOSE], Outcome.TRUNCATED, 2),
        "cut within an event": ([*two, half, Do.CLOSE], Outcome.TRUNCATED, 2),
        "cut within a chunk": ([*two, half[:-9], Do.CLOSE], Outcome.TRUNCATED, 2),
        "cut before the answer": ([Do.CLOSE], Outcome.TRUNCATED, 0),
        "reset": ([*two, Do.RESET], Outcome.RESET, 2),
        "reset before the answer": ([Do.RESET], Outcome.RESET, 0),
        "no HTTP": ([b"what do you mean?\r\n\r\n", Do.CLOSE], Outcome.PROTOCOL_ERROR, 0),
        "no chunk": ([*two, b"zz\r\nwhat\r\n", Do.CLOSE], Outcome.PROTOCOL_ERROR, 2),
        "no event": ([*two, chunk(events.garbage), Do.STALL], Outcome.PROTOCOL_ERROR, 2),
        "no text": ([*two, chunk(b"data: \xff\xfe\n\n"), Do.STALL], Outcome.PROTOCOL_ERROR, 2),
    }


@every_form
@pytest.mark.parametrize("ending", endings(SAID["openai"]))
def test_each_ending_is_one_outcome(client: str, waits: Waits, ending: str):
    if (client, ending) == ("aiohttp", "no chunk"):
        pytest.skip("it does not notice, and waits for a time limit (seen with 3.14.5)")
    script, outcome, tokens = endings(said(client))[ending]
    with Scripted(script) as server:
        calling = Calling(client, waits, server.address)
        (ended,) = calling.run()
        assert (ended.outcome, ended.tokens) == (outcome, tokens)
        assert server.requests == 1, "nothing is tried again"
        assert ended.stamped >= {"connected", "sent"}
        assert server.settle(0), "a connection is left open"


@every_form
@pytest.mark.parametrize("ending", ["whole", "cut between events", "reset", "no event"])
def test_the_same_over_tls(client: str, waits: Waits, ending: str):
    script, outcome, tokens = endings(said(client))[ending]
    certificate = made_certificate()
    with Scripted(script, server_context(certificate.trusted, certificate.key)) as server:
        calling = Calling(client, waits, server.address, tls_ca=certificate.trusted)
        (ended,) = calling.run()
        if (waits, ended.outcome) == (Waits.BLOCKING, Outcome.TRUNCATED) and outcome is Outcome.RESET:
            outcome = Outcome.TRUNCATED  # CPython's blocking TLS takes a reset for an end of file
        assert (ended.outcome, ended.tokens) == (outcome, tokens)
        assert server.settle(0), "a connection is left open"


@every_form
def test_a_certificate_of_someone_else_is_no_connection(client: str, waits: Waits, tmp_path):
    from streamlanes import certificate

    own, other = made_certificate(), certificate.make(tmp_path)
    with Scripted([], server_context(other.trusted, other.key)) as server:
        (ended,) = Calling(client, waits, server.address, tls_ca=own.trusted).run()
        assert ended.outcome is Outcome.CONNECT_ERROR
        assert server.requests == 0
        assert server.settle(0)


@every_form
def test_nobody_listens(client: str, waits: Waits):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
    (ended,) = Calling(client, waits, address).run()
    assert ended.outcome is Outcome.CONNECT_ERROR
    assert not ended.stamped, "it was never in flight"


@every_form
def test_what_the_provider_counted_is_handed_on(client: str, waits: Waits):
    with Scripted(said(client).whole) as server:
        (ended,) = Calling(client, waits, server.address).run()
    assert (ended.tokens, ended.usage) == (TOKENS, 7)
    assert "first_event" in ended.stamped


@every_form
@pytest.mark.parametrize("marked", [True, False])
def test_a8_whether_the_mark_came_is_told_by_all_that_know_it(client: str, waits: Waits, marked: bool):
    events = said(client)
    last = events.reason + (events.mark if marked else b"")
    with Scripted([*events.part(TOKENS), chunk(last) + LAST_CHUNK]) as server:
        (ended,) = Calling(client, waits, server.address).run()
    assert (ended.outcome, ended.tokens) == (Outcome.OK, TOKENS)
    unmarked = not marked if CLIENTS[client].says_mark else True
    assert ended.unmarked == unmarked, "one that does not say it looks the same in both cases"


@every_form
def test_b1_reasoning_is_a_token_that_nobody_sees(client: str, waits: Waits):
    events = said(client)
    thoughts = [chunk(each) for each in events.thoughts]
    opening, answer = events.part(0), events.whole[2:]

    def received() -> bool:
        return calling.tokens_so_far() == len(thoughts)

    with Scripted([*opening, *thoughts, received, *answer]) as server:
        calling = Calling(client, waits, server.address, tokens=float(len(thoughts) + TOKENS))
        (ended,) = calling.run()
    assert (ended.outcome, ended.tokens) == (Outcome.OK, len(thoughts) + TOKENS)
    assert 0 < ended.first_token < ended.first_visible


@every_form
def test_a_stream_that_is_given_up_is_closed_at_once(client: str, waits: Waits):
    """The receiver refuses an event; nobody waits for the rest, nor for the client to close."""
    script, _, _ = endings(said(client))["no event"]
    with Scripted(script) as server:
        seen: list[bool] = []
        Calling(client, waits, server.address).run(between=lambda: seen.append(server.settle(0)))
        assert seen == [True]


@pytest.mark.parametrize(("client", "waits"), asynchronous, ids=names(asynchronous))
@pytest.mark.parametrize("tokens", [0, 2])
def test_a_cancelled_call_is_closed_at_once(client: str, waits: Waits, tokens: int):
    """tokens 0: cancelled while it waits for the answer's head."""
    part = said(client).part(tokens) if tokens else []
    with Scripted([*part, Do.STALL]) as server:
        calling = Calling(client, waits, server.address)

        async def streaming() -> None:
            while server.requests == 0 or calling.tokens_so_far() < tokens:
                await asyncio.sleep(0.001)

        seen: list[bool] = []
        (ended,) = calling.cancelled(streaming, then=lambda: seen.append(server.settle(0)))
        assert (ended.outcome, ended.tokens) == (Outcome.CANCELLED, tokens)
        assert seen == [True]


@every_form
@pytest.mark.parametrize("keep_alive", [None, True, False])
def test_a_connection_is_kept_for_a_later_call_or_not(client: str, waits: Waits, keep_alive: bool | None):
    with Scripted(said(client).whole) as server:
        calling = Calling(client, waits, server.address, calls=3, keep_alive=keep_alive)
        open_at_the_end: list[bool] = []
        # The blocking OpenAI SDK leaves at `[DONE]` with the end of the answer unread, which no connection
        # survives (seen with 3.57).
        fresh = keep_alive is False or (client, waits) == ("openai", Waits.BLOCKING)
        ended = calling.run(between=lambda: open_at_the_end.append(server.settle(0 if fresh else 1)))
        assert [each.outcome for each in ended] == [Outcome.OK] * 3
        assert open_at_the_end == [True]
        assert server.made == (3 if fresh else 1)
        assert server.settle(0)
