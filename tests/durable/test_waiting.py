"""Executions that wait: what ten thousand of them hold."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint_async
from streamlanes.durable.sqlite import SQLite, Synchronous

MANY = 10_000
OPENED_LATER = 4
"""Descriptors of the store's connections that are not opened before they are first used."""


def held(loop: asyncio.AbstractEventLoop) -> dict[str, int]:
    """Threads and descriptors of this process, timers of the loop."""
    return {
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "timers": len(loop._scheduled),
    }


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="not tested: the system does not list descriptors"
)
def test_ten_thousand_waiting_executions_hold_no_thread_connection_or_timer(tmp_path: Path):
    """Each has its lease and is in the middle of its first step; one more costs memory alone."""
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL)
    worker = Worker(database, lease_s=600.0)

    async def all_of_them() -> list[dict[str, int]]:
        loop, never, waiting = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        inside = 0

        async def agent(state: object, step: Step) -> object:
            nonlocal inside
            inside += 1
            if inside in {1, MANY}:
                waiting.set()
            await never.wait()
            return Last(None)

        async def more(names: range) -> dict[str, int]:
            waiting.clear()
            runs.extend(
                loop.create_task(run_with_checkpoint_async(agent, f"e{number}", worker)) for number in names
            )
            await waiting.wait()
            return held(loop)

        runs: list[asyncio.Task[object]] = []
        found = [await more(range(1)), await more(range(1, MANY))]
        assert worker.leases.standing() == inside == MANY
        worker.close()
        database.close()  # so that nobody gives 10,000 leases back
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        return found

    one, many = asyncio.run(all_of_them())
    assert (many["threads"], many["timers"]) == (one["threads"], one["timers"]) == (one["threads"], 0)
    assert many["descriptors"] <= one["descriptors"] + OPENED_LATER
