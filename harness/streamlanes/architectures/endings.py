"""Executions that somebody else carries on: whoever began one waits here for its end."""

import asyncio
from typing import Any


class Endings:
    """In an event loop, in which it must be made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._broken: BaseException | None = None

    def expect(self, execution: int) -> "asyncio.Future[None]":
        """Something to await for the end; it raises what the execution failed with."""
        ending = self._waiting.setdefault(execution, self._loop.create_future())
        if self._broken is not None:
            self.over(execution, self._broken)
        return ending

    def over(self, execution: int, error: BaseException | None = None) -> None:
        """Say that it ended; a second time says nothing."""
        ending = self._waiting.get(execution)
        if ending is None or ending.done():
            return
        if error is None:
            ending.set_result(None)
        else:
            ending.set_exception(error)

    def watch(self, task: "asyncio.Task[Any]") -> None:
        """End all, now and later, with what ends this task first of those watched, unless it is cancelled."""
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken = self._broken or error  # the others follow from the first
            for execution in list(self._waiting):
                self.over(execution, error)
