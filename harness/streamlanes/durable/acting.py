"""How a workflow's activities are carried out: in its thread, or from its event loop (looping.InLoop)."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from streamlanes.durable.waits import Blocking, Waits


class Acting(Waits, Protocol):
    """What a workflow needs besides waiting. loops: whether its calls are awaited."""

    loops: bool

    def here(self) -> object:
        """Who asks now, to be compared by identity: a thread, or a task; None where there is no task."""

    async def call(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """Carry a function out without holding up other calls."""


class InThread(Blocking):
    """A plain workflow: everything in its own thread."""

    loops = False

    def here(self) -> object:
        """See Acting."""
        return threading.current_thread()

    async def call(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """See Acting."""
        return function(*args, **kwargs)
