"""Time limits that a client may have: of the wait for bytes, and of the wait for a place in its pool."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import pytest

from calling import Calling
from scripted import Do, Scripted
from streamlanes.backends import Waits
from streamlanes.samples import Outcome
from streams_said import SAID

SOON = 0.05
STALLING = [*SAID["openai"].part(2), Do.STALL]


def httpx_soon(client: Any) -> None:
    client._client.timeout = httpx.Timeout(SOON)


def aiohttp_soon(client: Any) -> None:
    client._session._timeout = aiohttp.ClientTimeout(sock_read=SOON)


def openai_soon(client: Any) -> None:
    client._chats = [each._client.with_options(timeout=SOON).chat.completions for each in client._chats]


def anthropic_soon(client: Any) -> None:
    client._messages = [each._client.with_options(timeout=SOON).messages for each in client._messages]


def requests_soon(client: Any) -> None:
    post = client._shared.post
    client._shared.post = lambda *args, **kwargs: post(*args, timeout=SOON, **kwargs)


def with_limit(calling: Calling, limit: Callable[[Any], None]) -> None:
    """Set a limit as soon as the client is open: none of ours has one."""
    client, opened = calling.client, calling.client.open

    async def open_() -> None:
        await opened()
        limit(client)

    calling.client.open = open_


@pytest.mark.parametrize(
    ("client", "waits", "limit"),
    [
        ("aiohttp", Waits.ASYNC, aiohttp_soon),
        ("httpx", Waits.ASYNC, httpx_soon),
        ("httpx", Waits.BLOCKING, httpx_soon),
        ("openai", Waits.ASYNC, openai_soon),
        ("openai", Waits.BLOCKING, openai_soon),
        ("anthropic", Waits.ASYNC, anthropic_soon),
        ("requests", Waits.BLOCKING, requests_soon),
    ],
)
@pytest.mark.parametrize("started", [True, False])
def test_a_wait_that_is_too_long(client: str, waits: Waits, limit: Callable[[Any], None], started: bool):
    part = SAID["anthropic" if client == "anthropic" else "openai"].part(2) if started else []
    with Scripted([*part, Do.STALL]) as server:
        calling = Calling(client, waits, server.address)
        with_limit(calling, limit)
        seen: list[bool] = []
        (ended,) = calling.run(between=lambda: seen.append(server.settle(0)))
        assert (ended.outcome, ended.tokens) == (Outcome.CLIENT_TIMEOUT, 2 if started else 0)
        assert seen == [True], "the connection is closed at once"


def test_a_place_in_the_pool_that_does_not_come_free():
    """httpx waits 5 s for one by default; here it is sooner."""
    with Scripted(STALLING) as server:
        calling = Calling("httpx", Waits.ASYNC, server.address, calls=2)

        async def main() -> None:
            await calling.job.open()
            await calling.client._client.aclose()
            calling.client._client = httpx.AsyncClient(
                limits=httpx.Limits(max_connections=1), timeout=httpx.Timeout(None, pool=SOON)
            )
            holds = asyncio.create_task(calling.job(0))
            while calling.tokens_so_far() < 2:
                await asyncio.sleep(0.001)
            await calling.job(1)
            holds.cancel()
            await asyncio.wait([holds])
            await calling.job.close()

        asyncio.run(main())
        first, second = calling.ended()
        assert (first.outcome, second.outcome) == (Outcome.CANCELLED, Outcome.CLIENT_POOL_TIMEOUT)
        assert "sent" not in second.stamped, "it was never in flight"
        assert server.settle(0)
