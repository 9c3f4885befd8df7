"""Interpreters of the cell's own process, each with a GIL of its own: Python 3.14 and later.

Written after the documentation and not run by us: no Python 3.14 was at hand. Kernels whose libraries
refuse to load in a subinterpreter (numpy among them, as of this writing) end the cell as `crashed` with
that library's own words.
"""

from concurrent.futures import Future

from streamlanes.cpu.base import Kernel
from streamlanes.offload import work
from streamlanes.offload.base import Results, Staff, Task
from streamlanes.samples import Table


class Interpreters:
    """A pool of staff.workers interpreters, each in a thread of its own."""

    def __init__(self, kernel: Kernel, samples: Table, staff: Staff) -> None:
        from concurrent.futures import InterpreterPoolExecutor  # type: ignore[attr-defined]  # 3.14

        self._workers = staff.workers
        self._executor = InterpreterPoolExecutor(
            staff.workers, initializer=work.enter, initargs=(kernel, samples)
        )

    def open(self) -> None:
        """Every interpreter up: each one is asked who it is, as often as there are workers."""
        for waiting in [self._executor.submit(work.about, which) for which in range(self._workers)]:
            waiting.result()

    def submit(self, task: Task) -> "Future[Results]":
        """The task in the next free interpreter."""
        done: Future[Results] = self._executor.submit(work.run, task)
        return done

    def facts(self) -> dict[str, object]:
        """How many there are."""
        return {"offload_workers": self._workers}

    def close(self) -> None:
        """What has not begun is dropped."""
        self._executor.shutdown(cancel_futures=True)
