"""similarity: a look-up. A text's byte histogram against a seeded corpus, cosine by BLAS, top ten."""

import numpy as np
import numpy.typing as npt

from streamlanes.cpu.shared import SharedTable

NEAREST = 10
_CORPUS, _DIMENSIONS, _MOST = 10_000, 256, 127
_SEED = 20_232


class Similarity:
    """Text to the places of its nearest ten in the corpus and their cosines, nearest first: 20 floats."""

    varies = False

    def __init__(self, corpus: SharedTable) -> None:
        self._corpus = corpus
        self._rows = corpus.values
        wide = self._rows.astype(np.float64)
        self._lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide)).astype(np.float32)

    def __call__(self, text: str) -> npt.NDArray[np.float32]:
        """The products are sums of whole numbers below 2**24, so that BLAS may add them as it likes."""
        counted = np.bincount(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8), minlength=256)
        query = np.minimum(counted, _MOST).astype(np.float32)
        cosines = (self._rows @ query) / self._lengths
        length = np.float32(np.sqrt(float((query * query).sum())))
        if length:
            cosines /= length
        least = np.partition(cosines, -NEAREST)[-NEAREST]
        near = np.flatnonzero(cosines >= least)
        best = near[np.lexsort((near, -cosines[near]))][:NEAREST]
        return np.concatenate((best.astype(np.float32), cosines[best]))

    def __reduce__(self) -> tuple[object, ...]:
        return (Similarity, (self._corpus,))


def open_kernel() -> Similarity:
    """The kernel with a corpus of its own."""
    return Similarity(SharedTable.create(_SEED, _CORPUS, _DIMENSIONS))
