"""No offload: the work runs where the call runs, and what else runs there waits."""

from concurrent.futures import Future

from streamlanes.cpu.base import Kernel
from streamlanes.offload.base import Results, Staff, Task
from streamlanes.offload.work import Worker
from streamlanes.samples import Table


class Inline:
    """Runs a task at once, in the thread that hands it over."""

    def __init__(self, kernel: Kernel, samples: Table, staff: Staff) -> None:
        self._worker = Worker(kernel, samples)

    def open(self) -> None:
        """Nothing stands ready."""

    def submit(self, task: Task) -> "Future[Results]":
        """The task's results; it is over when this returns."""
        done: Future[Results] = Future()
        done.set_result(self._worker.run(task))
        return done

    def facts(self) -> dict[str, object]:
        """There are no workers to speak of."""
        return {}

    def close(self) -> None:
        """Nothing is left."""
