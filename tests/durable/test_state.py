"""States as bytes: what cannot be kept is named by its place."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.durable.errors import StateError
from streamlanes.durable.state import MAX_DEPTH, decode, encode

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_kept_comes_back_the_same(state: object):
    assert decode("a", "step 0", encode("a", state)) == state


def nested(depth: int) -> object:
    state: object = 0
    for _ in range(depth):
        state = [state]
    return state


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"a": [1, {"b": object()}]}, r"state\.a\[1\]\.b is of type object, which cannot be kept"),
        ({"a": {1: 2}}, r"state\.a has the key 1, which is no text"),
        ({"t": (1, 2)}, r"state\.t is of type tuple"),
        ({"s": {1}}, r"state\.s is of type set"),
        ([math.nan], r"state\[0\] is nan, which JSON does not have"),
        (math.inf, "state is inf"),
        (b"x", "state is of type bytes"),
        ("\ud800", "state holds half a character"),
        (nested(MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_cannot_be_kept_is_named(state: object, place: str):
    with pytest.raises(StateError, match=f"execution a: .*{place}"):
        encode("a", state)


def test_bytes_that_are_no_state_are_named():
    with pytest.raises(StateError, match="execution a: step 3 cannot be read; restore"):
        decode("a", "step 3", b"\xff\x00")
