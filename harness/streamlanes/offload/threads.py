"""Threads of the cell's own process, as `run_in_executor` has them."""

from concurrent.futures import Future, ThreadPoolExecutor

from streamlanes.backends.threads import fill
from streamlanes.cpu.base import Kernel
from streamlanes.offload.base import Results, Staff, Task
from streamlanes.offload.work import Worker
from streamlanes.samples import Table


class Threads:
    """A pool of staff.workers threads that share one kernel."""

    def __init__(self, kernel: Kernel, samples: Table, staff: Staff) -> None:
        self._worker = Worker(kernel, samples)
        self._workers = staff.workers
        self._executor = ThreadPoolExecutor(staff.workers, "offload")

    def open(self) -> None:
        """Every thread started and idle."""
        fill(self._executor, self._workers)

    def submit(self, task: Task) -> "Future[Results]":
        """The task in the next free thread."""
        return self._executor.submit(self._worker.run, task)

    def facts(self) -> dict[str, object]:
        """How many there are."""
        return {"offload_workers": self._workers}

    def close(self) -> None:
        """What has not begun is dropped."""
        self._executor.shutdown(cancel_futures=True)
