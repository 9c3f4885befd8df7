"""How a job waits for something that another thread or process will have done: in an event loop."""

import asyncio
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def result(of: "Future[T]") -> T:
    """Its result, or its exception; the loop goes on meanwhile."""
    return of.result() if of.done() else await asyncio.wrap_future(of)
