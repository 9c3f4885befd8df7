"""What the real lanes declare can be drawn and tabled."""

import pytest

from streamlanes.lanes import LANES, lane
from streamlanes.lanes.base import Kind
from streamlanes.workload import WORKLOADS


@pytest.mark.parametrize("name", LANES)
def test_headline_and_charts_name_declared_metrics(name: str) -> None:
    one = lane(name)
    declared = {metric.path for metric in one.metrics}
    assert len(declared) == len(one.metrics), "a path stands for one figure"
    assert set(one.headline) <= declared
    for workload, paths in one.headline_of.items():
        assert workload in WORKLOADS
        assert set(paths) <= declared
        assert len(paths) == len(one.headline), "one width for all tables"
    assert {path for chart in one.charts for panel in chart.panels for path in panel.y} <= declared


@pytest.mark.parametrize("name", LANES)
def test_charts_have_names_of_their_own_and_a_label_for_each_part(name: str) -> None:
    charts = lane(name).charts
    assert len({chart.name for chart in charts}) == len(charts)
    for chart in charts:
        for panel in chart.panels:
            assert len(panel.y) == 1 or len(panel.labels) == len(panel.y), (chart.name, panel.axis)


def test_the_first_chart_of_the_io_lane_has_six_lines_at_most() -> None:
    first = lane("io").charts[0]
    assert first.kind is Kind.GROWTH
    assert first.backends is not None
    assert len(first.backends) <= 6
