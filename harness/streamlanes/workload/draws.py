"""Where a quantity's values come from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Dist:
    """A constant (sigma 0) or a lognormal with this median and this sigma of the logarithm."""

    median: float
    sigma: float = 0.0

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` values."""
        if self.sigma == 0:
            return np.full(count, float(self.median))
        return self.median * np.exp(self.sigma * rng.standard_normal(count))
