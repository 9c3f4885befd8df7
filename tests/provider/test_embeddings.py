"""Simulated embeddings: the same text, the same vector; bounded."""

import base64
import json
import math
import struct

import pytest

from streamlanes.provider import embeddings
from streamlanes.provider.ask import BadRequest


def answer(**request: object):
    return embeddings.answer(json.dumps(request).encode())


def test_the_same_text_has_the_same_vector_of_length_one():
    found = answer(input=["one", "two", "one"])["data"]
    vectors = [each["embedding"] for each in found]
    assert vectors[0] == vectors[2] != vectors[1]
    assert {len(each) for each in vectors} == {embeddings.DIMENSIONS}
    assert math.hypot(*vectors[0]) == pytest.approx(1)
    assert [each["index"] for each in found] == [0, 1, 2]


def test_packed_vectors_are_the_same_ones():
    (plain,) = answer(input="one", dimensions=8)["data"]
    (packed,) = answer(input="one", dimensions=8, encoding_format="base64")["data"]
    numbers = struct.unpack("<8f", base64.b64decode(packed["embedding"]))
    assert list(numbers) == pytest.approx(plain["embedding"])


def test_token_numbers_are_inputs_too():
    assert len(answer(input=[1, 2, 3])["data"]) == 1
    assert len(answer(input=[[1, 2], [3]])["data"]) == 2
    assert answer(input="some words here")["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({}, "input"),
        ({"input": ""}, "empty"),
        ({"input": []}, "input"),
        ({"input": [["x"]]}, "input"),
        ({"input": {"a": 1}}, "input"),
        ({"input": "x", "dimensions": 0}, "dimensions"),
        ({"input": "x", "dimensions": 5000}, "dimensions"),
        ({"input": "x", "dimensions": "many"}, "dimensions"),
        ({"input": ["x"] * 2000, "dimensions": 4096}, "fewer"),
        ({"input": "x", "encoding_format": "gzip"}, "encoding_format"),
    ],
)
def test_what_is_no_request_is_told(request_: dict[str, object], word: str):
    with pytest.raises(BadRequest, match=word):
        answer(**request_)
