"""Group commit: one thread that takes all waiting requests into one transaction.

While a transaction is made durable, the next requests gather; so the more callers wait, the fewer
syncs each costs, and a lone caller waits for nobody. Each is answered only after the commit that
holds its own request. Who calls may be a thread or an event loop: the answer is a future.
"""

import collections
import enum
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from streamlanes.durable.database import Request, Work, Write
from streamlanes.durable.errors import Closed, DurableError, Unreachable

T = TypeVar("T")

GROUP = 1000
"""Most requests in one transaction; 1 makes a commit a step. Heartbeats do not count."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A request's own failure, in the place of its answer."""

    error: Exception


Commit = Callable[[Sequence[Request]], Sequence[Any]]
"""Carry out requests in one transaction, or none of them: returns an answer for each (Failed for its
own failure), or raises, and then nothing was changed."""

_answering = threading.local()


def when_all_are_answered(ring: Callable[[], None]) -> None:
    """Call `ring`, once, when all of the group have their answers; now, where none is being answered.

    For whoever wakes a loop from a future's callback: woken by the first of a group, it would fight
    the writer for the interpreter, answer by answer.
    """
    rings: dict[Callable[[], None], None] | None = getattr(_answering, "rings", None)
    if rings is None:
        ring()
    else:
        rings[ring] = None


_Queued = tuple[Request, "Future[Any]"]


class _Word(enum.Enum):
    """What stands in the queue for an urgent request, so that whoever waits there wakes."""

    LOOK = enum.auto()


_LOOK: Final = _Word.LOOK


class GroupCommit:
    """The queue and its thread.

    Urgent requests go before all others, and share a commit whatever `group` is: behind a queue of steps on
    a slow disk a heartbeat would come when its lease has lapsed.
    """

    def __init__(self, commit: Commit, group: int = GROUP) -> None:
        self._commit = commit
        self._group = group
        self._queue: queue.SimpleQueue[_Queued | _Word | None] = queue.SimpleQueue()
        self._urgent: collections.deque[_Queued] = collections.deque()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="group-commit", daemon=True)
        self._thread.start()

    def submit(self, request: Write[T] | Work[T]) -> "Future[T]":
        """Queue a request."""
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise Closed(request.execution, "its store is closed", "open the store again")
            if request.urgent:
                self._urgent.append((request, future))
                self._queue.put(_LOOK)
            else:
                self._queue.put((request, future))
        return future

    def close(self) -> None:
        """Carry out what is queued, then end the thread."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        more = True
        rings: dict[Callable[[], None], None] = {}
        _answering.rings = rings
        while more:
            more = self._one_group()
            while rings:
                rings.popitem()[0]()

    def _one_group(self) -> bool:
        """Take a group, carry it out and answer it; whether to go on. It leaves nothing of the group behind:
        what is held while the next one gathers is memory that its requests cannot have."""
        more, taken = self._take()
        live = [each for each in taken if each[1].set_running_or_notify_cancel()]
        if live:
            requests = [request for request, _ in live]
            try:
                answers = self._answers(requests)
            except BaseException as error:  # raised in a Work: what ends a thread, no request's failure
                more, answers = False, [Failed(_ended(request, error)) for request in requests]
                self._refuse(error)
            for (_, future), answer in zip(live, answers, strict=True):
                if isinstance(answer, Failed):
                    future.set_exception(answer.error)
                else:
                    future.set_result(answer)
        return more

    def _refuse(self, error: BaseException) -> None:
        """Take nothing more, and answer all that wait: nobody carries them out."""
        with self._closing:
            self._closed = True
        waiting = self._urgent_ones()
        while not self._queue.empty():
            each = self._queue.get()
            if each is not None and each is not _LOOK:
                waiting.append(each)
        for request, future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(_ended(request, error))

    def _take(self) -> tuple[bool, list[_Queued]]:
        """Whether to go on after these: what is urgent, however many, and all else that waits now, at most
        a group."""
        taken = self._urgent_ones()
        while not taken:
            first = self._queue.get()
            if first is None:
                return False, self._urgent_ones()
            taken = self._urgent_ones() if first is _LOOK else [first]
        seen = 1
        while len(taken) < self._group:
            try:
                each = self._queue.get_nowait()
            except queue.Empty:
                if 2 * len(taken) < 3 * seen or len(taken) == 1:
                    break
                # A burst that still comes in is one group: to begin would be to fight its callers for the
                # interpreter, row by row. A lone caller waits for nobody, and no burst for long.
                seen = len(taken)
                time.sleep(0)
                continue
            if each is None:
                return False, [*taken, *self._urgent_ones()]
            if each is not _LOOK:  # its request is among those taken, or will be next time
                taken.append(each)
        return True, taken

    def _urgent_ones(self) -> list[_Queued]:
        """All urgent requests that wait now."""
        return [self._urgent.popleft() for _ in range(len(self._urgent))]

    def _answers(self, requests: Sequence[Request]) -> Sequence[Any]:
        """Answers for all. A group that fails is taken apart, so that only the culprit fails."""
        try:
            return self._commit(requests)
        except Exception as error:
            # Where the database is away, each request would wait its whole patience for the same end.
            if len(requests) == 1 or isinstance(error, Unreachable):
                return [Failed(_named(error, request)) for request in requests]
            return [answer for request in requests for answer in self._answers([request])]


def _ended(request: Request, error: BaseException) -> Closed:
    made = Closed(request.execution, f"its store was ended by {type(error).__name__}", "open the store again")
    made.__cause__ = error
    return made


def _named(error: Exception, request: Request) -> Exception:
    """An error of the store, with the execution that meets it."""
    return error.about(request.execution) if isinstance(error, DurableError) else error


def finish(write: Write[Any], done: Sequence[Any]) -> Any:
    """What the write's caller is told, after the commit."""
    try:
        return write.answer(done)
    except Exception as error:
        return Failed(error)
