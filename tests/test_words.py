"""Figures and endings as a person reads them."""

import pytest

from records import record
from streamlanes.record import FlagName, StatusName
from streamlanes.words import ending, notes, number, plain, quantity, short_ending, title, why_missing


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.02449, "0.024"), (0.5, "0.50"), (1, "1.0"), (5.14, "5.1"), (9.96, "10"), (44.4, "44"),
     (1234.5, "1,234"), (-0.0017, "-0.0017"), (-12.3, "-12")],
)  # fmt: skip
def test_numbers_keep_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2000, "2,000"), (0.25, "0.25"), (8192.0, "8,192"), (1.5, "1.5")]
)
def test_what_was_set_is_not_rounded(value: float, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(22.2, "us", "22 us"), (0.87, "", "0.87"), (9216, "B", "9.0 KiB"), (3 << 20, "bytes", "3.0 MiB"),
     (-2048, "B", "-2.0 KiB"), (16 << 30, "B", "16 GiB"), (100, "B", "100 B")],
)  # fmt: skip
def test_quantities_carry_their_unit(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("latency.stream_ms.p99", "stream lateness p99"),
        ("latency.start_lag_ms.p50", "start lag p50"),
        ("time.cpu_us_per_token", "CPU/token"),
        ("work.per_s", "rate"),
        ("work.cpu_us_per_unit", "CPU/unit"),
        ("memory.per_call_bytes", "memory/call"),
        ("time.overrun_s", "overrun"),
        ("counts.peak_in_flight", "peak in flight"),
    ],
)
def test_a_path_has_a_short_name(path: str, text: str) -> None:
    assert title(path) == text


def test_an_ok_cell_has_no_ending() -> None:
    assert (ending(record()), short_ending(record())) == ("", "")


def test_over_budget_says_how_far_and_how_long() -> None:
    stopped = record(
        status=StatusName.OVER_BUDGET,
        figures={"time.projected_wall_s": 74.2, "counts.tokens": 61, "counts.expected_tokens": 100},
    )
    assert ending(stopped) == "over budget, 61 % done, about 74 s"
    assert short_ending(stopped) == "over budget, about 74 s"


def test_a_pool_given_few_calls_is_held_against_all() -> None:
    figures = {"counts.tokens": 100, "counts.expected_tokens": 100, "counts.admitted": 500}
    assert "25 % done" in ending(record(calls=2000, status=StatusName.OVER_BUDGET, figures=figures))


def test_over_budget_without_a_projection_claims_none() -> None:
    assert ending(record(status=StatusName.OVER_BUDGET)) == "over budget"


def test_unsupported_says_where_and_why() -> None:
    stopped = record(calls=500, status=StatusName.UNSUPPORTED, reason="RLIMIT_NPROC", reached=121)
    assert ending(stopped) == "unsupported at 121 of 500: RLIMIT_NPROC"
    assert short_ending(stopped) == "unsupported at 121"


def test_notes_explain_a_bound_by_its_waves() -> None:
    bounded = record(
        calls=500, axes={"width": 6}, flags=[FlagName.BOUNDED], figures={"time.predicted_wall_s": 41.7}
    )
    assert notes(bounded) == ["bounded to 6: 84 waves, 42 s predicted"]
    assert notes(record(flags=[FlagName.NOISY_HOST])) == ["noisy-host"]


def test_a_missing_figure_has_its_own_reason_or_its_groups() -> None:
    found = record(missing={"latency.stream_ms": "no plateau", "time.wall_s": "stopped"})
    assert why_missing(found, "time.wall_s") == "stopped"
    assert why_missing(found, "latency.stream_ms.p99") == "no plateau"
    assert why_missing(found, "memory.per_call_bytes") == "not measured here"
    gone = record(status=StatusName.CRASHED, reason="signal 11")
    assert why_missing(gone, "time.wall_s") == "crashed: signal 11"
