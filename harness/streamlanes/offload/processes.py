"""Worker processes: each a ProcessPoolExecutor of one, so that a death costs one document.

A pool of many is broken as a whole when one of its processes dies, and does not say at what. Here the
stamps say which document the worker died at: it alone fails, what was handed over with it goes to a
new worker. Deaths in a row, and deaths in all, are bounded; then everything left fails at once.
"""

import multiprocessing
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from streamlanes.cpu.base import Kernel
from streamlanes.offload import work
from streamlanes.offload.base import Fault, Made, Results, Staff, Task
from streamlanes.offload.work import told_of
from streamlanes.samples import Table

AHEAD = 2
"""Tasks a worker has at once: one it works on, and one so that it need not wait for the next."""
MOST_IN_A_ROW = 5
MOST_DEATHS = 100
"""Workers that may die without a document done in between, and in all, before the rest is given up."""


@dataclass(eq=False)
class _Order:
    """A task on its way: results so far by place, and the places still to do."""

    task: Task
    done: "Future[Results]"
    results: dict[int, Made | Fault] = field(default_factory=dict)

    @property
    def left(self) -> list[int]:
        """Places without a result."""
        return [place for place in range(len(self.task.documents)) if place not in self.results]

    def rest(self) -> Task:
        """What still has to be done."""
        return replace(self.task, documents=tuple(self.task.documents[place] for place in self.left))

    def finish(self) -> None:
        """Hand back the results; every place has one."""
        self.done.set_result([self.results[place] for place in range(len(self.task.documents))])


@dataclass(eq=False)
class _Slot:
    """One worker and how many orders it has."""

    executor: ProcessPoolExecutor
    orders: int = 0


class Processes:
    """staff.workers processes. Orders go to whoever has fewest, up to AHEAD each."""

    def __init__(self, kernel: Kernel, samples: Table, staff: Staff) -> None:
        self._start = (kernel, samples)
        self._samples = samples
        self._context = multiprocessing.get_context(staff.start_method)
        self._lock = threading.RLock()
        self._waiting: deque[_Order] = deque()
        self._slots = [self._worker() for _ in range(staff.workers)]
        # Kept until the end: from Python 3.12 on, until 3.12.8 and 3.13.1, an executor that is collected in
        # its own thread, which ends it when it is broken, waits there for a lock of that thread.
        self._dead: list[_Slot] = []
        self._about: dict[str, object] = {}
        self._deaths = 0
        self._in_a_row = 0

    def _worker(self) -> _Slot:
        return _Slot(ProcessPoolExecutor(1, self._context, initializer=work.enter, initargs=self._start))

    def open(self) -> None:
        """Every worker started, its kernel loaded."""
        asked = [slot.executor.submit(work.about) for slot in self._slots]
        try:
            self._about, *_ = [each.result() for each in asked]  # all are made alike
        except Exception as error:  # the pool's own words say only that it is broken
            self.close()
            raise RuntimeError(f"a worker process does not come up ({told_of(error)})") from None

    def submit(self, task: Task) -> "Future[Results]":
        """The task in the next free worker."""
        order = _Order(task, Future())
        with self._lock:
            self._waiting.append(order)
            self._deal()
        return order.done

    def _deal(self) -> None:
        """Give waiting orders to workers that have room."""
        while self._waiting:
            if self._given_up:
                self._give_up(self._waiting.popleft())
                continue
            slot = min(self._slots, key=lambda each: each.orders)
            if slot.orders >= AHEAD:
                return
            order = self._waiting.popleft()
            try:
                answer = slot.executor.submit(work.run, order.rest())
            except RuntimeError:  # it died since; what it had comes back through `_ended`
                self._waiting.appendleft(order)
                self._replace(slot)
                continue
            slot.orders += 1
            answer.add_done_callback(partial(self._ended, order, slot))

    def _ended(self, order: _Order, slot: _Slot, answer: "Future[Results]") -> None:
        """An order came back, or its worker died. Called in a thread of that worker's executor."""
        if answer.cancelled():
            return  # everything is being closed
        if answer.exception() is None:
            self._settle(order, slot, answer.result())
        else:
            # In a thread of its own: from Python 3.12 on a broken executor holds its lock meanwhile, and
            # whoever hands over holds ours and waits for that one.
            threading.Thread(target=self._settle, args=(order, slot, None), daemon=True).start()

    def _settle(self, order: _Order, slot: _Slot, results: Results | None) -> None:
        """Take results in, or see to a death (None); then deal what is left."""
        with self._lock:
            slot.orders -= 1
            if results is None:
                self._replace(slot)
                self._blame(order)
            else:
                self._in_a_row = 0
                order.results.update(zip(order.left, results, strict=True))
            if order.left:
                self._waiting.appendleft(order)
            else:
                order.finish()
            self._deal()

    def _blame(self, order: _Order) -> None:
        """Find the document that a dead worker was at: it began and did not end. What was done before
        it is lost with the worker and done again."""
        begin, end = self._samples["kernel_begin"], self._samples["kernel_end"]
        for place in order.left:
            index = order.task.documents[place][0]
            if begin[index] and not end[index]:
                order.results[place] = Fault("WorkerDied: the worker process died at this document")
            elif end[index]:
                self._in_a_row = 1  # it came further than the one before
            begin[index] = end[index] = 0

    def _replace(self, slot: _Slot) -> None:
        """A new worker in a dead one's place, unless too many have died."""
        if slot not in self._slots:
            return  # its other order said so already
        self._slots.remove(slot)  # its executor is broken and ends by itself
        self._dead.append(slot)
        self._deaths += 1
        self._in_a_row += 1
        if not self._given_up:
            self._slots.append(self._worker())

    @property
    def _given_up(self) -> bool:
        return self._in_a_row >= MOST_IN_A_ROW or self._deaths >= MOST_DEATHS or not self._slots

    def _give_up(self, order: _Order) -> None:
        for place in order.left:
            order.results[place] = Fault(f"WorkerDied: given up after {self._deaths} dead workers")
        order.finish()

    def facts(self) -> dict[str, object]:
        """How many there are, how they started, how many died."""
        return {
            "offload_workers": len(self._slots),
            "start_method": self._context.get_start_method(),
            "blas_threads": self._about.get("blas_threads"),
            "worker_deaths": self._deaths,
        }

    def close(self) -> None:
        """What has not begun is dropped."""
        for slot in [*self._slots, *self._dead]:
            slot.executor.shutdown(cancel_futures=True)
