"""Gaps between tokens: heavy-tailed, as recorded, and several tokens in a chunk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.errors import UserError
from streamlanes.workload import Dist, HeavyTailed, build, resolve
from streamlanes.workload.draws import Looped
from streamlanes.workload.recording import parse

GAPS = [5.0, 0.0, 40.0, 7.0, 9.0]


def recorded(gaps: list[float] | None = None) -> Looped:
    return parse([str(gap) for gap in gaps or GAPS], "gaps.txt", "gaps.txt@1")


@pytest.mark.parametrize("tail", [1.5, 3.0])
def test_a_heavy_tail_has_the_median_and_the_tail_that_were_asked_for(tail: float):
    shape = HeavyTailed(20.0, tail)
    drawn = shape.draw(np.random.default_rng(1), 400_000)
    assert np.median(drawn) == pytest.approx(20, rel=0.02)
    assert drawn.min() >= 0
    scale = 20 / (2 ** (1 / tail) - 1)
    for times in (10, 100):
        share = (1 + times * 20 / scale) ** -tail
        assert (drawn > times * 20).mean() == pytest.approx(share, rel=0.2)
    assert shape.mean == pytest.approx(scale / (tail - 1))
    assert shape.shown == {"median": 20.0, "tail": tail}


def test_what_the_docs_say_of_the_tail_is_so():
    scale = 1 / (2 ** (1 / 1.5) - 1)
    assert 1 / (1 + 100 / scale) ** -1.5 == pytest.approx(460, abs=5)


def test_recorded_gaps_come_in_their_order_over_and_over():
    drawn = recorded().draw(np.random.default_rng(3), 23)
    first = GAPS.index(drawn[0])
    assert list(drawn) == [GAPS[(first + k) % 5] for k in range(23)]
    places = {recorded().draw(np.random.default_rng(seed), 1)[0] for seed in range(60)}
    assert places == set(GAPS), "from a place that the seed draws"


def test_a_schedule_takes_the_recorded_gaps():
    load = resolve("lesson", 3, {"gaps": recorded(), "tokens": Dist(6.0)})
    made = build(load, 3)
    gaps = np.diff(made.offset_ns.reshape(3, 6), axis=1) / 1e6
    assert np.isin(np.rint(gaps), GAPS).all()
    assert load.gap_ms.shown["of"] == "gaps.txt@1"
    assert load.gap_ms.median == 7.0


@pytest.mark.parametrize("name", ["steady", "paced", "lesson", "chat"])
def test_every_workload_takes_them(name: str):
    assert isinstance(resolve(name, 10, {"gaps": recorded()}).gap_ms, Looped)
    assert isinstance(resolve(name, 10, {"gap_ms": HeavyTailed(20.0, 1.5)}).gap_ms, HeavyTailed)


@pytest.mark.parametrize(
    ("axes", "word"),
    [
        ({"gaps": recorded(), "gap_ms": 5}, "gaps and gap_ms"),
        ({"gaps": recorded(), "rate_per_s": 5}, "gaps and rate_per_s"),
        ({"gap_ms": HeavyTailed(20.0, 1.0)}, "tail is 1"),
        ({"tokens": HeavyTailed(5.0, 1e9)}, "tail"),
    ],
)
def test_what_cannot_be_meant_is_refused(axes: dict[str, object], word: str):
    with pytest.raises(UserError, match=word):
        resolve("steady", 10, axes)


def test_blank_lines_and_remarks_are_passed_over():
    assert list(parse(["# ms", "", "3", " 4.5 "], "g", "g").values) == [3.0, 4.5]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ["no gap", "one a line"]),
        (["1", "x"], ["gaps.txt line 2", "'x'"]),
        (["1", "-1"], ["line 2"]),
        (["nan"], ["line 1"]),
        (["1e99"], ["line 1"]),
        (["0", "0", "5"], ["half", "tokens_per_chunk"]),
    ],
)
def test_a_broken_recording_is_one_line(lines: list[str], words: list[str]):
    with pytest.raises(UserError) as error:
        parse(lines, "gaps.txt", "gaps.txt@1")
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


@given(calls=st.integers(1, 20), tokens=st.floats(1, 30), size=st.integers(1, 40))
def test_in_chunks_each_token_is_due_with_the_last_of_its_chunk(calls: int, tokens: float, size: int):
    plain = build(resolve("steady", calls, {"tokens": Dist(tokens, 0.5), "gap_ms": 5}), calls)
    made = plain.in_chunks(size)
    assert (made.first == plain.first).all()
    assert (made.life_ns == plain.life_ns).all()
    for call in range(calls):
        rows = range(plain.first[call], plain.first[call + 1])
        for k, row in enumerate(rows):
            last = min(len(rows), (k // size + 1) * size) - 1
            assert made.offset_ns[row] == plain.offset_ns[rows[last]]
