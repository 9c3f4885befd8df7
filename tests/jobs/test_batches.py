"""Batches: how documents are put together, and that each gets its own result back."""

import asyncio
from concurrent.futures import Future

import pytest

from streamlanes.jobs import waits_async, waits_blocking
from streamlanes.jobs.batches import Batches
from streamlanes.offload.base import Made, Results, Task


class Echo:
    """Answers later, when told to, with each document's own text."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Task, Future[Results]]] = []

    def open(self) -> None: ...

    def submit(self, task: Task) -> "Future[Results]":
        done: Future[Results] = Future()
        self.tasks.append((task, done))
        return done

    def facts(self) -> dict[str, object]:
        return {}

    def close(self) -> None: ...

    def answer(self) -> None:
        for task, done in self.tasks:
            done.set_result([Made(text.encode(), (index,)) for index, text in task.documents])


@pytest.mark.parametrize(
    ("count", "size", "sizes"), [(10, 4, [4, 4, 2]), (8, 4, [4, 4]), (3, 5, [3]), (3, 1, [1, 1, 1])]
)
def test_each_document_gets_its_own_result(count: int, size: int, sizes: list[int]):
    async def main() -> None:
        offload = Echo()
        batches = Batches(offload, waits_async.result, size=size, expected=count, times=2)
        waiting = [asyncio.ensure_future(batches((index, f"text {index}"))) for index in range(count)]
        await asyncio.sleep(0)
        assert [len(task.documents) for task, _ in offload.tasks] == sizes, "nothing waits for a clock"
        assert {task.times for task, _ in offload.tasks} == {2}
        offload.answer()
        found = await asyncio.gather(*waiting)
        assert found == [Made(f"text {index}".encode(), (index,)) for index in range(count)]

    asyncio.run(main())


def test_what_an_offload_raises_reaches_every_document_of_the_batch():
    async def main() -> None:
        offload = Echo()
        batches = Batches(offload, waits_async.result, size=2, expected=2, times=1)
        waiting = [asyncio.ensure_future(batches((index, ""))) for index in range(2)]
        await asyncio.sleep(0)
        offload.tasks[0][1].set_exception(RuntimeError("gone"))
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [str(each) for each in found] == ["gone", "gone"]

    asyncio.run(main())


def test_a_blocking_wait_never_yields():
    done: Future[int] = Future()
    done.set_result(7)
    waiting = waits_blocking.result(done)
    with pytest.raises(StopIteration) as stop:
        waiting.send(None)
    assert stop.value.value == 7
