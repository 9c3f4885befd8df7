"""How an execution waits in a thread; looping.py is the same in an event loop.

Whoever waits is written once, as a coroutine. Here its waits block and never yield, so a single
`send` runs it through.
"""

import time
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Waits(Protocol):
    """What a step can wait for."""

    async def result(self, of: "Future[T]") -> T: ...

    async def sleep(self, seconds: float) -> None: ...


class Blocking:
    """Waits by blocking the thread."""

    async def result(self, of: "Future[T]") -> T:
        return of.result()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose waits block. Raises RuntimeError where it awaits anything else."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("the agent awaits an event loop; run it with run_with_checkpoint_async")
