"""static-embed: token ids, the mean of their rows in a static table, L2 norm. The shape of model2vec
and its kin, with a seeded table in place of a trained one."""

from math import sqrt

import numpy as np
import numpy.typing as npt

from streamlanes.cpu.shared import SharedTable
from streamlanes.cpu.tokenize import encoding

DIMENSIONS = 128
_SEED = 20_231


class StaticEmbed:
    """Text to 128 floats of length 1; all 0 for an empty text."""

    varies = False

    def __init__(self, table: SharedTable) -> None:
        self._table = table
        self._encode = encoding().encode_ordinary

    def __call__(self, text: str) -> npt.NDArray[np.float32]:
        """The scaled sum of the tokens' rows: of length 1 it is the scaled mean too."""
        ids = self._encode(text)
        total = self._table.values[ids].sum(axis=0).astype(np.float64)
        length = sqrt(float(total @ total))  # whole numbers below 2**53: exact in any order
        found: npt.NDArray[np.float32] = (total / length if length else total).astype(np.float32)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return (StaticEmbed, (self._table,))


def open_kernel() -> StaticEmbed:
    """The kernel with a table of its own."""
    return StaticEmbed(SharedTable.create(_SEED, encoding().n_vocab, DIMENSIONS))
