"""Waits that end when rung, after a while, and when cancelled."""

import asyncio

import pytest

from streamlanes.durable.bell import Bell


def test_it_ends_when_rung_before_or_during_and_by_itself():
    async def wait() -> None:
        bell = Bell()
        bell.ring()
        await bell.wait(600)
        bell.silence()
        asyncio.get_running_loop().call_soon(bell.ring)
        await bell.wait(600)
        bell.silence()
        await bell.wait(0.001)

    asyncio.run(wait())


def test_a_cancellation_that_comes_with_the_ring_is_not_forgotten():
    async def wait() -> None:
        bell = Bell()
        waiting = asyncio.create_task(bell.wait(600))
        await asyncio.sleep(0)
        bell.ring()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(wait())
