"""Whether this kernel charges network work in soft interrupts to the process it runs under.

With IRQ_TIME_ACCOUNTING the kernel takes that time out of the processes' clocks and counts it for the
host alone; without, it is in the clocks already. Nothing in /proc says which, so it is tried.
"""

import socket
import time
from collections.abc import Callable

_WINDOW_NS = 20_000_000
_TRIES = 5
_APART = 0.05
"""How much lower the CPU share of network work must be than that of plain work. Loopback spends a
fifth of its time and more in soft interrupts."""


def charged_apart() -> bool:
    """Compare the CPU clock with the wall, for plain work and for loopback traffic; takes 0.2 s.

    The best of several windows each: other load takes wall time from both. False where it cannot be
    tried.
    """
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            one = socket.create_connection(server.getsockname())
            other, _ = server.accept()
    except OSError:
        return False
    data = bytes(4096)

    def exchange() -> None:
        one.sendall(data)
        other.recv(len(data), socket.MSG_WAITALL)

    with one, other:
        best_plain = max(_cpu_share(_plain) for _ in range(_TRIES))
        best_network = max(_cpu_share(exchange) for _ in range(_TRIES))
    return best_plain - best_network > _APART


def _plain() -> None:
    sum(range(500))


def _cpu_share(work: Callable[[], None]) -> float:
    wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
    while (took_ns := time.perf_counter_ns() - wall_ns) < _WINDOW_NS:
        work()
    return (time.thread_time_ns() - cpu_ns) / took_ns
