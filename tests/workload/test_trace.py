"""Traces from their lines: exact, strict, and never anything but a trace or one clear line."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_traces import shared
from streamlanes.errors import UserError
from streamlanes.workload.trace import Trace, find_tick_ns, parse

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens"
GOOD = "2023-11-16 18:15:46.6805900,374,44"
LATER = "2023-11-16 18:15:50.9951690,396,109"
JSON = '{"timestamp": 3000, "input_length": 6758, "output_length": 500}'


def clock(ns: int) -> str:
    """A moment of 16 November 2023 as the Azure dataset writes it: seven digits, none of them lost."""
    seconds, rest = divmod(ns, 10**9)
    return f"2023-11-16 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest // 100:07}"


def made(at_ms: list[float]) -> Trace:
    """A trace with these times."""
    lines = [json.dumps({"timestamp": at, "input_length": 1, "output_length": i + 1}) for i, at in
             enumerate(at_ms)]  # fmt: skip
    return parse(lines, "made")


def refused(lines: list[str]) -> str:
    with pytest.raises(UserError) as error:
        parse(lines, "some.csv")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("some.csv")
    return str(error.value)


# What is read


def test_seven_digits_of_a_second_are_kept():
    found = parse([HEAD, GOOD, LATER], "some.csv", "name")
    assert list(found.at_ns) == [0, 4_314_579_000]
    assert list(found.tokens) == [44, 109]
    assert (found.name, found.requests, found.span_s) == ("name", 2, 4.314579)


def test_columns_are_found_by_name_and_others_passed_over():
    found = parse(["Model,GeneratedTokens,TIMESTAMP,ContextTokens", "x,9,2024-05-10 00:00:01,5"], "s")
    assert list(found.tokens) == [9]


@pytest.mark.parametrize(
    ("one", "other", "apart_ns"),
    [
        ("2023-11-16 18:00:00", "2023-11-16T18:00:01Z", 10**9),
        ("2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:00.5+00:00", 490_070_000),
        ("2024-05-10 02:00:00.000000001+02:00", "2024-05-10 00:30:00+0000", 30 * 60 * 10**9 - 1),
        ("2024-05-09 19:30:00-05:30", "2024-05-10 01:00:00.123456789", 123_456_789),
        ("2023-12-31 23:59:59.9999999", "2024-01-01 00:00:00", 100),
    ],
)
def test_ways_to_write_a_moment(one: str, other: str, apart_ns: int):
    found = parse([HEAD, f"{one},1,1", f"{other},1,1"], "s")
    assert list(found.at_ns) == [0, apart_ns]


def test_json_lines_may_hold_more_and_fractions_of_a_millisecond():
    lines = ['{"timestamp": 0.5, "input_length": 0, "output_length": 1, "hash_ids": [1, 2]}', "", JSON]
    assert list(parse(lines, "s").at_ns) == [0, 2_999_500_000]


def test_whole_milliseconds_of_a_calendar_clock_stay_exact():
    at = 1_700_000_000_123
    assert list(made([at, at + 1]).at_ns) == [0, 10**6]


def test_blank_lines_and_ends_of_any_kind_are_passed_over():
    assert parse([f"{HEAD}\r", "", f" {GOOD} \r", "\t"], "s").requests == 1


moments = st.lists(
    st.tuples(st.integers(0, 863_999_999_999).map(lambda each: each * 100), st.integers(1, 100_000)),
    min_size=1,
    max_size=40,
).map(sorted)


@given(moments)
def test_csv_gives_back_what_was_written(rows: list[tuple[int, int]]):
    found = parse([HEAD, *(f"{clock(at)},7,{tokens}" for at, tokens in rows)], "s")
    assert list(found.at_ns) == [at - rows[0][0] for at, _ in rows]
    assert list(found.tokens) == [tokens for _, tokens in rows]


@given(moments)
def test_json_gives_back_what_was_written(rows: list[tuple[int, int]]):
    found = parse(
        [json.dumps({"timestamp": at // 10**6, "input_length": 3, "output_length": n}) for at, n in rows], "s"
    )
    assert list(found.at_ns) == [(at // 10**6 - rows[0][0] // 10**6) * 10**6 for at, _ in rows]
    assert list(found.tokens) == [tokens for _, tokens in rows]


# What is refused


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([GOOD, "2023-11-16 18:15:50.9951690,396"], ["line 3", "2 fields", "3"]),
        ([GOOD, LATER + ",9"], ["line 3", "4 fields"]),
        ([GOOD, "", "yesterday,1,1"], ["line 4", "TIMESTAMP", "yesterday"]),
        (["2023-13-16 18:15:50,1,1"], ["line 2", "TIMESTAMP", "2023-13-16"]),
        (["2023-11-16 18:15:50.12345678901,1,1"], ["line 2", "TIMESTAMP"]),
        (["2023-11-16 18:15:50+99:00,1,1"], ["line 2", "TIMESTAMP"]),
        ([GOOD, "2023-11-16 18:15:50,396,-4"], ["line 3", "GeneratedTokens is -4"]),
        (["2023-11-16 18:15:50,-1,4"], ["line 2", "ContextTokens is -1"]),
        (["2023-11-16 18:15:50,1,0"], ["line 2", "GeneratedTokens is 0"]),
        (["2023-11-16 18:15:50,1,2.5"], ["line 2", "whole number"]),
        (["2023-11-16 18:15:50,1,1_0"], ["line 2", "whole number"]),
        (["2023-11-16 18:15:50,1,٣"], ["line 2", "whole number"]),
        (["2023-11-16 18:15:50,1," + "9" * 5000], ["line 2", "whole number"]),
        (["2023-11-16 18:15:50,1,100001"], ["line 2", "100,000"]),
        ([LATER, GOOD], ["line 3", "line 2", "sort"]),
        ([GOOD, "", LATER, "", GOOD], ["line 6", "line 4"]),
        (["1950-01-01 00:00:00,1,1", GOOD], ["line 3", "first request"]),
        ([], ["no request"]),
    ],
)
def test_a_broken_row_is_named_by_its_line(rows: list[str], words: list[str]):
    said = refused([HEAD, *rows])
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([JSON, '{"timestamp": 3001, "input_length": 1}'], ["line 2", "output_length"]),
        ([JSON, '{"timestamp": 3001, "input_length": 1, "output_length": "9"}'], ["line 2", "int"]),
        ([JSON, '{"timestamp": 3001, "input_length": 1, "output_length": -9}'], ["line 2", "-9"]),
        (
            [JSON, '{"timestamp": 3001, "input_length": 1, "output_length": 0}'],
            ["line 2", "output_length is 0"],
        ),
        ([JSON, '{"timestamp": -1, "input_length": 1, "output_length": 9}'], ["line 2", "timestamp is -1"]),
        ([JSON, '{"timestamp": 1e999, "input_length": 1, "output_length": 9}'], ["line 2"]),
        ([JSON, '{"timestamp": NaN, "input_length": 1, "output_length": 9}'], ["line 2"]),
        ([JSON, '{"timestamp": true, "input_length": 1, "output_length": 9}'], ["line 2"]),
        ([JSON, '{"timestamp": 2999, "input_length": 1, "output_length": 9}'], ["line 2", "sort"]),
        ([JSON, '{"timestamp": 3001, "inp'], ["line 2"]),
        ([JSON, GOOD], ["line 2"]),
        ([JSON, '{"a": ' + "[" * 100_000], ["line 2"]),
        (["[]"], ["line 1", HEAD]),
        ([GOOD], ["line 1", "no column TIMESTAMP"]),
        (["", "TIMESTAMP,ContextTokens"], ["line 2", "no column GeneratedTokens"]),
        ([], ["no request"]),
        (["", "  "], ["no request"]),
    ],
)
def test_a_line_that_is_no_request_is_named(lines: list[str], words: list[str]):
    said = refused(lines)
    for word in words:
        assert word in said


fields = st.one_of(st.sampled_from([GOOD, LATER, JSON, HEAD, "", "-1", "9" * 30]), st.text(max_size=30))
rows = st.one_of(fields, st.lists(fields, min_size=1, max_size=4).map(",".join))


@given(st.lists(rows, max_size=6), st.sampled_from([[], [HEAD], [HEAD, GOOD], [JSON]]))
def test_any_lines_are_a_trace_or_one_clear_line(lines: list[str], before: list[str]):
    whole = [*before, *lines]
    try:
        found = parse(whole, "some.csv")
    except UserError:
        refused(whole)
    else:
        assert found.requests >= 1
        assert (np.diff(found.at_ns) >= 0).all()
        assert found.tokens.min() >= 1


@given(moments, st.data())
def test_wherever_a_row_is_broken_its_line_is_named(rows: list[tuple[int, int]], data: st.DataObject):
    lines = [HEAD, *(f"{clock(at)},7,{tokens}" for at, tokens in rows)]
    at = data.draw(st.integers(1, len(lines) - 1))
    lines[at] = lines[at].replace("-11-", "-31-")
    assert f"line {at + 1}:" in refused(lines)


# Ticks


def test_a_clock_that_ticks_is_found_and_requests_are_spread_over_the_tick():
    trace = made([tick * 3000 + tick % 2 for tick in range(50) for _ in range(4)])
    assert trace.tick_ns == pytest.approx(3 * 10**9, rel=0.01)
    spread = trace.spread(1)
    assert (np.diff(spread.at_ns) > 0).all()
    assert spread.at_ns[0] == 0
    assert sorted(spread.tokens) == sorted(trace.tokens)
    assert abs(spread.at_ns - trace.at_ns).max() <= trace.tick_ns
    per_tick = np.bincount(spread.at_ns // (3 * 10**9))
    assert per_tick.max() <= 8, "a tick's requests stay about where they were"


def test_the_spread_is_seeded():
    trace = made([tick * 1000 for tick in range(20) for _ in range(3)])
    assert (trace.spread(1).at_ns == trace.spread(1).at_ns).all()
    assert (trace.spread(1).at_ns != trace.spread(2).at_ns).any()


def test_a_tick_without_a_request_is_still_a_tick():
    assert made([second * 1000 for second in (0, 0, 2, 3, 3, 3, 7, 8, 8, 11)]).tick_ns == 10**9


@pytest.mark.parametrize(
    "at_ms",
    [
        [0],
        [0, 0],
        [5, 5, 5],
        [0, 1000, 2000, 3000],  # regular, but no two at the same time
        [0, 0, 0, 137, 137, 137, 1961, 1961, 2203, 2203, 2203, 2710],  # really together: odd gaps between
    ],
)
def test_other_traces_have_no_tick_and_stay_as_they_are(at_ms: list[float]):
    trace = made(at_ms)
    assert trace.tick_ns == 0
    assert trace.spread(1) is trace


def test_head_takes_the_first_and_no_more_than_there_are():
    trace = made([0, 10, 20])
    assert list(trace.head(2).tokens) == [1, 2]
    with pytest.raises(UserError, match=r"3 requests.*4 calls.*-n 3"):
        trace.head(4)


def test_the_public_traces_are_read_whole():
    conv, mooncake = shared("azure-2023-conv.csv"), shared("mooncake-conversation.jsonl")
    assert (conv.requests, conv.tick_ns) == (19_366, 0)
    assert (mooncake.requests, find_tick_ns(mooncake.at_ns)) == (12_031, 3 * 10**9)
    assert np.diff(mooncake.spread(1).at_ns).max() < 3 * 10**9
