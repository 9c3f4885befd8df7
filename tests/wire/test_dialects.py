"""Every dialect of the table: its whole answer, cut in every way, is told the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import REASONING, TEXT, USAGE, WHOLE
from streamlanes.wire import DEFAULT, DIALECTS, dialect
from streamlanes.wire.base import Brought, Fold

TOLD = [Brought.REASONING] * len(REASONING) + [Brought.TEXT] * len(TEXT)
ANSWERS = pytest.mark.parametrize(("api", "end"), WHOLE, ids=repr)


def folded(api: str, pieces: list[bytes]) -> tuple[list[Brought], Fold]:
    spoken = dialect(api)
    decoder, fold = spoken.decoder(), spoken.fold()
    told = [fold.add(event) for piece in pieces for event in decoder.feed(piece)]
    return [brought for brought in told if brought], fold


def check(api: str, pieces: list[bytes]) -> None:
    told, fold = folded(api, pieces)
    assert told == TOLD
    assert fold.done
    assert fold.over
    assert fold.finish_reason in ("stop", "end_turn")
    assert fold.usage_tokens == USAGE
    assert fold.error is None


def test_the_default_is_in_the_table_and_all_have_an_answer_here():
    assert DEFAULT in DIALECTS
    assert {api for api, _ in WHOLE} == set(DIALECTS)


@pytest.mark.parametrize("api", DIALECTS)
def test_a_dialect_goes_to_a_path_of_its_own_with_the_prompt(api: str):
    assert dialect(api).path.startswith("/v1/")
    assert b"[call 7]" in dialect(api).request("[call 7] x")


@ANSWERS
def test_every_single_cut(api: str, end: str):
    data = WHOLE[api, end]
    for at in range(len(data) + 1):
        check(api, [data[:at], data[at:]])
    check(api, [bytes([byte]) for byte in data])


@ANSWERS
@given(cuts=st.lists(st.integers(0, 2000), max_size=12))
def test_any_cuts(api: str, end: str, cuts: list[int]):
    data = WHOLE[api, end]
    borders = [0, *sorted(min(at, len(data)) for at in cuts), len(data)]
    check(api, [data[a:b] for a, b in itertools.pairwise(borders)])


@ANSWERS
def test_an_answer_that_is_cut_off_is_never_done(api: str, end: str):
    data = WHOLE[api, end]
    mark, reason = (b"message_stop", b"end_turn") if api == "anthropic" else (b"[DONE]", b'"stop"')
    for size in range(data.rindex(mark)):
        told, fold = folded(api, [data[:size]])
        assert not fold.done
        assert told == TOLD[: len(told)]
        if size < data.rindex(reason):
            assert not fold.ended
