"""hash-embed: every n-gram of bytes votes for one place of the vector. Pure Python, so it holds the GIL."""

from array import array
from math import sqrt

DIMENSIONS = 256
_FACTOR = 2_654_435_761  # 2**32 over the golden ratio: spreads neighbours far apart
_WORD = (1 << 32) - 1
_THREE, _FIVE = (1 << 24) - 1, (1 << 40) - 1


class HashEmbed:
    """Text to 256 floats of length 1; all 0 for an empty text."""

    varies = False

    def __call__(self, text: str) -> "array[float]":
        """Sum signs over all n-grams of three and of five bytes, then scale to length 1."""
        sums = [0] * DIMENSIONS
        window = 0
        for byte in text.encode("utf-8", "surrogatepass"):
            window = (window << 8 | byte) & _FIVE
            for gram in (window & _THREE, window):
                mixed = gram * _FACTOR & _WORD
                sums[mixed >> 24] += 1 if mixed & 0x800000 else -1
        length = sqrt(sum(each * each for each in sums))
        return array("f", [each / length for each in sums] if length else sums)
