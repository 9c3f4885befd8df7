"""Every fault at once, in one cell: each call ends in the one outcome that its fault has."""

from collections import Counter

import pytest

from fault_outcomes import OUTCOMES
from streamlanes.cells import Axes, Cell
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault, fault_of
from streamlanes.record import Record, StatusName
from streamlanes.recording import record
from streamlanes.samples import Outcome

CALLS = 200
TOKENS = 6
SHARE = 0.055


def measured(bench: Bench, backend: str, client: str, behaviour: Behaviour, **axes: object) -> Record:
    tiny = {"ttft_ms": 20.0, "gap_ms": 10.0, "tokens": float(TOKENS), **axes}
    what = Cell(
        lane="io",
        backend=backend,
        client=client,
        workload="lesson",
        calls=CALLS,
        axes=Axes(**tiny),
        budget_s=60,
        provider=behaviour,
        memory=False,
    )
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize(
    ("backend", "client", "tls"),
    [
        ("asyncio", "streams", False),
        ("uvloop", "floor", True),
        ("threads", "streams", True),
        ("threads", "floor", False),
    ],
)
def test_each_call_ends_as_its_fault_says(bench: Bench, backend: str, client: str, tls: bool):
    behaviour = Behaviour(
        faults=dict.fromkeys(Fault, SHARE), slow_headers_ms=100, stall_ms=100, long_line_bytes=50_000
    )
    faults = Counter(fault_of(1, call, behaviour.faults) for call in range(CALLS))
    assert set(faults) == {None, *Fault}, "every fault is met"
    made = measured(bench, backend, client, behaviour, tls=tls)
    assert made.status.name is StatusName.OK
    wanted: Counter[Outcome] = Counter()
    for fault, calls in faults.items():
        wanted[OUTCOMES.get(fault, Outcome.OK)] += calls
    assert {how: made.counts[how.name.lower()] for how in Outcome} == {how: wanted[how] for how in Outcome}
    assert sum(wanted.values()) == made.counts["started"] == made.provider["requests"]
    del faults[None]
    assert made.provider["faults"] == {fault.value: calls for fault, calls in faults.items()}
    assert made.cell.provider["faults"] == dict.fromkeys(map(str, Fault), SHARE)
    assert made.counts["lost_tokens"] == made.counts["extra_tokens"] == 0


def test_a_memory_pass_has_no_faults(bench: Bench):
    what = Cell(
        lane="io",
        backend="asyncio",
        client="streams",
        workload="lesson",
        calls=8,
        axes=Axes(ttft_ms=20.0, gap_ms=10.0, tokens=4.0),
        budget_s=60,
        provider=Behaviour(faults={Fault.RESET: 1.0}),
    )
    made = record(what, LANE, {}, bench.measure(what))
    assert made.counts["reset"] == 8
    assert made.memory["held_calls"] == 8
