"""The store's speed: group commit beside a commit a step, acknowledgements, bytes, growth.

Held to, in one run, 100 executions of 1 KB steps on SQLite FULL: group commit at least 8 times a commit
a step, 30 times with 2 ms added to each sync; acknowledgement p99 at most 10 ms without; 1,000
executions no slower; at most 9 bytes written for a useful one; an append at the millionth row at most
1.5 times one at the thousandth. Only the counts are asserted.
"""

import asyncio
import gc
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.leases import Leases
from streamlanes.durable.looping import Looping
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.values import Checkpoint, Lease
from streamlanes.durable.vfs import Unavailable, Watch
from streamlanes.durable.writer import GROUP
from streamlanes.local_postgres import postgres
from timing import Note

STATE = b'"' + b"x" * 1022 + b'"'
SYNC_MS = 2.0


@dataclass
class Load:
    """Executions on one store, all at once in one event loop."""

    database: Database
    executions: int
    steps: int = 0
    acks_ms: list[float] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)

    def __post_init__(self) -> None:
        leases = Leases(self.database)
        claims = [leases.claim(f"e{number}", "bench", 3600.0) for number in range(self.executions)]
        self.leases = [found.lease for claim in claims if (found := claim.result())]

    def run(self, steps: int) -> float:
        """Append so many steps to each execution; returns the steps a second of all."""
        began = time.perf_counter()
        asyncio.run(self._all(steps))
        took_s = time.perf_counter() - began
        self.steps += steps
        return self.executions * steps / took_s

    async def _all(self, steps: int) -> None:
        store, waits = Checkpoints(self.database), Looping()
        await asyncio.gather(*(self._one(store, waits, lease, steps) for lease in self.leases))

    async def _one(self, store: Checkpoints, waits: Looping, lease: Lease, steps: int) -> None:
        for step in range(self.steps, self.steps + steps):
            began = time.perf_counter()
            await waits.result(store.append(lease, Checkpoint(lease.thread_id, step, STATE)))
            self.acks_ms.append((time.perf_counter() - began) * 1000)


def p(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)


def written_bytes() -> int:
    """Bytes this process gave to write calls; the log's index is mapped memory and not among them."""
    text = Path("/proc/self/io").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("wchar")))


def fsync_us(folder: Path) -> float:
    """This machine's fsync after a page of writing, median."""
    took = []
    with open(folder / "fsync", "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            began = time.perf_counter_ns()
            os.fsync(file.fileno())
            took.append((time.perf_counter_ns() - began) / 1000)
    return round(median(took), 1)


@pytest.fixture(autouse=True)
def own_heap() -> Iterator[None]:
    """Collections look at what a test makes, and not at the test runner's heap too: one of those takes as
    long as several commits."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def watch_of() -> Iterator[object]:
    def made(delay_ms: float) -> Watch:
        try:
            return Watch(delay_ms / 1000)
        except Unavailable as why:
            pytest.skip(f"syncs cannot be delayed here: {why}")

    return made


@pytest.mark.parametrize("added_ms", [0.0, SYNC_MS])
def test_group_commit(benchmark: BenchmarkFixture, note: Note, tmp_path: Path, watch_of, added_ms: float):
    together, alone = (200, 40) if added_ms == 0 else (200, 5)
    if not benchmark.enabled:
        together = alone = 2
    watch = watch_of(added_ms)
    grouped = SQLite(tmp_path / "grouped.db", vfs=watch.name)
    single = SQLite(tmp_path / "single.db", group=1, vfs=watch.name)
    many, few = Load(grouped, 100), Load(single, 100)
    rates: dict[str, list[float]] = {"grouped": [], "single": []}

    def both() -> None:
        rates["grouped"].append(many.run(together))
        rates["single"].append(few.run(alone))

    syncs = watch.syncs
    benchmark.pedantic(both, rounds=3 if benchmark.enabled else 1)
    ratios = [one / other for one, other in zip(rates["grouped"], rates["single"], strict=True)]
    note(
        fsync_us=fsync_us(tmp_path),
        added_ms=added_ms,
        grouped_steps_per_s=round(median(rates["grouped"])),
        single_steps_per_s=round(median(rates["single"])),
        ratio=round(median(ratios), 1),
        grouped_ack_p50_ms=p(many.acks_ms, 0.5),
        grouped_ack_p99_ms=p(many.acks_ms, 0.99),
        syncs=watch.syncs - syncs,
        largest_group=grouped.counts.largest,
    )
    assert len(Checkpoints(grouped).history("e99")) == many.steps
    assert single.counts.largest == 1
    grouped.close()
    single.close()


def test_a_thousand_executions_and_bytes_written(benchmark: BenchmarkFixture, note: Note, tmp_path: Path):
    steps = 200 if benchmark.enabled else 2
    hundred, thousand = (
        Load(SQLite(tmp_path / f"{count}.db"), count)
        for count in ((100, 1000) if benchmark.enabled else (3, 5))
    )
    rates: dict[str, list[float]] = {"hundred": [], "thousand": []}
    before = written_bytes()
    useful = 0

    def both() -> None:
        nonlocal useful
        rates["hundred"].append(hundred.run(steps))
        rates["thousand"].append(thousand.run(max(1, steps // 10)))
        useful += (hundred.executions * steps + thousand.executions * max(1, steps // 10)) * len(STATE)

    benchmark.pedantic(both, rounds=3 if benchmark.enabled else 1)
    note(
        hundred_steps_per_s=round(median(rates["hundred"])),
        thousand_steps_per_s=round(median(rates["thousand"])),
        ratio=round(median(rates["thousand"]) / median(rates["hundred"]), 2),
        bytes_written_per_useful=round((written_bytes() - before) / useful, 2),
        thousand_ack_p99_ms=p(thousand.acks_ms, 0.99),
        group=GROUP,
    )
    for load in (hundred, thousand):
        assert len(Checkpoints(load.database).history("e1")) == load.steps
        load.database.close()


@pytest.mark.long
def test_an_append_at_the_millionth_row(benchmark: BenchmarkFixture, note: Note, tmp_path: Path):
    rows, early, sample = (1_000_000, 1_000, 1_000) if benchmark.enabled else (60, 20, 20)
    rounds = 15  # each of ten commits or so: one that meets the copying of the log says little of the table
    load = Load(SQLite(tmp_path / "s.db"), 100 if benchmark.enabled else 10)

    def timed(count: int) -> float:
        """Milliseconds an append, over `count` of them."""
        began = time.perf_counter()
        load.run(count // load.executions)
        return (time.perf_counter() - began) * 1000 / count

    load.run(early // load.executions)
    first, first_fsync_us = [timed(sample) for _ in range(rounds)], fsync_us(tmp_path)
    load.run((rows - load.steps * load.executions) // load.executions)
    last = benchmark.pedantic(lambda: [timed(sample) for _ in range(rounds)], rounds=1)
    note(
        thousandth_us=round(median(first) * 1000, 1),
        millionth_us=round(median(last) * 1000, 1),
        ratio=round(median(last) / median(first), 2),
        first_fsync_us=first_fsync_us,
        last_fsync_us=fsync_us(tmp_path),
    )
    load.database.close()


def test_postgres(benchmark: BenchmarkFixture, note: Note):
    pytest.importorskip("psycopg")
    from streamlanes.durable.postgres import Postgres

    with postgres() as server:
        grouped = Postgres(server.dsn, schema="grouped")
        single = Postgres(server.dsn, schema="single", group=1)
        many, few = (Load(one, 100 if benchmark.enabled else 3) for one in (grouped, single))
        rates: dict[str, list[float]] = {"grouped": [], "single": []}

        def both() -> None:
            rates["grouped"].append(many.run(100 if benchmark.enabled else 2))
            rates["single"].append(few.run(10 if benchmark.enabled else 2))

        benchmark.pedantic(both, rounds=3 if benchmark.enabled else 1)
        note(
            grouped_steps_per_s=round(median(rates["grouped"])),
            single_steps_per_s=round(median(rates["single"])),
            ratio=round(median(rates["grouped"]) / median(rates["single"]), 1),
            grouped_ack_p99_ms=p(many.acks_ms, 0.99),
            waiting_for_a_connection_us=round(grouped.counts.waiting_ns / grouped.counts.commits / 1000, 1),
        )
        for load in (many, few):
            assert len(Checkpoints(load.database).history("e1")) == load.steps
            load.database.close()
