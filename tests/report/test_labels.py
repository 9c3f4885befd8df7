"""Names at the ends of lines."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamlanes.report.labels import Named, name_lines, spread_out
from streamlanes.report.style import look
from streamlanes.series import Line


def plot() -> Axes:
    figure = Figure(figsize=(8, 4), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.1, 0.1, 0.6, 0.8))
    axes.set_xlim(0, 11)
    axes.set_ylim(0, 10)
    return axes


def named(name: str, x: Sequence[float], y: Sequence[float]) -> Named:
    return Named(name=name, look=look(Line(name)), x=x, y=y)


def places(axes: Axes) -> dict[str, tuple[float, float]]:
    return {text.get_text(): text.get_position() for text in axes.texts}


def test_lines_that_reach_the_end_are_named_in_the_margin_in_their_order() -> None:
    axes = plot()
    name_lines(axes, [named("low", [0, 10], [1, 5.0]), named("high", [0, 10], [1, 5.1])])
    found = places(axes)
    assert found["high"][1] > found["low"][1]
    assert all(x > 1 for x, _ in found.values()), "beyond the axes"
    assert axes.get_legend() is None


def test_a_line_that_stops_early_is_named_inside_beside_its_end() -> None:
    axes = plot()
    name_lines(axes, [named("whole", [0, 10], [1, 1]), named("short", [0, 4], [8, 8])])
    x, y = places(axes)["short"]
    assert 4 / 11 < x < 0.6
    assert y == pytest.approx(0.8, abs=0.05)


def test_a_name_moves_off_another_line() -> None:
    axes = plot()
    name_lines(axes, [named("whole", [0, 10], [5, 5]), named("short", [0, 4], [5, 5])])
    assert abs(places(axes)["short"][1] - 0.5) > 0.03


def test_where_no_place_is_free_a_legend_names_all() -> None:
    axes = plot()
    wall = [named(f"w{i}", [0, 10], [i / 4, i / 4]) for i in range(14, 26)]
    name_lines(axes, [*wall, named("short", [0, 4], [5, 5])])
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 13
    assert not axes.texts


@given(st.lists(st.floats(min_value=-50, max_value=150), min_size=1, max_size=10), st.floats(1, 11))
def test_places_keep_their_distance_and_stay_within(wanted: list[float], gap: float) -> None:
    found = spread_out(sorted(wanted), gap, 0.0, 100.0)
    assert len(found) == len(wanted)
    assert min(found) >= -1e-6
    assert max(found) <= 100 + 1e-6
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(found))


def test_places_with_room_are_where_they_were_wanted() -> None:
    assert spread_out([10.0, 50.0, 90.0], 5.0, 0.0, 100.0) == [10.0, 50.0, 90.0]
