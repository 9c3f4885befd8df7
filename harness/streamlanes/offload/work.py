"""What a worker does, wherever it runs: documents through the kernel, each stamped as it goes.

The stamps stand in the shared samples, so that they are there of a worker that died: a document with
a begin and no end is the one it died at.
"""

import os
import threading
import time

from streamlanes.cpu.base import Kernel, packed, shape_of
from streamlanes.cpu.blas import told
from streamlanes.offload.base import Document, Fault, Made, Results, Task
from streamlanes.samples import Table

now_ns = time.perf_counter_ns
_MESSAGE_CHARACTERS = 300


class Worker:
    """A kernel and the table it stamps. Columns of a document: kernel_begin and kernel_end
    (CLOCK_MONOTONIC ns), kernel_cpu (CPU of the thread in between, ns)."""

    def __init__(self, kernel: Kernel, samples: Table) -> None:
        self._kernel = kernel
        self._begin = samples["kernel_begin"]
        self._end = samples["kernel_end"]
        self._cpu = samples["kernel_cpu"]

    def run(self, task: Task) -> Results:
        """Every document's vector, or why it has none."""
        if task.echo_bytes is not None:
            return [Made(bytes(task.echo_bytes), (task.echo_bytes,)) for _ in task.documents]
        return [self._one(document, task.times) for document in task.documents]

    def _one(self, document: Document, times: int) -> Made | Fault:
        index, text = document
        kernel = self._kernel
        cpu_ns = time.thread_time_ns()
        self._begin[index] = now_ns()
        found: Made | Fault
        try:
            for _ in range(times):
                vector = kernel(text)
            shape = shape_of(vector)
            found = Made(packed(vector), shape)
        except BaseException as error:  # also a kernel that wants to exit: its document has failed
            found = Fault(told_of(error))
        self._end[index] = now_ns()
        self._cpu[index] = time.thread_time_ns() - cpu_ns
        return found


def told_of(error: BaseException) -> str:
    """Class and message in one line, also of an exception that cannot say its own."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be had)"
    return f"{type(error).__qualname__}: {' '.join(message.split())[:_MESSAGE_CHARACTERS]}"


_worker: Worker


def enter(kernel: Kernel, samples: Table) -> None:
    """A worker process' (or interpreter's) start: the kernel comes once, not with every task."""
    global _worker  # noqa: PLW0603  # a worker has one
    _worker = Worker(kernel, samples)


def run(task: Task) -> Results:
    """A task in such a worker."""
    return _worker.run(task)


def about(_: int = 0) -> dict[str, object]:
    """What a worker is: its process, the threads in it, how many BLAS was told to use."""
    return {"pid": os.getpid(), "threads": threading.active_count(), "blas_threads": told()}
