"""Executions that somebody else carries on: whoever began one waits here for its end."""

import asyncio


class Endings:
    """In an event loop, in which it must be made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    def expect(self, execution: int) -> "asyncio.Future[None]":
        """Something to await for the end; it raises what the execution failed with."""
        return self._waiting.setdefault(execution, self._loop.create_future())

    def over(self, execution: int, error: BaseException | None = None) -> None:
        """Say that it ended; a second time says nothing."""
        waiting = self._waiting.get(execution)
        if waiting is None or waiting.done():
            return
        if error is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(error)

    def all_over(self, error: BaseException) -> None:
        """Nobody carries anything on any more."""
        for execution in list(self._waiting):
            self.over(execution, error)

    def watch(self, task: "asyncio.Task[object]") -> None:
        """End all with what ends this task, unless it is cancelled."""
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[object]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.all_over(error)
