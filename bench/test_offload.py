"""What handing a document over costs, beside the kernel's own time; and processes against the ceiling.

Held to: the lane's own machinery at most 5 % of hash-embed's time at the default document size;
hash-embed through processes at least 0.9 of the ceiling, unless that spreads over 10 %. Only the
accounts are asserted.
"""

import asyncio
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from real import bench_of
from streamlanes.cells import Axes, Cell
from streamlanes.clients.base import Setting
from streamlanes.jobs.cpu import CpuJob
from streamlanes.lanes.cpu import LANE
from streamlanes.pass_tables import Tables
from streamlanes.process import Bench
from streamlanes.recording import record
from streamlanes.workload import build, resolve
from timing import Note, ns_each

DOCUMENTS = 1000
WORDS = 500

pytestmark = pytest.mark.usefixtures("awake", "importable")


@pytest.fixture(scope="module")
def bench(importable: None) -> Iterator[Bench]:
    made = bench_of(LANE)
    yield made
    made.close()


def cell(kernel: str, offload: str, calls: int) -> Cell:
    axes = Axes(kernel=kernel, offload=offload, tokens=WORDS)
    return Cell(
        lane="cpu",
        backend="asyncio",
        client="none",
        workload="documents",
        calls=calls,
        axes=axes,
        memory=False,
    )


def nothing(text: str) -> list[float]:
    """A kernel without work, whose vector is as long as hash-embed's."""
    return [0.0] * 256


def test_machinery_inline(benchmark: BenchmarkFixture, note: Note):
    """Documents through job, batch and offload without any work."""
    calls = DOCUMENTS if benchmark.enabled else 10
    tables = Tables(build(resolve("documents", calls, {"tokens": WORDS}), calls), LANE.columns)
    setting = {
        "kernel": "test_offload:nothing",
        "offload": "inline",
        "workers": 1,
        "waits": "async",
        "seed": 1,
    }
    job = CpuJob(Setting(tables.schedule, (), False), tables.calls, None, **setting, batch=1)
    job.prepare()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for call in range(calls):
                group.create_task(job(call))

    benchmark.pedantic(lambda: asyncio.run(main()), rounds=10 if benchmark.enabled else 1)
    assert not job.facts()["faults"]
    note(ns_a_document=ns_each(benchmark, calls))
    job.release()
    tables.close()


@pytest.mark.parametrize("offload", ["inline", "threads", "processes"])
def test_machinery_of_a_cell(benchmark: BenchmarkFixture, note: Note, bench: Bench, offload: str):
    """CPU of the whole tree over the kernel's own, in real cells."""
    calls = DOCUMENTS if benchmark.enabled else 10
    what = cell("hash-embed", offload, calls)
    made = benchmark.pedantic(lambda: record(what, LANE, {}, bench.measure(what)), rounds=1)
    assert made.counts["ok"] == calls
    note(
        cpu_over_kernel=round(made.work["cpu_us_per_unit"] / made.cpu["kernel_cpu_us"], 4),
        transfer_us=round(made.cpu["transfer_us"], 2),
        batch=made.cpu["batch"],
        speedup=round(made.cpu["speedup"], 3),
        ceiling=round(made.cpu["ceiling"], 3),
        of_ceiling=made.cpu["of_ceiling"] and round(made.cpu["of_ceiling"], 3),
        flags=sorted(flag.name.value for flag in made.flags),
    )
