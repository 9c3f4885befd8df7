"""How a job waits for something that another thread or process will have done: its thread blocks."""

from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def result(of: "Future[T]") -> T:
    """Its result, or its exception."""
    return of.result()
