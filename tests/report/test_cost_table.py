"""The table and the chart of what a client costs."""

from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
from matplotlib.text import Text

from records import LANE as SMALL
from records import record
from streamlanes.costs import SETUP, TOKEN, costs
from streamlanes.lanes.base import Kind
from streamlanes.lanes.io import LANE
from streamlanes.record import Record, StatusName
from streamlanes.report import cost_chart
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.charts import draw
from streamlanes.report.cost_table import lines, table
from streamlanes.report.load import Run

(CHART,) = (chart for chart in LANE.charts if chart.kind is Kind.COSTS)
PER_CALL = "memory.per_call_bytes"


def cell(client: str, backend: str, calls: int, token: float, **more: Any) -> Record:
    figures = {
        TOKEN: token,
        SETUP: 40 * token,
        PER_CALL: 51_200,
        "memory.held_calls": calls,
        "memory.plateau_pss_bytes": (20 << 20) + 51_200 * calls,
    }
    return record(backend, calls, client=client, figures=figures, axes={"tls": True}, **more)


def a_run() -> list[Record]:
    made = [
        cell(client, backend, calls, token * (1.3 if backend == "asyncio" else 1.0), repetition=repetition)
        for client, token in (("aiohttp", 28.0), ("httpx", 140.0))
        for backend in ("asyncio", "uvloop")
        for calls in (125, 250, 500)
        for repetition in ((1, 2, 3) if calls == 125 else (1,))
    ]
    late = {"time.projected_wall_s": 90.0}
    made.append(
        record(
            "uvloop", 2000, client="httpx", axes={"tls": True}, figures=late, status=StatusName.OVER_BUDGET
        )
    )
    versions = {"libraries": {"httpx": "0.28.1", "httpcore": "1.0.9", "h11": "0.16.0"}}
    return [
        msgspec.structs.replace(each, interpreter=versions) if each.cell.client == "httpx" else each
        for each in made
    ]


def test_a_row_has_every_figure_with_its_unit_and_the_library_its_version():
    made = table(a_run(), LANE)
    assert made is not None
    assert made.first == ("client", "way")
    rows = {(row.group, row.line): row for row in made.rows}
    httpx = rows["httpx 0.28.1 on httpcore 1.0.9", "asyncio, TLS"]
    assert httpx.figures[:5] == ("182 us", "7,280 us", "-", "50 KiB", "20 MiB")
    faster = next(row for (group, line), row in rows.items() if line == "uvloop, TLS" and not group)
    assert faster.figures[2] in {"-", "2,000: -"}
    ratios = [row.figures[6] for row in made.rows]
    assert ratios == ["-", "0.77x [0.77, 0.77]", "-", "0.77x [0.77, 0.77]"]


def test_how_a_size_ended_and_what_sizes_were_used_stand_beside():
    made = table(a_run(), LANE)
    assert made is not None
    (stopped,) = [row for row in made.rows if "over budget" in row.note]
    assert "2,000: over budget, about 90 s" in stopped.note
    assert "memory at 125, 250, 500" in stopped.note
    assert "3 pairs at 125" in stopped.note


def test_missing_figures_have_their_reason_below():
    plain = record("uvloop", 500, client="aiohttp", missing={TOKEN: "no plateau", SETUP: "no plateau"})
    made = table([*a_run(), plain], LANE)
    assert made is not None
    assert "bears: no knee was sought: all" in made.why
    assert "CPU/token: no plateau: aiohttp (uvloop, plain)" in made.why
    assert any(why.startswith("uvloop/asyncio: no repetition in which both") for why in made.why)


def test_it_is_printed_where_there_is_something_to_compare_and_nowhere_else():
    text = lines(a_run(), LANE)
    assert "What a client costs" in text[0]
    assert any("httpx 0.28.1 on httpcore 1.0.9" in line for line in text)
    assert lines([record(), record("uvloop")], LANE) == []
    assert lines(a_run(), SMALL) == [], "a lane without the figures"


def test_the_chart_has_a_row_for_each_and_nothing_is_written_over():
    with settings():
        made = cost_chart.draw(CHART, costs(a_run()), {})
        assert isinstance(made, Sheet), made
        made.figure.canvas.draw()
        boxes = [
            (text.get_text(), text.get_window_extent())
            for text in made.figure.findobj(Text)
            if text.get_visible() and text.get_text().strip()
        ]
    words = {text for text, _ in boxes}
    assert {"httpx: asyncio, TLS", "httpx: uvloop, TLS", "aiohttp: uvloop, TLS", "500 calls, steady"} <= words
    for (one, a), (other, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or up < 2, f"{one!r} over {other!r}"


def test_without_a_comparison_it_is_not_drawn(tmp_path: Path):
    figures = {"latency.stream_ms.p99": 2.0}
    run = Run(folder=tmp_path, info={}, records=[record(figures=figures)])
    (costs_chart,) = [chart for chart in draw(run, LANE, tmp_path) if chart.name == "costs"]
    assert costs_chart.empty_reason == "no two libraries ran under the same backend"
