"""How a job waits for something that another thread or process will have done: in an event loop."""

import asyncio
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def result(of: "Future[T]") -> "asyncio.Future[T]":
    """Its result, or its exception; the loop goes on meanwhile. Several may await what is returned."""
    return asyncio.wrap_future(of)
