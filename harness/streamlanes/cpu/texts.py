"""Documents: seeded words, the same for the same seed and index everywhere. Standard library only."""

import random

_ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl dr fl gr pl pr sh sl st th tr".split()
_VOWELS = "a e i o u ai ea ee oo ou".split()
_ENDS = ["", "", "n", "r", "s", "t", "l", "nd", "st", "ng"]
_VOCABULARY = 2_000
_POOL = 20_000


class Texts:
    """An endless supply of documents, cut from one pool of words, so that each costs one `join`."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        known = [_word(draw) for _ in range(_VOCABULARY)]
        # Some words are common and most are rare, as in any language.
        ranks = [1 / (rank + 3) for rank in range(_VOCABULARY)]
        self._words = draw.choices(known, ranks, k=_POOL)

    def document(self, index: int, words: int) -> str:
        """Document `index`, of so many words."""
        at = index * 7919 % _POOL  # a prime: neighbours share no words, all places come up
        found = self._words[at : at + words]
        while len(found) < words:
            found += self._words[: words - len(found)]
        return " ".join(found)


def _word(draw: random.Random) -> str:
    return "".join(
        draw.choice(_ONSETS) + draw.choice(_VOWELS) + draw.choice(_ENDS) for _ in range(draw.randint(1, 3))
    )
