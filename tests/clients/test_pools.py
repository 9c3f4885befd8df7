"""How many calls a library has in flight at once, as the provider sees it."""

import asyncio
import time

import pytest

from calling import Calling
from serving import Serving
from streamlanes.backends import Waits
from streamlanes.provider.http2 import Http2
from streamlanes.wire.http1 import post

CALLS = 130


@pytest.mark.parametrize(
    ("client", "admitted"),
    [
        ("aiohttp", CALLS),
        ("httpx", CALLS),
        ("aiohttp-defaults", 100),
        ("httpx-defaults", 100),
        ("httpx-http2", 100),
        ("openai-defaults", CALLS),
        ("anthropic-defaults", CALLS),
    ],
)
def test_the_calls_in_flight_are_those_the_pool_admits(client: str, admitted: int):
    """The provider holds every call after its first token until as many as are admitted wait there."""
    up = Serving(hold=True, calls=CALLS, http2=Http2)
    calling = Calling(client, Waits.ASYNC, up.address, calls=CALLS)

    def release() -> None:
        until = time.monotonic() + 20
        while up.stats()["in_flight"] < admitted and time.monotonic() < until:
            time.sleep(0.005)
        up.ask(post("x", "/sim/release", b""))

    async def main() -> None:
        await calling.job.open()
        letting_go = asyncio.create_task(asyncio.to_thread(release))
        await asyncio.gather(*(calling.job(call) for call in range(CALLS)), letting_go)
        await calling.job.close()

    asyncio.run(main())
    calling.ended()
    assert up.stats()["peak_in_flight"] == admitted
    up.close()
