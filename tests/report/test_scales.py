"""Limits and ticks."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlanes.report.scales import Way, figures_axis, log_ticks, sizes_axis


def axes() -> Axes:
    return Figure().add_subplot()


def y_ticks(made: Axes) -> list[str]:
    low, high = made.get_ylim()
    formatter = made.yaxis.get_major_formatter()
    return [formatter(t) for t in made.yaxis.get_major_locator()() if low <= t <= high]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.0, 50.0], ["1", "2", "5", "10", "20", "50"]), ([1.0, 5000.0], ["1", "10", "100", "1,000"])],
)
def test_logarithmic_ticks_are_round_numbers(values: Sequence[float], wanted: list[str]) -> None:
    made = axes()
    figures_axis(made, Way.Y, values, log=True)
    assert made.get_yscale() == "log"
    assert y_ticks(made) == wanted


def test_a_flat_picture_stays_flat() -> None:
    made = axes()
    figures_axis(made, Way.Y, [100.0, 102.0], log=True)
    low, high = made.get_ylim()
    assert high / low > 3


figures = st.just(0.0) | st.floats(1e-6, 1e6) | st.floats(-1e5, -1e-6)


@given(st.lists(figures, min_size=1, max_size=9), st.booleans())
@settings(deadline=None, max_examples=60)
def test_no_figure_is_ever_outside(values: list[float], log: bool) -> None:
    made = axes()
    figures_axis(made, Way.Y, values, log=log)
    low, high = made.get_ylim()
    assert low <= min(values)
    assert max(values) <= high
    assert low < high


def test_a_zero_on_a_logarithmic_axis_makes_it_symmetric_with_a_zero_tick() -> None:
    made = axes()
    figures_axis(made, Way.Y, [-0.002, 0.0, 3.0], log=True)
    assert made.get_yscale() == "symlog"
    assert "0" in y_ticks(made)


def test_a_plain_axis_begins_at_zero() -> None:
    made = axes()
    figures_axis(made, Way.Y, [20.0, 30.0], log=False)
    assert made.get_ylim()[0] == 0
    assert y_ticks(made)[0] == "0"


def test_room_is_left_beyond_the_last_figure() -> None:
    tight, roomy = axes(), axes()
    figures_axis(tight, Way.X, [1.0, 50.0], log=True)
    figures_axis(roomy, Way.X, [1.0, 50.0], log=True, room=0.2)
    assert roomy.get_xlim()[1] > tight.get_xlim()[1] * 1.5


def test_sizes_have_a_tick_each_named_as_set() -> None:
    made = axes()
    sizes_axis(made, Way.Y, [500, 2000, 10_000])
    assert y_ticks(made) == ["500", "2,000", "10,000"]


def test_sizes_too_near_to_be_named_leave_some_out_but_never_the_ends() -> None:
    made = axes()
    sizes_axis(made, Way.Y, [960, 1000, 5000, 9800, 10_000])
    assert y_ticks(made) == ["960", "5,000", "10,000"]


def test_one_size_is_no_range_of_zero() -> None:
    made = axes()
    sizes_axis(made, Way.Y, [500])
    low, high = made.get_ylim()
    assert low < 500 < high


@given(st.floats(min_value=1e-6, max_value=1e6), st.floats(min_value=3, max_value=1e7))
def test_there_is_always_something_to_read(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert 1 <= len(ticks) <= 9
    assert ticks == sorted(set(ticks))
