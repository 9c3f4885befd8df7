"""The CPU lane's figures, from facts whose answers are known."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from facts_made import MS, facts, schedule, timed
from streamlanes.cells import Axes, Cell
from streamlanes.facts import Facts, Missing
from streamlanes.lanes import lane
from streamlanes.lanes.cpu import Documents
from streamlanes.lanes.offloading import COLUMNS
from streamlanes.record import StatusName
from streamlanes.recording import record
from streamlanes.samples import Outcome

SAID = {
    "kernel": "hash-embed",
    "offload": "processes",
    "document_us": 2000.0,
    "transfer_us": 5.0,
    "offload_start_ms": 80.0,
    "batch": 4,
    "worker_deaths": 0,
    "blas_threads": 1,
    "documents_per_call": 1,
    "faults": {},
}
LOOKS = ({"alone_per_s": 100.0, "together_per_s": 180.0}, {"alone_per_s": 100.0, "together_per_s": 190.0})


def made(failed: int = 0, **changes: object) -> Facts:
    """Twenty documents in 20 ms, each 1.5 ms in its worker and 1.25 ms of its CPU."""
    plan = schedule(20)
    base = timed(plan, with_provider=False)
    at = np.full(20, 10_000 * MS)
    outcome = np.full(20, int(Outcome.OK))
    outcome[:failed] = Outcome.JOB_ERROR
    calls = replace(base.calls, begin=at, end=at + 20 * MS, outcome=outcome)
    own = {name: np.zeros(20, np.int64) for name in COLUMNS}
    own |= {"kernel_begin": at, "kernel_end": at + 3 * MS // 2, "kernel_cpu": np.full(20, 5 * MS // 4)}
    own |= {"digest": np.arange(1, 21), "back": at, "fault": (outcome != Outcome.OK).astype(np.int64)}
    own["digest"][:failed] = 0
    pass_changes = {"calls": calls, "own": own, "interpreter": SAID, "beside": LOOKS, **changes}
    return facts(plan, timed=replace(base, **pass_changes))


def figure(of: Facts, path: str) -> object:
    (metric,) = [each for each in lane("cpu").metrics if each.path == path]
    return metric.of(Documents(of))


def test_throughput_speed_up_and_ceiling():
    found = made()
    assert figure(found, "work.per_s") == pytest.approx(1000)
    assert figure(found, "cpu.speedup") == pytest.approx(2.0), "one worker does 500 a second"
    assert figure(found, "cpu.ceiling") == pytest.approx(1.85)
    assert figure(found, "cpu.ceiling_spread") == pytest.approx(0.1 / 1.85)
    assert figure(found, "cpu.of_ceiling") == pytest.approx(2.0 / 1.85)
    assert figure(found, "cpu.kernel_us") == pytest.approx(1500)
    assert figure(found, "cpu.kernel_cpu_us") == pytest.approx(1250)


def test_nothing_is_held_against_a_ceiling_that_moves():
    shaky = (LOOKS[0], {"alone_per_s": 100.0, "together_per_s": 140.0})
    found = figure(made(beside=shaky), "cpu.of_ceiling")
    assert isinstance(found, Missing)
    assert "inconclusive" in found.reason
    assert isinstance(figure(made(beside=()), "cpu.of_ceiling"), Missing)


def test_documents_that_failed_are_not_done():
    found = made(failed=5)
    assert figure(found, "counts.ok") == figure(found, "work.done") == 15
    assert figure(found, "counts.job_error") == figure(found, "cpu.faults") == 5
    assert figure(found, "work.per_s") == pytest.approx(750)
    assert figure(found, "cpu.digest") == Missing("5 documents lack a vector")


def test_a_digest_is_of_all_vectors_in_their_order():
    one = made()
    turned = replace(one, timed=replace(one.timed, own={**one.timed.own, "digest": np.arange(20, 0, -1)}))
    assert figure(one, "cpu.digest") != figure(turned, "cpu.digest")


def test_a_cell_that_was_stopped_has_no_figures_and_says_why():
    stopped = replace(made(interpreter={}), drained=False)
    for path in ("work.per_s", "cpu.speedup", "cpu.transfer_us", "cpu.worker_deaths", "time.wall_s"):
        assert isinstance(figure(stopped, path), Missing), path


def test_the_record_has_its_own_group_and_no_flag_of_streams():
    what = Cell(
        lane="cpu", backend="asyncio", client="none", workload="documents", calls=20,
        axes=Axes(offload="processes"),
    )  # fmt: skip
    found = record(what, lane("cpu"), {}, made())
    assert found.status.name is StatusName.OK
    assert found.cpu["batch"] == 4
    assert found.latency == {}
    assert "mixed" not in msgspec.to_builtins(found)
    assert found.flags == []
    assert lane("cpu").answer is not None
    (line,) = lane("cpu").answer([found])
    assert line == ("CPU     hash-embed under asyncio, 20 documents: processes 2.00x, of 1.85x possible here")
