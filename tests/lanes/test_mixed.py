"""The mixed lane's figures, from facts whose answers are known, and its answer, from made records."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from facts_made import MS, ORIGIN_NS, facts, schedule, timed
from streamlanes.facts import Facts, Missing, ProviderStamps
from streamlanes.lanes import lane
from streamlanes.lanes.mixed import calls_per_s
from streamlanes.lanes.mixed_calls import Mixed
from streamlanes.lanes.offloading import COLUMNS
from streamlanes.record import CellInfo, Flag, FlagName, Record, Status, StatusName
from streamlanes.workload import build, resolve

SAID = {"kernel": "hash-embed", "documents_per_call": 4, "batch": 1, "worker_deaths": 0}


def made(**changes: object) -> Facts:
    """Twenty calls of 81 tokens at 50 ms, each token 0.75 ms late; handed over at their end, 8 ms of CPU."""
    plan = schedule(20)
    base = timed(plan)
    handed = base.calls.end
    own = {name: np.zeros(20, np.int64) for name in COLUMNS}
    own |= {"handed": handed, "back": handed + 10 * MS, "kernel_cpu": np.full(20, 8 * MS)}
    return facts(plan, timed=replace(base, **{"own": own, "interpreter": SAID, **changes}))


def figure(of: Facts, path: str) -> Any:
    (metric,) = [each for each in lane("mixed").metrics if each.path == path]
    return metric.of(Mixed(of))


def test_only_tokens_due_beside_the_work_count():
    found = made()
    first, last = found.timed.own["handed"].min(), found.timed.own["back"].max()
    due = np.repeat(found.timed.provider.seen, 81) + found.timed.schedule.offset_ns
    assert figure(found, "mixed.lateness_ms.count") == int(((due >= first) & (due <= last)).sum()) > 0
    assert figure(found, "mixed.lateness_ms.p50") == pytest.approx(0.75)
    assert figure(found, "mixed.post_ms.p50") == pytest.approx(10)
    window_s = (last - first) / 1e9
    assert figure(found, "mixed.window_s") == pytest.approx(window_s)
    assert figure(found, "work.done") == 80
    assert figure(found, "work.per_s") == pytest.approx(80 / window_s)
    assert figure(found, "mixed.work_ms") == pytest.approx(8)
    assert figure(found, "mixed.cores") == pytest.approx(0.16 / window_s)


def test_a_call_is_on_time_if_all_its_tokens_are():
    found = made()
    assert figure(found, "mixed.on_time_share") == 1
    late = found.timed.calls.received.copy()
    late[5] += 60 * MS
    calls = replace(found.timed.calls, received=late)
    assert figure(made(calls=calls), "mixed.on_time_share") == pytest.approx(19 / 20)


def test_without_a_hand_over_there_is_no_window():
    own = {name: np.zeros(20, np.int64) for name in COLUMNS}
    for path in ("mixed.lateness_ms.p50", "work.per_s", "mixed.cores", "mixed.window_s"):
        assert isinstance(figure(made(own=own), path), Missing), path


def test_the_io_lanes_figures_are_there_too():
    paths = {metric.path for metric in lane("mixed").metrics}
    assert {metric.path for metric in lane("io").metrics} <= paths
    assert figure(made(), "latency.lateness_ms.p50") == pytest.approx(6.75)
    assert figure(made(), "counts.ok") == 20


def test_the_pace_is_that_of_the_arrivals():
    assert calls_per_s(build(resolve("flow", 41, {"ramp_s": 4.0}), 41)) == pytest.approx(10.25)
    assert calls_per_s(build(resolve("lesson", 41, {}), 41)) is None


def told(offload: str, load: float, p50: float, p99: float, **fields: Any) -> Record:
    axes = {"offload": offload, "load": load, "work_ms": load * 20, "kernel": "hash-embed", "switch_ms": 5.0}
    info = CellInfo(
        id=f"{offload}/{load}", lane="mixed", backend="asyncio", client="streams", workload="flow", calls=400,
        repetition=1, axes={**axes, "start_method": "fork" if offload == "processes" else None},
    )  # fmt: skip
    late = {"lateness_ms": {"p50": p50, "p99": p99}}
    return Record(**{"cell": info, "machine": {}, "status": Status(StatusName.OK), "mixed": late, **fields})


def answer(*records: Record) -> list[str]:
    assert lane("mixed").answer is not None
    return lane("mixed").answer(records)


def test_the_answer_ranks_the_ways_and_bounds_what_may_run_inline():
    first, second = answer(
        told("inline", 0.0, 0.5, 2.0),
        told("inline", 0.5, 4.0, 30.0),
        told("inline", 1.0, 60.0, 400.0),
        told("threads", 0.5, 5.0, 12.0),
        told("processes", 0.5, 0.75, 3.0),
        told("processes", 1.0, 0.8, 3.0),
    )
    assert first == (
        "MIXED   at 50 % of a core under asyncio, 400 calls, hash-embed, switch interval 5 ms: stream "
        "lateness p50 and p99 processes 0.75 and 3.0 ms, inline 4.0 and 30 ms, threads 5.0 and 12 ms"
    )
    assert second.endswith(": up to 10 ms of work a call kept stream lateness p99 under 50 ms, 20 ms did not")


def test_the_answer_says_where_nothing_is_short_enough_or_all_is():
    (_, line) = answer(told("inline", 0.5, 40.0, 90.0))
    assert line.endswith(": 10 ms did not keep stream lateness p99 under 50 ms")
    (_, line) = answer(told("inline", 0.5, 4.0, 9.0))
    assert line.endswith(": up to 10 ms of work a call kept stream lateness p99 under 50 ms")
    assert answer(told("inline", 0.0, 4.0, 9.0)) == []


def test_a_doubted_figure_is_said_to_be_one():
    noisy = told("threads", 0.5, 5.0, 12.0, flags=[Flag(FlagName.NOISY_HOST)])
    (line,) = answer(noisy)
    assert line.endswith("threads 5.0 and 12 ms (flagged)")
    clean = told("threads", 0.5, 4.0, 10.0)
    (line,) = answer(noisy, clean)
    assert line.endswith("threads 4.0 and 10 ms")


def test_the_origin_is_where_facts_begin():
    assert made().timed.own["handed"].min() > ORIGIN_NS


def test_a_token_that_never_came_is_not_in_time():
    received = made().timed.calls.received.copy()
    received[5] = 0
    calls = replace(made().timed.calls, received=received)
    assert figure(made(calls=calls), "mixed.on_time_share") == pytest.approx(19 / 20)


def test_own_code_whose_requests_have_no_mark_has_no_lateness_to_tell():
    nothing = np.zeros(20, np.int64)
    unseen = ProviderStamps(accepted=nothing, seen=nothing, sent=np.zeros(20 * 81, np.int64))
    own = replace(made(provider=unseen), own_code=True)
    for path in ("mixed.lateness_ms.p50", "mixed.on_time_share"):
        assert "mark" in figure(own, path).reason, path
    assert figure(own, "mixed.post_ms.p50") == pytest.approx(10)
    assert figure(own, "work.done") == 80


def test_clients_and_functions_are_answered_for_apart():
    one = told("inline", 0.5, 4.0, 9.0)
    (first, _, second, last) = answer(
        one, replace_cell(one, client="floor"), replace_cell(one, client="call", call="agent:answer")
    )[2:]
    assert " for floor under asyncio, 400 calls, " in first
    assert " for agent:answer under asyncio, 400 calls, " in second
    assert "inline for agent:answer under asyncio" in last


def replace_cell(record: Record, **fields: str) -> Record:
    return msgspec.structs.replace(record, cell=msgspec.structs.replace(record.cell, **fields))
