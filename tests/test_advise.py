"""The last lines of a run: every claim from clean records, nothing from others."""

from collections.abc import Iterable
from typing import Any

import pytest

from records import LANE, record
from streamlanes.advise import answer
from streamlanes.lanes.cpu import LANE as CPU_LANE
from streamlanes.record import FlagName, Record, StatusName

LATE, CPU, MEMORY = "latency.stream_ms.p99", "time.cpu_us_per_token", "memory.per_call_bytes"


def cell(backend: str, late: float, cpu: float, memory: float | None = 9216.0, **more: Any) -> Record:
    figures = {LATE: late, CPU: cpu} | ({} if memory is None else {MEMORY: memory})
    return record(backend, figures=figures | more.pop("figures", {}), **more)


def repeated(
    backend: str, lates: Iterable[float], cpu: float, calls: int = 10_000, **more: Any
) -> list[Record]:
    return [
        cell(backend, late, cpu * (1 + 0.01 * i), repetition=i, calls=calls, **more)
        for i, late in enumerate(lates, start=1)
    ]


def said(records: Iterable[Record]) -> str:
    """The answer as running text: folded lines joined again."""
    return " ".join(" ".join(answer(list(records), [LANE])).split())


def test_the_lowest_lateness_at_the_largest_size_wins() -> None:
    text = said(
        [
            *repeated("asyncio", (14, 14.2, 14.1), 31),
            *repeated("uvloop", (10, 10.1, 10.2), 22),
            cell("threads", 1.0, 5.0, calls=2000),
        ]
    )
    assert "ANSWER uvloop on the streams client: at 10,000 calls" in text
    assert "stream lateness p99 10 ms, CPU/token 22 us, memory/call 9.0 KiB" in text
    assert "uvloop against asyncio (10,000 calls, 3 pairs)" in text
    assert "CPU/token 0.71x [0.71, 0.71]" in text


def test_what_is_the_same_in_lateness_is_decided_by_the_next_figure() -> None:
    text = said([*repeated("asyncio", (9.0, 12.0, 10.0), 20), *repeated("uvloop", (10.0, 10.1, 10.2), 30)])
    assert "ANSWER asyncio" in text
    assert "stream lateness p99 same" in text


def test_one_repetition_makes_a_ratio_without_an_interval() -> None:
    text = said([cell("asyncio", 14, 31), cell("uvloop", 10, 22)])
    assert "uvloop against asyncio (2,000 calls, 1 pair, so no interval): stream lateness p99 0.71x" in text
    assert "[" not in text


def test_a_figure_of_fewer_repetitions_says_so() -> None:
    records = [
        cell(backend, late, 20, memory if i == 1 else None, repetition=i)
        for i in (1, 2, 3)
        for backend, late, memory in (("asyncio", 14.0, 9000.0), ("uvloop", 10.0, 18000.0))
    ]
    assert "memory/call 2.00x (1 pair)" in said(records)


def test_a_cell_measured_once_borrows_the_runs_noise() -> None:
    noisy = repeated("processes+uvloop", (20.0, 40.0, 30.0), 20, calls=500)  # +-33 %
    text = said([*noisy, cell("asyncio", 10.0, 20), cell("uvloop", 9.0, 25)])
    assert "ANSWER asyncio" in text, "10 % is within the noise, so CPU decides"


def test_flagged_cells_are_in_no_claim() -> None:
    text = said(
        [
            cell("asyncio", 14, 31, calls=10_000),
            cell("uvloop", 1, 2, calls=10_000, flags=[FlagName.CLIENT_LIMITED]),
        ]
    )
    assert "ANSWER asyncio on the streams client, the only one with clean figures: at 10,000 calls" in text
    assert "against" not in text
    assert "breaks first: uvloop at 10,000: client-limited" in text


def test_bounded_pools_do_not_compete_and_do_not_break() -> None:
    pool = cell("thread-pool", 0.1, 0.1, calls=10_000, axes={"width": 64}, flags=[FlagName.BOUNDED])
    slow = record("process-pool", 10_000, status=StatusName.OVER_BUDGET, axes={"width": 2})
    text = said([pool, slow, cell("asyncio", 14, 31, calls=10_000)])
    assert "ANSWER asyncio" in text
    assert "breaks first: nothing up to 10,000 calls" in text


def test_a_size_nobody_finished_cleanly_is_not_claimed() -> None:
    text = said(
        [
            cell("asyncio", 3, 31, calls=2000),
            record("asyncio", 10_000, status=StatusName.OVER_BUDGET, figures={"time.projected_wall_s": 74.0}),
        ]
    )
    assert "at 2,000 calls" in text
    assert "breaks first: asyncio at 10,000: over budget, about 74 s" in text


def test_the_smallest_size_breaks_first_and_names_all_that_broke_there() -> None:
    text = said(
        [
            cell("asyncio", 3, 31),
            record("threads", 5000, status=StatusName.UNSUPPORTED, reason="RLIMIT_NPROC", reached=3900),
            record(
                "processes+threads", 5000, status=StatusName.UNSUPPORTED, reason="RLIMIT_NPROC", reached=3900
            ),
            record("threads", 10_000, status=StatusName.CRASHED, reason="signal 9"),
        ]
    )
    assert (
        "breaks first: threads, processes+threads at 5,000: unsupported at 3,900 of 5,000: RLIMIT_NPROC"
        in text
    )
    assert "signal 9" not in text


def test_what_was_never_meant_to_run_breaks_nothing() -> None:
    misfit = record("threads", 500, status=StatusName.UNSUPPORTED, reason="a:b is an async generator, ...")
    text = said([cell("asyncio", 3, 31, calls=500), misfit])
    assert "breaks first: nothing up to 500 calls" in text
    assert "left out" not in text
    assert "1 unsupported" in text
    short = record("threads", 500, status=StatusName.UNSUPPORTED, reason="nofile: 564 open files needed")
    assert "breaks first: threads at 500: unsupported: nofile" in said(
        [cell("asyncio", 3, 31, calls=500), short]
    )


def test_without_a_clean_cell_nothing_wins() -> None:
    text = said([cell("uvloop", 1, 2, flags=[FlagName.CLIENT_LIMITED])])
    assert "ANSWER none on the streams client: no cell ended ok and unflagged" in text


def test_the_one_cell_that_was_quiet_has_not_won() -> None:
    flagged = [cell(b, 9, 9, flags=[FlagName.NOISY_HOST]) for b in ("uvloop", "threads")]
    text = said([cell("asyncio", 14, 31), *flagged])
    assert "ANSWER none on the streams client: too few cells are beyond doubt (noisy-host in 2 of 3)" in text


def test_a_smaller_size_with_a_contest_is_claimed_before_a_larger_one_without() -> None:
    text = said(
        [
            cell("asyncio", 14, 31, calls=500),
            cell("uvloop", 10, 22, calls=500),
            cell("asyncio", 20, 31, calls=2000),
            cell("uvloop", 15, 22, calls=2000, flags=[FlagName.NOISY_HOST]),
        ]
    )
    assert "ANSWER uvloop on the streams client: at 500 calls" in text


def test_who_was_left_out_is_said_with_the_reason() -> None:
    text = said(
        [
            cell("asyncio", 14, 31),
            cell("uvloop", 10, 22),
            cell("threads", 9, 9, flags=[FlagName.NOISY_HOST, FlagName.PROVIDER_LIMITED]),
            record("processes+threads", missing={LATE: "no call that ended ok"}),
        ]
    )
    assert "left out at 2,000: threads: noisy-host, provider-limited; processes+threads: no figure" in text


def test_without_a_record_of_the_lane_there_is_no_answer() -> None:
    assert answer([record(lane="cpu")], [LANE]) == ["ANSWER  none: no io cell was measured"]


def test_what_broke_is_said_once() -> None:
    stopped = record("threads", status=StatusName.OVER_BUDGET)
    text = said([cell("asyncio", 14, 31), cell("uvloop", 10, 22), stopped])
    assert text.count("over budget") == 2, "where it broke, and in the count of flags"
    assert "left out" not in text


def test_each_client_has_an_answer_of_its_own_and_the_library_stands_first() -> None:
    text = said(
        [
            *repeated("asyncio", (14.0, 14.1, 14.2), 31),
            cell("uvloop", 10, 22, client="aiohttp", axes={"tls": True}),
            cell("threads", 10, 22, client="requests"),
        ]
    )
    heads = [
        "uvloop on the aiohttp client over TLS",
        "threads on the requests client,",
        "asyncio on the streams client",
    ]
    assert [text.index(head) for head in heads] == sorted(text.index(head) for head in heads)
    assert text.count("ANSWER") == 3
    assert text.count("FLAGS") == 1


def test_the_floor_is_only_the_floor_beside_others() -> None:
    floor = cell("uvloop", 10, 22, client="floor")
    text = said([cell("asyncio", 14, 31), floor])
    assert "asyncio on the streams client" in text
    assert (
        "FLOOR the floor client at 2,000 calls: uvloop stream lateness p99 10 ms, CPU/token 22 us, "
        "memory/call 9.0 KiB"
    ) in text
    assert text.count("ANSWER") == 1
    assert said([floor]).startswith("ANSWER uvloop on the floor client"), "alone it is what was asked for"
    doubted = cell("uvloop", 10, 22, client="floor", flags=[FlagName.NOISY_HOST])
    assert "FLOOR none: too few cells" in said([cell("asyncio", 14, 31), doubted])


def test_a_library_that_is_not_there_is_said_and_breaks_nothing() -> None:
    reason = "aiohttp is not installed; install it with: pip install 'streamlanes[clients]'"
    absent = record("asyncio", client="aiohttp", status=StatusName.UNSUPPORTED, reason=reason)
    text = said([absent, cell("asyncio", 14, 31)])
    assert f"ANSWER none on the aiohttp client: {reason} ANSWER asyncio on the streams client" in text


def test_the_lanes_of_a_run_are_answered_in_turn_with_their_flags_together() -> None:
    lines = answer([cell("asyncio", 14, 31, flags=[FlagName.CLIENT_LIMITED])], [LANE, CPU_LANE])
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["ANSWER", "ANSWER", "FLAGS"]
    assert lines[-2] == "ANSWER  none: no cpu cell was measured"


def test_a_figure_nobody_has_is_left_out() -> None:
    text = said([record(figures={LATE: 3.0}, missing={CPU: "no plateau"})])
    assert "CPU" not in text


def test_figures_at_or_below_zero_have_no_ratio() -> None:
    below = {"memory.per_call_bytes": -1.0}
    text = said([cell("asyncio", 14, 31, figures=below), cell("uvloop", 10, 22, figures=below)])
    assert "memory/call" in text.split("uvloop against")[0]
    assert "memory/call" not in text.split("uvloop against")[1]


def test_flags_are_counted_with_lost_tokens() -> None:
    records = [
        cell("asyncio", 14, 31, figures={"counts.lost_tokens": 3}),
        cell("uvloop", 10, 22, flags=[FlagName.CLIENT_LIMITED]),
        record("threads", status=StatusName.OVER_BUDGET, flags=[FlagName.BOUNDED]),
    ]
    assert answer(records, [LANE])[-1] == (
        "FLAGS   1 over budget, 1 bounded, 1 client-limited; host quiet; 3 tokens lost"
    )


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ([record()], "FLAGS   none; host quiet; 0 tokens lost"),
        (
            [record(missing={"counts.lost_tokens": "unread"})],
            "FLAGS   none; host quiet; lost tokens not known",
        ),
        (
            [record(), record("uvloop", missing={"counts.lost_tokens": "unread"})],
            "FLAGS   none; host quiet; 0 tokens lost (not known in 1 cells)",
        ),
        (
            [record(flags=[FlagName.NOISY_HOST]), record("uvloop")],
            "FLAGS   none; host noisy in 1 of 2 cells; 0 tokens lost",
        ),
        ([record(status=StatusName.SKIPPED)], "FLAGS   1 skipped"),
    ],
)
def test_the_flags_line_claims_only_what_was_seen(records: list[Record], line: str) -> None:
    assert answer(records, [LANE])[-1] == line


def test_lines_fit_a_terminal() -> None:
    records = [
        *repeated("processes+asyncio", (14, 14.2, 14.1), 31),
        *repeated("processes+uvloop", (10, 11, 9), 22),
    ]
    assert max(len(line) for line in answer(records, [LANE])) <= 110


def step(backend: str, rate: float, late: float, **more: Any) -> Record:
    return record(backend, axes={"rate_per_s": rate}, figures={LATE: late}, knee_bound_ms=50.0, **more)


def test_what_the_calls_bear_is_said_for_each_backend() -> None:
    text = said(
        [
            cell("asyncio", 14, 31),
            cell("uvloop", 10, 22),
            step("asyncio", 20_000, 9.0),
            step("asyncio", 22_000, 900.0),
            step("uvloop", 40_000, 9.0),
            step("uvloop", 44_000, 900.0, flags=[FlagName.PROVIDER_LIMITED]),
        ]
    )
    assert (
        "2,000 calls (steady) bear >= 40,000 tokens/s under uvloop (provider-limited at 44,000 tokens/s), "
        "20,000 tokens/s under asyncio (not 22,000 tokens/s); stream lateness p99 within 50 ms"
    ) in text
    assert text.startswith("ANSWER uvloop on the streams client: at 2,000 calls")
    assert "breaks first: nothing" in text, "a search overloads on purpose"
    assert "FLAGS none; host quiet" in text


def test_a_run_that_only_sought_knees_answers_with_them() -> None:
    noisy = step("asyncio", 20_000, 9.0, flags=[FlagName.NOISY_HOST])
    text = said([noisy, step("asyncio", 20_000, 9.0, repetition=2), step("asyncio", 40_000, 900.0)])
    assert text.startswith(
        "ANSWER on the streams client 2,000 calls (steady) bear 20,000 tokens/s under asyncio (not 40,000 "
        "tokens/s, search cut short, host disturbed in 1 of 3 cells)"
    )
    assert "host noisy in 1 of 3 cells" in text
