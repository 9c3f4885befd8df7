"""What an event loop's worker waits for between two looks: that somebody rings, or that a while is over."""

import asyncio


class Bell:
    """Used in one event loop."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Have the next wait end, or the one that goes on."""
        self._rung.set()

    def silence(self) -> None:
        """Forget that it was rung: before a look, so that what is rung for during it is not missed."""
        self._rung.clear()

    async def wait(self, most_s: float) -> None:
        """Until it is rung, at most so long. Not `asyncio.wait_for`: up to Python 3.11 that forgets a
        cancellation that comes with the end of the wait."""
        timer = asyncio.get_running_loop().call_later(most_s, self._rung.set)
        try:
            await self._rung.wait()
        finally:
            timer.cancel()
