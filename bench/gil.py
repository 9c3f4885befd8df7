"""What a kernel does with the GIL, measured in a process of its own: `python bench/gil.py KERNEL SECONDS`.

A process of its own, because BLAS counts its threads when numpy is imported: here it has one, as in the
workers. Prints one JSON object: what two threads get done over what one does, and how much later than
asked a sleep of 1 ms ends in a thread beside one that works (ms).
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from statistics import median

from streamlanes.cpu import blas, open_kernel
from streamlanes.cpu.texts import Texts

WORDS, NAP_S, PAIRS = 500, 0.001, 5

Work = Callable[[], object]


def rate(work: Work, threads: int, seconds: float) -> float:
    """How often all threads together did the work, a second."""
    counts = [0] * threads
    begin = threading.Barrier(threads + 1)
    over = threading.Event()

    def turn(which: int) -> None:
        begin.wait()
        while not over.is_set():
            work()
            counts[which] += 1

    running = [threading.Thread(target=turn, args=(which,)) for which in range(threads)]
    for each in running:
        each.start()
    begin.wait()
    began = time.perf_counter()
    time.sleep(seconds)
    over.set()
    for each in running:
        each.join()
    return sum(counts) / (time.perf_counter() - began)


def naps_ms(work: Work, seconds: float) -> list[float]:
    """How much later than asked each sleep ended, while another thread works; ascending."""
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            work()

    worker = threading.Thread(target=turn)
    worker.start()
    late = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until or not late:
        time.sleep(NAP_S)
        late.append((time.perf_counter() - began - NAP_S) * 1000)
    over.set()
    worker.join()
    return sorted(late)


def main() -> None:
    """Measure the kernel that the command line names."""
    blas.one_thread()
    kernel, text, seconds = open_kernel(sys.argv[1]), Texts(1).document(0, WORDS), float(sys.argv[2])

    def work() -> object:
        return kernel(text)

    work()
    pairs = [(rate(work, 1, seconds), rate(work, 2, seconds)) for _ in range(PAIRS)]
    late = naps_ms(work, 2 * seconds)
    print(
        json.dumps(
            {
                "document_us": round(1e6 / median(one for one, _ in pairs)),
                "two_threads": round(median(both / one for one, both in pairs), 2),
                "nap_late_p50_ms": round(median(late), 2),
                "nap_late_p99_ms": round(late[int(0.99 * (len(late) - 1))], 2),
            }
        )
    )


if __name__ == "__main__":
    main()
