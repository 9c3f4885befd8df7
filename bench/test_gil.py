"""Whether each kernel lets other threads run: two threads against one, and what a third one sees.

A kernel that gives up the GIL for its work does twice as much in two threads (as far as this machine
lets two processes do so), and a thread beside it that sleeps a millisecond wakes up on time. One that
holds the GIL does no more, and the sleeper waits for the switch interval.
"""

import threading
import time
from collections.abc import Callable
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.cpu import KERNELS, open_kernel
from streamlanes.cpu.texts import Texts
from timing import Note

WORDS, ROUND_S, NAP_S = 500, 0.5, 0.001

pytestmark = pytest.mark.usefixtures("awake")


def rate(work: Callable[[], object], threads: int, seconds: float) -> float:
    """How often all threads together did the work, a second."""
    counts = [0] * threads
    begin = threading.Barrier(threads + 1)
    until = [0.0]

    def turn(which: int) -> None:
        begin.wait()
        while time.perf_counter() < until[0]:
            work()
            counts[which] += 1

    running = [threading.Thread(target=turn, args=(which,)) for which in range(threads)]
    for each in running:
        each.start()
    until[0] = time.perf_counter() + seconds
    begin.wait()
    for each in running:
        each.join()
    return sum(counts) / seconds


def naps_ms(work: Callable[[], object], seconds: float) -> list[float]:
    """How much later than asked a sleep of NAP_S ended, while another thread works."""
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            work()

    worker = threading.Thread(target=turn)
    worker.start()
    late = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        time.sleep(NAP_S)
        late.append((time.perf_counter() - began - NAP_S) * 1000)
    over.set()
    worker.join()
    return late


@pytest.mark.parametrize("name", KERNELS)
def test_gil(benchmark: BenchmarkFixture, note: Note, name: str):
    kernel, text = open_kernel(name), Texts(1).document(0, WORDS)
    seconds = ROUND_S if benchmark.enabled else 0.01
    kernel(text)
    pairs = [
        (rate(lambda: kernel(text), 1, seconds), rate(lambda: kernel(text), 2, seconds)) for _ in range(3)
    ]
    late = sorted(naps_ms(lambda: kernel(text), seconds))
    benchmark.pedantic(kernel, args=(text,), rounds=20 if benchmark.enabled else 1)
    note(
        two_threads=round(median(both / one for one, both in pairs), 2),
        nap_late_p50_ms=round(median(late), 2),
        nap_late_p99_ms=round(late[int(0.99 * (len(late) - 1))], 2),
    )
