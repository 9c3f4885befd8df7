"""Where a quantity's values come from: a constant, a lognormal, a heavy tail, quantiles, a recording."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHARES: tuple[float, ...] = (
    *(each / 100 for each in range(100)),
    *(each / 1000 for each in range(991, 1000)),
    0.9995,
    1.0,
)
"""The shares at which a table holds quantiles: whole percents, and finer where the tail is."""


class Draw(Protocol):
    """Values of one quantity. `shown`: how a record names it."""

    @property
    def median(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def shown(self) -> object: ...
    def draw(self, rng: np.random.Generator, count: int) -> Floats: ...


@dataclass(frozen=True)
class Dist:
    """A constant (sigma 0) or a lognormal with this median and this sigma of the logarithm."""

    median: float
    sigma: float = 0.0

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.median * math.exp(self.sigma**2 / 2)

    @property
    def shown(self) -> object:
        """A number, or the two parameters."""
        return {"median": self.median, "sigma": self.sigma} if self.sigma else self.median

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` values."""
        if self.sigma == 0:
            return np.full(count, float(self.median))
        return self.median * np.exp(self.sigma * rng.standard_normal(count))


@dataclass(frozen=True)
class HeavyTailed:
    """A Pareto distribution from 0 on (Lomax) with this median. tail: its index, above 1; the smaller, the
    heavier: with 1.5 one value in 460 is above a hundred times the median."""

    median: float
    tail: float

    @property
    def mean(self) -> float:
        """The expected value."""
        return self._scale / (self.tail - 1)

    @property
    def shown(self) -> object:
        """The two parameters."""
        return {"median": self.median, "tail": self.tail}

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` values."""
        drawn: Floats = self._scale * rng.pareto(self.tail, count)
        return drawn

    @property
    def _scale(self) -> float:
        return self.median / math.expm1(math.log(2) / self.tail)


@dataclass(frozen=True)
class Quantiles:
    """The distribution that has these quantiles at SHARES, straight lines between. of: the source."""

    of: str
    values: tuple[int, ...]

    @property
    def median(self) -> float:
        """The middle value."""
        return self._at(0.5)

    @property
    def mean(self) -> float:
        """The expected value."""
        middles = (np.array(self.values[1:]) + np.array(self.values[:-1])) / 2
        return float((middles * np.diff(SHARES)).sum())

    @property
    def shown(self) -> Mapping[str, object]:
        """Its source, middle and tail."""
        return {"of": self.of, "median": self.median, "p99": self._at(0.99)}

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` values."""
        return np.interp(rng.random(count), SHARES, self.values)

    def _at(self, share: float) -> float:
        return float(np.interp(share, SHARES, self.values))


@dataclass(frozen=True, eq=False)
class Recorded:
    """Values that really occurred, in their order. of: the source."""

    of: str
    values: npt.NDArray[np.int64] | Floats

    @property
    def median(self) -> float:
        """The middle value."""
        return float(np.median(self.values))

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(self.values.mean())

    @property
    def shown(self) -> Mapping[str, object]:
        """Its source, middle and tail."""
        p99 = np.quantile(self.values, 0.99, method="inverted_cdf")
        return {"of": self.of, "median": self.median, "p99": float(p99)}

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """The first `count`; nothing is drawn."""
        return self.values[:count].astype(np.float64)


class Looped(Recorded):
    """A recording that is shorter than what is asked of it: in its order, over and over."""

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` values from a drawn place on, so that another seed is another load."""
        return np.resize(np.roll(self.values, -int(rng.integers(len(self.values)))), count).astype(np.float64)
