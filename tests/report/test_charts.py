"""Charts from declarations: nothing vanishes, nothing overlaps, the same run gives the same bytes."""

import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text

from records import LANE, record
from streamlanes.lanes import lane
from streamlanes.lanes.base import Chart, Kind, Panel
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.report import bars, growth, pools
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.charts import draw
from streamlanes.report.load import Run
from streamlanes.series import points

DRAWS = {Kind.GROWTH: growth.draw, Kind.BARS: bars.draw, Kind.POOLS: pools.draw}
IO = lane("io")
CHARTS = {chart.name: chart for chart in LANE.charts}
LATE, CPU, MEMORY = "latency.stream_ms.p99", "time.cpu_us_per_token", "memory.per_call_bytes"
BACKENDS = {"asyncio": 3.1, "uvloop": 2.2, "threads": 9.0, "processes+uvloop": 1.6}


def figures(size: float, **more: Any) -> dict[str, Any]:
    return {
        LATE: size,
        CPU: size * 10,
        MEMORY: size * 3000,
        "memory.fixed_per_call_bytes": 5000,
        "memory.kernel_per_call_bytes": size * 2000,
        "memory.reserved_per_call_bytes": 0,
        "time.overrun_s": size / 100,
        "latency.start_lag_ms.p99": size * 20,
        "time.provider_cpu_us_per_token": 9,
        "time.wall_s": 6 + size / 100,
        **more,
    }


def a_run() -> list[Record]:
    """What `quick` is like: one size of a short workload, several of a steady one, pools that are slow."""
    made = [record(b, 500, workload="lesson", figures=figures(v)) for b, v in BACKENDS.items()]
    for width, backend in ((6, "thread-pool"), (6, "asyncio+to_thread"), (2, "process-pool")):
        reckoned = {"time.predicted_wall_s": 250 / width, "time.projected_wall_s": 270 / width}
        made.append(
            record(
                backend,
                500,
                workload="lesson",
                status=StatusName.OVER_BUDGET,
                flags=[FlagName.BOUNDED],
                axes={"width": width},
                figures=reckoned,
            )
        )
    for repetition in (1, 2, 3):
        for backend in ("asyncio", "uvloop"):
            for calls in (2000, 10_000):
                size = BACKENDS[backend] * (calls / 2000) * (1 + repetition / 50)
                flags = [FlagName.CLIENT_LIMITED] if (backend, calls) == ("asyncio", 10_000) else []
                made.append(record(backend, calls, repetition, figures=figures(size), flags=flags))
    made.append(record("threads", 2000, figures=figures(30, **{"time.overrun_s": -0.001})))
    stopped = {"time.projected_wall_s": 74.2}
    made.append(record("threads", 10_000, status=StatusName.OVER_BUDGET, figures=stopped))
    unsupported = {"status": StatusName.UNSUPPORTED, "reason": "RLIMIT_NPROC", "reached": 1500}
    made.append(record("processes+uvloop", 2000, **unsupported))
    return made


def sheet(chart: Chart | str, records: Iterable[Record]) -> Sheet:
    chosen = CHARTS[chart] if isinstance(chart, str) else chart
    with settings():
        made = DRAWS[chosen.kind](chosen, points(records), {})
    assert isinstance(made, Sheet), made
    return made


def words(made: Sheet) -> str:
    return "\n".join(text.get_text() for text in made.figure.findobj(Text))


def marks(made: Sheet, colour: str) -> list[Line2D]:
    """Marks drawn in a colour, in the order drawn."""
    found = [line for axes in made.figure.axes for line in axes.lines]
    return [line for line in found if line.get_markeredgecolor() == colour and line.get_marker() != "None"]


@pytest.mark.parametrize("name", CHARTS)
def test_no_text_is_cut_off_or_written_over_another(name: str) -> None:
    made = sheet(name, a_run())
    with settings():
        made.figure.canvas.draw()
        boxes = [
            (text.get_text(), text.get_window_extent())
            for text in made.figure.findobj(Text)
            if text.get_visible() and text.get_text().strip()
        ]
    whole = made.figure.bbox
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1, text  # noqa: PT018
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        up = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or up < 2, f"{one!r} over {other!r}"


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_says_what_it_was_measured_on(name: str) -> None:
    text = " ".join(words(sheet(name, a_run())).split())
    assert CHARTS[name].title in text
    for part in (
        "Invented CPU 9000",
        "4 usable CPUs",
        "16 GiB",
        "Linux 6.8.0",
        "CPython 3.12.1",
        "uvloop 0.23",
    ):
        assert part in text
    assert "Client: streams" in text
    assert "tokens a call" in text
    assert "tokens/s in all" in text


def test_every_repetition_and_their_median_are_drawn() -> None:
    made = sheet(
        "lateness", [record(repetition=i, figures={LATE: v}) for i, v in ((1, 2.0), (2, 9.0), (3, 4.0))]
    )
    drawn = sorted(float(line.get_xdata()[0]) for line in marks(made, "#1f5fbf"))
    assert drawn == [2.0, 4.0, 4.0, 9.0]
    assert "repetitions" in words(made)


def test_flagged_cells_are_hollow_and_named() -> None:
    made = sheet("lateness", [record("asyncio", figures={LATE: 2.0}, flags=[FlagName.NOISY_HOST])])
    assert [line.get_markerfacecolor() for line in marks(made, "#1f5fbf")] == ["white"]
    assert "noisy-host (asyncio at 2,000)" in words(made)


def test_many_flagged_cells_are_not_all_named() -> None:
    noisy = {"figures": {LATE: 2.0}, "flags": [FlagName.NOISY_HOST]}
    every = [record(b, calls, **noisy) for b in BACKENDS for calls in (500, 2000)]
    assert "noisy-host (all)" in words(sheet("lateness", every))
    quiet = record("asyncio", 9000, figures={LATE: 2.0})
    assert "and 2 more" in words(sheet("lateness", [*every, quiet]))


def test_a_note_of_a_bound_is_no_doubt() -> None:
    made = sheet("memory", [record("asyncio", figures={MEMORY: 2.0}, flags=[FlagName.BOUNDED])])
    assert "Hollow" not in words(made)


def test_stopped_cells_are_marked_at_their_size_and_said_in_words() -> None:
    text = words(sheet("lateness", a_run()))
    assert "threads: over budget, about 74 s" in text
    assert "processes+uvloop: unsupported at 1,500" in text


def test_a_stopped_cells_figures_are_not_drawn() -> None:
    half = record("asyncio", 500, status=StatusName.OVER_BUDGET, figures={LATE: 777.0})
    text = words(sheet("lateness", [half, record("uvloop", 500, figures={LATE: 2.0})]))
    assert "777" not in text
    assert "over budget" in text


def test_some_repetitions_stopped_are_counted() -> None:
    records = [record(repetition=1, figures={LATE: 2.0}), record(repetition=2, status=StatusName.CRASHED)]
    assert "crashed (1 of 2)" in words(sheet("lateness", records))


def test_missing_figures_are_said_by_workload_with_the_reason() -> None:
    records = [
        *(record(b, 500, workload="lesson", missing={CPU: "no plateau"}) for b in ("asyncio", "uvloop")),
        *(record(b, 2000, figures={CPU: 20.0}) for b in ("asyncio", "uvloop")),
    ]
    assert "all of lesson: no plateau" in words(sheet("cpu", records))


def test_bounded_pools_are_left_out_of_growth_and_that_is_said() -> None:
    made = sheet("overrun", a_run())
    assert "left out: thread-pool, process-pool, asyncio+to_thread" in words(made)
    assert not marks(made, "#b05cc0")


def test_pools_stand_beside_prediction_and_projection() -> None:
    made = sheet("pools", a_run())
    text = words(made)
    assert "thread-pool, width 6" in text
    assert "process-pool, width 2" in text
    assert "over budget, about 45 s" in text
    at = [float(line.get_xdata()[0]) for line in marks(made, "#b05cc0") if line.get_marker() == "d"]
    assert at == [45.0]


def test_pools_that_finished_show_what_was_measured() -> None:
    done = {"time.wall_s": 4.1, "time.predicted_wall_s": 3.9}
    made = sheet("pools", [record("thread-pool", 500, axes={"width": 64}, figures=done)])
    assert "measured" in words(made)
    assert [float(line.get_xdata()[0]) for line in marks(made, "#b05cc0")] == [4.1]


def test_a_pool_as_wide_as_there_are_calls_stands_beside_the_narrow_ones() -> None:
    walls = {64: 4.1, 500: 0.6, 6: 43.0}
    records = [
        record("thread-pool", 500, axes={"width": width}, figures={"time.wall_s": wall})
        for width, wall in walls.items()
    ]
    made = sheet("pools", records)
    assert [float(line.get_xdata()[0]) for line in marks(made, "#b05cc0")] == [43.0, 4.1, 0.6]
    assert "thread-pool, width 500" in words(made)


def test_zero_and_negative_figures_stay_on_a_logarithmic_chart() -> None:
    records = [
        record(b, calls, figures={"time.overrun_s": over})
        for calls in (500, 2000)
        for b, over in (("asyncio", 0.0), ("uvloop", -0.01), ("threads", 3.0))
    ]
    made = sheet("overrun", records)
    axes = made.figure.axes[0]
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "symlog"
    assert low < -0.01
    assert high > 3
    assert "ideal" in words(made)


def test_stacked_bars_end_where_their_parts_sum_to() -> None:
    parts = {MEMORY: 2048, "memory.fixed_per_call_bytes": 1024, "memory.kernel_per_call_bytes": -1024}
    made = sheet("memory", [record(figures=parts)])
    resident, kernel = made.figure.axes
    assert [(bar.get_x(), bar.get_width()) for bar in resident.patches if bar.get_height() < 1][:2] == [
        (0.0, 2.0),
        (2.0, 1.0),
    ]
    assert "3.0" in {text.get_text() for text in resident.texts}
    assert kernel.get_xlim()[0] < -1


def test_a_logarithmic_panel_of_a_bar_chart_has_marks_in_place_of_bars() -> None:
    chart = Chart(
        name="m",
        title="t",
        kind=Kind.BARS,
        x="cell.calls",
        x_axis="calls",
        panels=(Panel(y=(MEMORY,), axis="b"),),
    )
    made = sheet(chart, [record(b, figures={MEMORY: v}) for b, v in (("asyncio", 10), ("threads", 8e6))])
    assert made.figure.axes[0].get_xscale() == "log"
    assert len(marks(made, "#1a8a74")) == 1


def test_lines_of_an_axis_are_not_named_by_it() -> None:
    chart = Chart(
        name="r",
        title="t",
        kind=Kind.GROWTH,
        x="cell.axes.rate_per_s",
        x_axis="tokens/s",
        panels=(Panel(y=(LATE,), axis="ms"),),
    )
    records = [
        record(b, axes={"rate_per_s": rate}, figures={LATE: rate / 1000})
        for b in ("asyncio", "uvloop")
        for rate in (1000.0, 5000.0, 20000.0)
    ]
    text = words(sheet(chart, records))
    assert "steady workload, 2,000 calls" in text
    assert "uvloop" in text
    assert "rate 1,000" not in text


def draw_all(records: list[Record], folder: Path) -> dict[str, Any]:
    made = draw(Run(folder=folder, info={}, records=records), LANE, folder)
    return {chart.name: chart for chart in made}


def test_the_same_run_gives_the_same_svg_and_large_pngs(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    few = [record(b, figures=figures(v)) for b, v in BACKENDS.items()]
    found, again = draw_all(few, one), draw_all(few, other)
    for name in ("lateness", "memory"):
        svg = found[name].svg.read_bytes()
        assert svg == again[name].svg.read_bytes()
        assert b"<dc:date>" not in svg
        width = int.from_bytes(found[name].png.read_bytes()[16:20], "big")
        drawn_in = float(re.search(rb'width="([\d.]+)pt"', svg)[1]) / 72
        assert width / drawn_in >= 150


def test_svg_text_can_be_searched(tmp_path: Path) -> None:
    made = draw_all([record("uvloop", figures=figures(2))], tmp_path)
    assert ">uvloop</text>" in made["lateness"].svg.read_text(encoding="utf-8")


def test_a_chart_without_figures_is_left_out_with_its_reason(tmp_path: Path) -> None:
    made = draw_all([record(missing={LATE: "no call that ended ok"}, figures={CPU: 3.0})], tmp_path)
    assert made["lateness"].svg is None
    assert made["lateness"].empty_reason == "asyncio: no call that ended ok"
    assert made["pools"].empty_reason == "no cell of this run has a width"
    assert made["cpu"].svg.is_file()
    assert not (tmp_path / "lateness.svg").exists()


def test_each_client_has_charts_of_its_own(tmp_path: Path) -> None:
    made = draw_all([record(figures={LATE: 2.0}), record(client="floor", figures={LATE: 1.0})], tmp_path)
    assert {"lateness-streams", "lateness-floor"} <= set(made)


def test_charts_draw_the_backends_they_name(tmp_path: Path) -> None:
    made = draw_all([record(b, figures={LATE: 2.0}) for b in ("uvloop", "zebra")], tmp_path)
    svg = made["lateness"].svg.read_text(encoding="utf-8")
    assert "zebra" not in svg


def test_drawing_leaves_the_callers_settings_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    sheet("lateness", [record(figures={LATE: 2.0})])
    assert dict(mpl.rcParams) == before


def apart_run(*workloads: str) -> Run:
    made = [
        record(b, calls, workload=name, figures=figures(value, **{"counts.mean_in_flight": calls / 3}))
        for name in workloads
        for b, value in BACKENDS.items()
        for calls in (500, 2000)
    ]
    return Run(folder=Path("run"), info={}, records=made)


def test_a_workload_with_a_chart_of_its_own_leaves_the_main_comparison(tmp_path: Path) -> None:
    made = draw(apart_run("steady", "paced", "lockstep", "chat"), IO, tmp_path)
    texts = {each.name: each.svg.read_text() for each in made if each.svg is not None}
    assert "paced workload" in texts["paced"]
    assert "paced workload" not in texts["lateness"]
    assert "steady workload" in texts["lateness"]
    assert "steady workload" in texts["lockstep"], "phased calls stand beside those in lockstep"
    assert "mean calls in flight" in texts["arriving"]


def test_a_workload_alone_has_the_main_charts(tmp_path: Path) -> None:
    made = {each.name: each for each in draw(apart_run("paced"), IO, tmp_path)}
    assert "paced" not in made
    assert made["lateness"].svg is not None
    assert "paced workload" in made["lateness"].svg.read_text()


def flood() -> list[Record]:
    took = {"work.per_s": 95_000.0, "work.cpu_us_per_unit": 9.5}
    return [record(b, 20, workload="flood", figures=figures(value, **took)) for b, value in BACKENDS.items()]


def test_a_flood_shows_ceilings_beside_others_and_alone(tmp_path: Path) -> None:
    beside = Run(folder=Path("run"), info={}, records=[*apart_run("steady").records, *flood()])
    made = {each.name: each for each in draw(beside, IO, tmp_path)}
    assert "tokens taken per second" in made["ceiling"].svg.read_text()
    assert "flood" not in made["lateness"].svg.read_text()
    alone = {
        each.name: each for each in draw(Run(folder=Path("run"), info={}, records=flood()), IO, tmp_path)
    }
    assert alone["ceiling"].svg is not None
