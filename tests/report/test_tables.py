"""The run's one table."""

from records import LANE, record
from streamlanes.lanes.io import LANE as IO
from streamlanes.record import FlagName, StatusName
from streamlanes.report.tables import lines, tables

LATE, CPU = "latency.stream_ms.p99", "time.cpu_us_per_token"


def test_columns_are_what_the_lane_declares_with_its_units() -> None:
    [table] = tables([record(figures={LATE: 12.3, CPU: 22.0, "memory.per_call_bytes": 9216})], LANE)
    assert table.heads == ("stream lateness p99", "CPU/token", "memory/call", "overrun")
    assert table.rows[0].figures == ("12 ms", "22 us", "9.0 KiB", "-")


def test_rows_go_by_size_and_within_it_best_first_with_pools_last() -> None:
    [table] = tables(
        [
            record("asyncio", 2000, figures={LATE: 3.0}),
            record("uvloop", 2000, figures={LATE: 2.0}),
            record("thread-pool", 2000, figures={LATE: 0.1}, axes={"width": 6}),
            record("threads", 2000, status=StatusName.UNSUPPORTED),
            record("asyncio", 500, figures={LATE: 9.0}),
        ],
        LANE,
    )
    assert [(row.group, row.line) for row in table.rows] == [
        ("500", "asyncio"),
        ("2,000", "uvloop"),
        ("", "asyncio"),
        ("", "threads"),
        ("", "thread-pool"),
    ]


def test_clients_and_workloads_have_tables_of_their_own() -> None:
    found = tables([record(), record(client="floor"), record(workload="lesson"), record(lane="cpu")], LANE)
    assert [(t.client, t.workload) for t in found] == [
        ("streams", "lesson"),
        ("streams", "steady"),
        ("floor", "steady"),
    ]


def test_repetitions_are_pooled_and_counted() -> None:
    [table] = tables(
        [record(repetition=i, figures={LATE: v}) for i, v in ((1, 2.0), (2, 9.0), (3, 4.0))], LANE
    )
    assert table.rows[0].figures[0] == "4.0 ms"
    assert table.rows[0].note == "3 repetitions"


def test_a_note_of_some_repetitions_says_of_how_many() -> None:
    [table] = tables([record(repetition=1, flags=[FlagName.NOISY_HOST]), record(repetition=2)], LANE)
    assert table.rows[0].note == "2 repetitions; noisy-host (1 of 2)"


def test_missing_figures_are_dashes_with_their_reason_once() -> None:
    [table] = tables(
        [record(b, figures={LATE: 2.0}, missing={CPU: "no plateau"}) for b in ("asyncio", "uvloop")], LANE
    )
    assert [row.figures[1] for row in table.rows] == ["-", "-"]
    assert "CPU/token: no plateau" in table.why


def test_stopped_cells_say_how_in_words_and_need_no_other_reason() -> None:
    [table] = tables(
        [record("threads", status=StatusName.OVER_BUDGET, figures={"time.projected_wall_s": 74.0})], LANE
    )
    assert set(table.rows[0].figures) == {"-"}
    assert table.rows[0].note == "over budget, about 74 s"
    assert table.why == ()


def test_lines_are_aligned_under_their_heads() -> None:
    text = lines(
        [
            record("processes+uvloop", 10_000, figures={LATE: 11.0, CPU: 46.0}),
            record("asyncio", 500, figures={LATE: 9.0, CPU: 53.0}, workload="lesson"),
        ],
        LANE,
    )
    heads = [line for line in text if "CPU/token" in line and "client" in line]
    assert heads[0].startswith("    IO  streams client, lesson")
    assert {line.index("CPU/token") for line in heads} == {heads[0].index("CPU/token")}
    ends = {line.index(" us") + 3 for line in text if " us" in line}
    assert ends == {heads[0].index("CPU/token") + len("CPU/token")}
    assert not any(line != line.rstrip() for line in text)


def test_a_lane_without_records_has_no_lines() -> None:
    assert lines([record(lane="cpu")], LANE) == []


def test_a_workload_may_ask_another_question_of_its_table() -> None:
    flood = record(
        workload="flood", figures={"work.per_s": 95_000.0, "work.cpu_us_per_unit": 9.5, LATE: 80.0}
    )
    slower = record("uvloop", workload="flood", figures={"work.per_s": 90_000.0})
    [made] = tables([slower, flood], IO)
    assert made.heads == ("rate", "CPU/unit", "stream lateness p99", "memory/call")
    assert [row.line for row in made.rows] == ["asyncio", "uvloop"], "the highest rate first"
    assert made.rows[0].figures[:2] == ("95,000 tokens/s", "9.5 us")
