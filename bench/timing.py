"""From a benchmark's rounds to a figure a person can compare."""

from collections.abc import Callable

from pytest_benchmark.fixture import BenchmarkFixture

Note = Callable[..., None]
"""Puts figures, by name, beside a benchmark: the fixture `note`."""


def fastest_s(benchmark: BenchmarkFixture) -> float | None:
    """The fastest round, which others on the machine disturbed least; None where nothing was timed."""
    return None if benchmark.stats is None else float(benchmark.stats.stats.min)


def ns_each(benchmark: BenchmarkFixture, count: int) -> float | None:
    """Nanoseconds for each of the `count` things done in a round, the loop around them included."""
    took_s = fastest_s(benchmark)
    return None if took_s is None else round(took_s * 1e9 / count, 1)


def mb_per_s(benchmark: BenchmarkFixture, size: int) -> float | None:
    """Megabytes (10**6) a second for `size` bytes in a round."""
    took_s = fastest_s(benchmark)
    return None if took_s is None else round(size / 1e6 / took_s, 1)
