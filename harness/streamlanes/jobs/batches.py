"""Documents that are handed over together: what a way to another process costs is paid once a batch."""

from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from streamlanes.offload.base import Document, Fault, Made, Offload, Results, Task

Result = Callable[["Future[Results]"], Awaitable[Results]]


class Batches:
    """Collects documents, in one thread, until `size` are there or none more are expected.

    No document waits for a clock: a size above 1 is for documents that all come anyway.
    """

    def __init__(self, offload: Offload, result: Result, *, size: int, expected: int, times: int) -> None:
        self._offload = offload
        self._result = result
        self._size = size
        self._left = expected
        self._times = times
        self._documents: list[Document] = []
        self._done: Future[Results]
        self._answer: Awaitable[Results]

    async def __call__(self, document: Document) -> Made | Fault:
        """What became of the document."""
        if self._size == 1:
            done = self._offload.submit(Task((document,), self._times))
            return (done.result() if done.done() else await self._result(done))[0]
        if not self._documents:
            self._done = Future()
            self._answer = self._result(self._done)  # one for all: to chain futures is what costs most
        place, answer = len(self._documents), self._answer
        self._documents.append(document)
        self._left -= 1
        if len(self._documents) == self._size or not self._left:
            self._hand_over()
        return (await answer)[place]

    def _hand_over(self) -> None:
        documents, done = tuple(self._documents), self._done
        self._documents = []

        def deliver(answer: "Future[Results]") -> None:
            if (error := answer.exception()) is None:
                done.set_result(answer.result())
            else:
                done.set_exception(error)

        self._offload.submit(Task(documents, self._times)).add_done_callback(deliver)
