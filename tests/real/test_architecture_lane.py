"""The architectures as cells of the durable lane, real and small; a retry storm."""

from collections.abc import Iterator

import pytest

from streamlanes.cells import Axes, Cell
from streamlanes.durable.architectures import ARCHITECTURES
from streamlanes.lanes.durable import LANE
from streamlanes.process import Bench
from streamlanes.provider.behaviour import Behaviour
from streamlanes.record import Record, StatusName
from streamlanes.recording import record

EXECUTIONS, STEPS = 6, 20


@pytest.fixture(scope="module")
def durable_bench() -> Iterator[Bench]:
    made = Bench(LANE, 128)
    yield made
    made.close()


def measured(bench: Bench, client: str = "none", provider: Behaviour | None = None, **axes: object) -> Record:
    workload = "documents" if client == "none" else "paced"
    cell = Cell(
        lane="durable",
        backend="asyncio",
        client=client,
        workload=workload,
        calls=EXECUTIONS,
        axes=Axes(**axes),
        provider=provider,
        budget_s=60,
    )
    return record(cell, LANE, {}, bench.measure(cell))


def whole(made: Record) -> None:
    """Every step is kept and counted once."""
    assert made.status.name is StatusName.OK
    assert made.errors == {}
    assert made.counts["ok"] == EXECUTIONS
    assert made.work["done"] == EXECUTIONS * STEPS
    assert made.durable["lost"] == made.durable["duplicated"] == made.durable["redone"] == 0


@pytest.mark.parametrize("name", [name for name, info in ARCHITECTURES.items() if "sqlite" in info.stores])
def test_every_step_is_kept_under_every_architecture(durable_bench: Bench, name: str):
    made = measured(durable_bench, architecture=name, store="sqlite-normal", steps=STEPS)
    whole(made)
    assert made.interpreter["architecture"] == name
    assert made.interpreter["requests"] >= EXECUTIONS * STEPS


def test_the_rows_behind_their_app(durable_bench: Bench):
    made = measured(durable_bench, architecture="rows", store="postgres", steps=STEPS)
    whole(made)
    assert made.interpreter["conflicts"] >= EXECUTIONS
    assert {"fastapi", "uvicorn"} <= set(made.interpreter["modules"])


def test_a_storm_takes_more_calls_than_steps_and_backoff_takes_fewer(durable_bench: Bench):
    """Six executions that want thirty calls a second of a provider that lets six through."""
    asked = {"store": "sqlite-normal", "run_s": 1.5, "tokens": 2, "ttft_ms": 100, "ramp_s": 0.1}
    calls = {}
    for retry in ("at-once", "backoff"):
        made = measured(
            durable_bench,
            "streams",
            Behaviour(limit_per_s=6),
            architecture="queue",
            retry=retry,
            **asked,
        )
        assert made.status.name is StatusName.OK
        assert made.durable["lost"] == made.durable["duplicated"] == 0
        calls[retry] = made.durable["calls_per_step"]
    assert calls["at-once"] > calls["backoff"] >= 1
