"""Repetitions into figures, cells into ratios."""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.lanes.base import Pool
from streamlanes.stats import Ratio, Spread, fit_line, noise, paired, paired_ratio, pool, same, spread, t95

sizes = st.floats(min_value=0.01, max_value=1e6)
pairs = st.lists(st.tuples(sizes, sizes), min_size=2, max_size=12)


@pytest.mark.parametrize("how", Pool)
def test_every_way_to_pool_exists(how: Pool) -> None:
    assert pool([3.0, 1.0, 2.0], how) == {Pool.MEDIAN: 2.0, Pool.MAX: 3.0}[how]


def test_nothing_pools_to_nothing() -> None:
    with pytest.raises(ValueError, match="no value"):
        pool([], Pool.MEDIAN)
    with pytest.raises(ValueError, match="no value"):
        spread([])


def test_a_spread_has_the_middle_and_both_ends() -> None:
    assert spread([4.0, 1.0, 9.0, 2.0]) == Spread(median=3.0, low=1.0, high=9.0, count=4)


def test_equal_ratios_have_no_width() -> None:
    found = paired_ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.pairs == 3


def test_the_interval_is_students_on_the_logarithms() -> None:
    # logs 0, ln 4: mean ln 2, standard deviation ln 4 / sqrt 2, t with one degree of freedom 12.706
    found = paired_ratio([1.0, 4.0], [1.0, 1.0])
    half = 12.706 * (math.log(4) / math.sqrt(2)) / math.sqrt(2)
    assert found.value == pytest.approx(2.0)
    assert found.low == pytest.approx(2 * math.exp(-half))
    assert found.high == pytest.approx(2 * math.exp(half))


def test_pairing_takes_out_what_both_share() -> None:
    drift = [1.0, 5.0, 25.0, 125.0]  # each repetition five times slower than the one before
    found = paired_ratio([0.8 * d for d in drift], drift)
    assert found.low == pytest.approx(0.8)
    assert found.high == pytest.approx(0.8)


def test_one_pair_has_no_interval() -> None:
    assert paired_ratio([3.0], [2.0]) == Ratio(pytest.approx(1.5), None, None, 1)


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 2.0]), ([], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_what_has_no_ratio_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pairs|ratio"):
        paired_ratio(a, b)


@given(pairs)
def test_turned_round_a_ratio_is_its_inverse(values: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in values], [y for _, y in values]
    one, other = paired_ratio(a, b), paired_ratio(b, a)
    assert one.value * other.value == pytest.approx(1)
    assert one.low is not None
    assert other.high is not None
    assert math.log(one.low) == pytest.approx(-math.log(other.high), abs=1e-6)
    assert one.low <= one.value * (1 + 1e-9)


def test_the_table_of_t_leaves_95_percent_within() -> None:
    for degrees in [*range(1, 31), 40, 60, 100]:
        assert _within(t95(degrees), degrees) == pytest.approx(0.95, abs=2e-4), degrees


def test_between_table_rows_the_wider_interval_is_taken() -> None:
    assert t95(35) == t95(30) > t95(40)
    assert t95(5000) == t95(100)
    with pytest.raises(ValueError, match="two pairs"):
        t95(0)


def _within(t: float, degrees: int) -> float:
    """The share of Student's distribution between -t and t, by Simpson's rule on its angle."""
    steps = 400
    end = math.atan(t / math.sqrt(degrees))
    heights = [math.cos(end * i / steps) ** (degrees - 1) for i in range(steps + 1)]
    area = (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])) * end / steps / 3
    log_scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(math.pi) / 2
    return 2 * area * math.exp(log_scale)


def test_noise_is_half_the_range_over_the_median() -> None:
    assert noise([95.0, 100.0, 105.0]) == pytest.approx(0.05)


@pytest.mark.parametrize("values", [[], [5.0], [-1.0, 0.0, 1.0]])
def test_noise_is_not_known_without_repetitions(values: list[float]) -> None:
    assert noise(values) is None


@given(st.lists(sizes, min_size=2, max_size=9))
def test_noise_reaches_from_the_middle_over_half_the_range(values: list[float]) -> None:
    found = noise(values)
    assert found is not None
    assert found * median(values) * 2 == pytest.approx(max(values) - min(values))


@pytest.mark.parametrize(
    ("ratio", "known_noise", "expected"),
    [
        (Ratio(1.1, 0.9, 1.3, 3), None, True),
        (Ratio(1.1, 1.05, 1.2, 3), 0.02, False),
        (Ratio(1.01, 1.005, 1.02, 3), 0.02, True),
        (Ratio(0.99, None, None, 1), 0.02, True),
        (Ratio(0.97, None, None, 1), 0.02, False),
        (Ratio(1.5, None, None, 1), None, True),
    ],
)
def test_same_needs_an_interval_with_1_or_a_difference_below_noise(
    ratio: Ratio, known_noise: float | None, expected: bool
) -> None:
    assert same(ratio, known_noise) is expected


def test_repetitions_are_paired_with_their_own_and_spare_ones_in_order():
    assert paired({1: 1.0, 2: 2.0, 3: 3.0}, {1: 10.0, 3: 30.0, 4: 40.0}) == (
        [1.0, 3.0, 2.0],
        [10.0, 30.0, 40.0],
    )
    assert paired({1: 1.0}, {2: 20.0, 3: 30.0}) == ([1.0], [20.0])
    assert paired({}, {1: 1.0}) == ([], [])


@given(intercept=sizes, slope=sizes, xs=st.lists(st.integers(0, 20_000), min_size=2, max_size=6, unique=True))
def test_points_on_a_line_give_the_line(intercept: float, slope: float, xs: list[int]) -> None:
    fit = fit_line(xs, [intercept + slope * x for x in xs])
    assert fit.slope == pytest.approx(slope, rel=1e-6, abs=1e-6 * intercept)
    assert fit.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-6 * slope * max(xs))


@pytest.mark.parametrize(("xs", "ys"), [([], []), ([1], [1]), ([2, 2], [1, 3]), ([1, 2], [1])])
def test_no_line_goes_through_too_little(xs: list[float], ys: list[float]) -> None:
    with pytest.raises(ValueError, match="line"):
        fit_line(xs, ys)
