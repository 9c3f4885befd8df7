"""Which records are repetitions of one point, and which are lines of their own."""

import msgspec

from records import record
from streamlanes.lanes.base import Pool
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.series import Line, by_reason, points, select, setting


def test_repetitions_make_one_point_in_their_order() -> None:
    found = points([record(repetition=2), record(repetition=1)])
    assert [[r.cell.repetition for r in point.records] for point in found] == [[1, 2]]


def test_sizes_clients_and_workloads_make_points_of_their_own() -> None:
    found = points([record(), record(calls=500), record(client="floor"), record(workload="lesson")])
    assert len(found) == 4


def test_backends_stand_in_the_registrys_order_and_unknown_ones_last() -> None:
    found = points([record("zebra"), record("uvloop"), record("threads"), record("asyncio")])
    assert [point.line.backend for point in found] == ["asyncio", "uvloop", "threads", "zebra"]


def test_a_setting_measured_side_by_side_names_its_lines() -> None:
    found = points(record("threads", axes={"stack_kib": kib}) for kib in (8192, 256))
    assert [point.line.label for point in found] == ["threads, stack 256 KiB", "threads, stack 8,192 KiB"]


def test_a_setting_that_never_varied_names_nothing() -> None:
    found = points([record("threads", axes={"stack_kib": 256}), record("asyncio")])
    assert [point.line.label for point in found] == ["asyncio", "threads"]


def test_an_axis_a_stopped_cell_does_not_know_is_no_setting() -> None:
    known = {"stack_kib": 256, "switch_ms": 5.0}
    stopped = {"stack_kib": 8192, "switch_ms": None}
    found = points(record("threads", axes=axes) for axes in (known, stopped))
    assert [point.line.label for point in found] == ["threads, stack 256 KiB", "threads, stack 8,192 KiB"]


def test_a_sweep_that_comes_to_what_runs_unasked_is_the_same_line() -> None:
    unasked = {"stack_kib": 8192, "switch_ms": 5.0}
    swept = [record("threads", axes={**unasked, "switch_ms": ms}, asked={"switch_ms": ms}) for ms in (5, 100)]
    found = points([record("threads", axes=unasked, asked={}), *swept])
    assert [(point.line.label, len(point.records)) for point in found] == [
        ("threads", 2),
        ("threads, switch 100 ms", 1),
    ]


def test_a_cell_that_never_ran_is_no_sweep_of_what_it_does_not_know() -> None:
    ran = record("threads", axes={"switch_ms": 5.0}, asked={})
    crashed = record("threads", repetition=2, axes={"switch_ms": None}, asked={}, status=StatusName.CRASHED)
    assert select([ran, crashed], "switch_ms") == []


def test_a_seed_of_its_own_for_each_repetition_is_no_line() -> None:
    found = points(record(repetition=i, axes={"seed": i}) for i in (1, 2, 3))
    assert [len(point.records) for point in found] == [3]


def test_a_line_can_be_named_without_the_axis_that_is_drawn() -> None:
    line = Line("thread-pool", (("stack_kib", "256"), ("width", "64")))
    assert line.without("width").label == "thread-pool, stack 256 KiB"


def test_only_cells_that_ended_ok_have_figures() -> None:
    [point] = points(
        [
            record(repetition=1, figures={"time.wall_s": 5.0}),
            record(repetition=2, figures={"time.wall_s": 90.0}, status=StatusName.OVER_BUDGET),
        ]
    )
    assert [value for _, value in point.figures("time.wall_s")] == [5.0]
    assert len(point.stopped) == 1


def test_pooling_can_leave_flagged_repetitions_out() -> None:
    [point] = points(
        record(repetition=i, figures={"time.wall_s": wall}, flags=flags)
        for i, wall, flags in ((1, 5.0, ()), (2, 6.0, ()), (3, 99.0, [FlagName.NOISY_HOST]))
    )
    assert point.pooled("time.wall_s") == 6.0
    assert point.pooled("time.wall_s", clean=True) == 5.5
    assert point.pooled("time.wall_s", Pool.MAX) == 99.0
    assert point.pooled("time.startup_s") is None


def test_bounded_is_a_flag_or_a_width_below_the_calls() -> None:
    found = points(
        [
            record("asyncio+to_thread", 100, flags=[FlagName.BOUNDED]),
            record("thread-pool", 100, axes={"width": 64}),
            record("process-pool", 100, axes={"width": 100}),
            record("asyncio", 100),
        ]
    )
    assert {p.line.backend for p in found if p.bounded} == {"asyncio+to_thread", "thread-pool"}


def test_settings_read_as_words() -> None:
    assert setting("switch_ms", "100") == "switch 100 ms"
    assert setting("rate_per_s", "20,000") == "rate 20,000/s"
    assert setting("start_method", "spawn") == "start method spawn"


def test_reasons_are_collected_in_the_order_they_came() -> None:
    assert by_reason([("a", "x"), ("b", "y"), ("c", "x"), ("a", "x")]) == [("x", ["a", "c"]), ("y", ["b"])]


def test_memory_of_a_cell_over_budget_stands_and_its_timings_do_not() -> None:
    stopped = record(
        status=StatusName.OVER_BUDGET,
        reason="stopped",
        figures={"memory.per_call_bytes": 9000.0, "latency.stream_ms.p99": 4.0},
    )
    (point,) = points([stopped])
    assert point.pooled("memory.per_call_bytes") == 9000.0
    assert point.pooled("latency.stream_ms.p99") is None


def asked(backend: str, calls: int = 2000, **axes: object) -> Record:
    made = record(backend, calls, axes=axes)
    return msgspec.structs.replace(made, cell=msgspec.structs.replace(made.cell, asked=axes))


def test_the_main_comparison_leaves_sweeps_out() -> None:
    plain, small = asked("threads"), asked("threads", stack_kib=256)
    assert select([plain, small, asked("asyncio")], None) == [plain, asked("asyncio")]


def test_what_the_whole_run_was_asked_for_is_no_sweep() -> None:
    run = [asked("threads", seed=9), asked("asyncio", seed=9)]
    assert select(run, None) == run


def test_a_family_that_only_sweeps_stays_whole() -> None:
    run = [asked("threads", stack_kib=256), asked("threads", stack_kib=1024)]
    assert select(run, None) == run


def test_an_axis_chart_has_the_families_that_sweep_it_and_no_other_sweep() -> None:
    five, hundred = asked("threads", switch_ms=5), asked("threads", switch_ms=100)
    stack = asked("threads", stack_kib=256, switch_ms=5)
    run = [five, hundred, stack, asked("asyncio", switch_ms=5)]
    assert select(run, "switch_ms") == [five, hundred]
    assert select(run, "workers") == []


def test_a_value_that_is_not_known_has_no_unit() -> None:
    assert (setting("switch_ms", "default"), setting("switch_ms", "5")) == ("switch default", "switch 5 ms")
