"""What the doctor asks and measures, from records and facts to figures."""

from typing import Any

import pytest

from facts_made import facts, host, timed
from facts_made import schedule as made_schedule
from records import LANE, MACHINE, record
from streamlanes import checkup as finds
from streamlanes import conduct, limits
from streamlanes.doctor import Grain, Noise, Others, RampUp
from streamlanes.errors import UserError
from streamlanes.facts import Facts, Missing
from streamlanes.record import FlagName, StatusName


def test_a_grain_is_the_timer_cells_own_lateness():
    late = {"p50": 0.2, "p99": 0.7, "early_share": 0.3, "count": 400}
    figures = {f"latency.client_ms.{member}": value for member, value in late.items()}
    assert finds.grain(record(client="timer", figures=figures)) == Grain(
        p50_ms=0.2, p99_ms=0.7, early_share=0.3, count=400
    )
    gone = finds.grain(record(client="timer", status=StatusName.UNSUPPORTED, reason="no uvloop"))
    assert gone == Missing("unsupported: no uvloop")


def test_noise_is_half_the_range_over_the_median_of_the_cells_that_ended_ok():
    metric = LANE.metrics[1]
    cells = [
        record(repetition=place, figures={metric.path: value}) for place, value in enumerate((40, 44, 42), 1)
    ]
    broken = record(repetition=4, status=StatusName.CRASHED, reason="out of memory")
    assert finds.noise([*cells, broken], metric) == Noise(
        median=42, unit="us", half_range_share=pytest.approx(2 / 42), repetitions=3
    )
    assert finds.noise([cells[0], broken], metric) == Missing(
        "two cells with the figure are needed, 1 had it: crashed: out of memory"
    )
    nothing = record(missing={metric.path: "no plateau"})
    assert finds.noise([nothing, nothing], metric) == Missing(
        "two cells with the figure are needed, 0 had it: no plateau"
    )
    flat = [record(repetition=place, figures={metric.path: 0.0}) for place in (1, 2)]
    assert finds.noise(flat, metric) == Missing("a median at or below 0 has no share")


SECOND = 10**9


def cell_facts(**reading: int | None) -> Facts:
    """A cell in which we took 2 s of 20."""
    plan = made_schedule()
    return facts(plan, timed=timed(plan, host=(host(), host(**reading)), ours_ns=2 * SECOND))


def test_others_share_is_what_the_host_did_and_we_did_not_in_the_worst_cell():
    made = [
        cell_facts(cpu_busy_ns=busy * SECOND, cpu_total_ns=20 * SECOND, cpu_steal_ns=SECOND)
        for busy in (3, 8, 4)
    ]
    assert finds.others(0.02, made) == Others(
        idle_foreign_share=0.02, cell_foreign_share=0.3, steal_share=pytest.approx(0.05)
    )


def test_a_count_that_misses_our_own_work_tells_nothing_of_others():
    blind = cell_facts(cpu_busy_ns=SECOND // 5, cpu_total_ns=20 * SECOND)
    found = finds.others(0.0, [blind]).cell_foreign_share
    assert found == Missing("the kernel counts CPU by ticks and saw 10 % of our own")


def test_what_is_not_told_has_its_reason():
    told = Missing("this system does not tell")
    assert finds.others(None, [cell_facts(cpu_busy_ns=None, cpu_steal_ns=None)]) == Others(
        idle_foreign_share=told, cell_foreign_share=told, steal_share=told
    )
    assert finds.others(0.1, []).cell_foreign_share == Missing("no cell ran")


@pytest.mark.parametrize(
    ("spins", "told"),
    [
        ((5.5, 5.0, 3.2, 3.1, 3.3), RampUp(first_ms=5.5, best_ms=3.1, to_speed_ms=10.5)),
        ((3.1, 3.1), RampUp(first_ms=3.1, best_ms=3.1, to_speed_ms=0)),
        ((4.0, 3.0), RampUp(first_ms=4.0, best_ms=3.0, to_speed_ms=4.0)),
    ],
)
def test_ramp_up_ends_with_the_first_turn_near_the_best(spins: tuple[float, ...], told: RampUp):
    assert finds.ramp_up(spins) == told


@pytest.mark.parametrize("spins", [(), (0.0, 10.0)])
def test_a_clock_that_is_too_coarse_tells_no_ramp_up(spins: tuple[float, ...]):
    assert isinstance(finds.ramp_up(spins), Missing)


def test_identical_cells_are_spread_over_the_whole_time():
    order = finds.cells(finds.Size(identical=4))
    assert [cell.client for cell in order] == ["streams", "timer"] * 3 + ["streams"]
    assert {cell.backend for cell in order if cell.client == "timer"} == set(finds.TIMERS.values())
    assert len({cell.id for cell in order}) == len(order)
    assert all(cell.memory for cell in order if cell.client == "streams")
    assert [cell.client for cell in finds.cells(finds.Size(identical=1))] == ["streams", *["timer"] * 3]
    assert finds.seconds(finds.SIZE) < 40


def test_doubts_of_the_identical_cells_are_counted(monkeypatch: pytest.MonkeyPatch):
    class Fake:
        lane = LANE
        machine = MACHINE

        def __init__(self, *_: object) -> None:
            pass

        def bench(self) -> "Fake":
            return self

        def close(self) -> None:
            pass

        def examine(self, bench: object, cell: Any) -> tuple[Any, None]:
            flags = [FlagName.NOISY_HOST] if cell.repetition == 2 else []
            return record(cell.backend, client=cell.client, repetition=cell.repetition, flags=flags), None

    monkeypatch.setattr(finds, "Here", Fake)
    monkeypatch.setattr(finds, "IDLE_S", 0)
    monkeypatch.setattr(conduct, "this_machine", dict)
    made = finds.measure(finds.Size(identical=3))
    assert made.doubts == {"noisy-host": 1}
    assert set(made.timers) == {"asyncio", "uvloop", "time.sleep"}
    assert list(made.noise) == list(LANE.headline)


@pytest.mark.parametrize(
    ("backend", "client", "near"), [("thread", "streams", "threads"), ("asyncio", "stream", "streams")]
)
def test_an_unknown_name_is_one_line_with_the_nearest(backend: str, client: str, near: str):
    with pytest.raises(UserError, match=near):
        finds.asked(3000, backend, client)


def test_a_provider_opens_as_many_ports_as_keep_all_calls_waiting():
    def ports(calls: int, somaxconn: int | None) -> int:
        return conduct.need(finds.asked(calls, "asyncio", "streams"), calls, somaxconn).kind.provider_ports

    processes = limits.cpu_sets().provider_processes
    assert ports(4096 * processes, 4096) == processes
    assert ports(4096 * processes + 1, 4096) == 2 * processes
    assert ports(100_000, None) == ports(100_000, conduct.FALLBACK_SOMAXCONN) > processes
