"""Where points stand: over their number where all are in flight, over the measured mean where not."""

from dataclasses import replace
from typing import Any

from matplotlib.text import Text

from records import record
from streamlanes.lanes.io import LANE
from streamlanes.record import Record, StatusName
from streamlanes.report import growth
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.columns import columns, unplaced
from streamlanes.series import points

LATE = "latency.stream_ms.p99"
(CHART,) = (chart for chart in LANE.charts if chart.name == "lateness")


def arriving(backend: str, calls: int, mean: float, **axes: Any) -> Record:
    figures = {LATE: mean / 50, "counts.mean_in_flight": mean}
    made = record(backend, calls, workload="chat", axes=axes, figures=figures)
    made.cell.axes["arrival"] = "chat"
    return made


def test_calls_that_come_and_go_stand_at_the_measured_mean():
    run = [
        record("asyncio", 2000, figures={LATE: 2.0}),
        record("asyncio", 500, figures={LATE: 1.0}),
        *(arriving(b, n, n / 8 + more) for b, more in (("asyncio", 0), ("uvloop", 1)) for n in (500, 2000)),
    ]
    steady, chat = sorted(columns(CHART, points(run)), key=lambda column: column.measured)
    assert (steady.sizes, steady.x_axis) == ([500, 2000], "calls in flight")
    assert (chat.sizes, chat.x_axis) == ([62.5, 63.5, 250, 251], "mean calls in flight")
    assert chat.name == "chat workload"
    assert not chat.single


def test_poisson_arrivals_of_another_workload_have_a_column_of_their_own():
    ramp, poisson = record("asyncio", 500, figures={LATE: 1.0}), arriving("asyncio", 500, 80.0)
    poisson.cell.axes["arrival"] = "poisson"
    assert len(columns(CHART, points([ramp, poisson]))) == 2


def test_one_size_has_nothing_to_join_and_is_named_with_its_means():
    run = [arriving("asyncio", 2000, 412.34), arriving("uvloop", 2000, 409.0)]
    (column,) = columns(CHART, points(run))
    assert column.single
    assert column.name == "chat workload, 2,000 calls, 409 to 412 mean calls in flight"


def test_a_swept_scale_is_one_line_over_what_it_brings():
    run = [arriving("asyncio", 300, scale * 9.0, time_scale=scale) for scale in (1, 5, 20)]
    (column,) = columns(CHART, points(run))
    assert [line.label for line in column.lines] == ["asyncio"]
    assert column.sizes == [9, 45, 180]


def test_what_only_follows_from_a_setting_names_no_line():
    run = [arriving("asyncio", 300, scale * 9.0, time_scale=scale) for scale in (1, 5)]
    for made, ramp_s in zip(run, (50.0, 10.0), strict=True):
        made.cell.axes["ramp_s"] = ramp_s
    assert [point.line.label for point in points(run)] == ["asyncio, time scale 1", "asyncio, time scale 5"]


def test_a_cell_that_never_ran_is_said_and_not_placed():
    gone = record("threads", 2000, workload="chat", status=StatusName.UNSUPPORTED, reason="nofile")
    gone.cell.axes["arrival"] = "chat"
    assert columns(CHART, points([gone])) == []
    assert unplaced(CHART, points([gone])) == ["Not placed: threads at 2,000 calls: unsupported: nofile."]


def test_a_chart_of_growth_has_only_what_was_measured_at_several_sizes():
    grows = replace(CHART, growing=True)
    run = [record("asyncio", n, figures={LATE: 1.0}) for n in (500, 2000)]
    run.append(record("uvloop", 500, figures={LATE: 1.0}))
    (column,) = columns(grows, points(run))
    assert [line.label for line in column.lines] == ["asyncio"]
    assert [len(columns(CHART, points(run))[0].lines), len(columns(grows, points(run[2:])))] == [2, 1]
    with settings():
        sheet = growth.draw(grows, points(run), {})
    assert isinstance(sheet, Sheet)
    said = " ".join(text.get_text() for text in sheet.figure.findobj(Text))
    assert "one size only" in said


def test_the_chart_says_what_x_is_and_how_much_time_was_compressed():
    run = [
        arriving(b, 300, scale * 9.0, time_scale=scale) for b in ("asyncio", "uvloop") for scale in (1, 20)
    ]
    for made in run:
        made.cell.axes["tokens"] = {"of": "azure-2023-conversation", "median": 129, "p99": 601}
    with settings():
        sheet = growth.draw(CHART, points(run), {})
    assert isinstance(sheet, Sheet)
    said = " ".join(text.get_text() for text in sheet.figure.findobj(Text)).replace("\n", " ")
    assert "mean calls in flight" in said
    assert "arrivals 20x real time" in said
    assert "129 (median of azure-2023-conversation, p99 601) tokens a call" in said
