"""The capacity chart: a bracket, or an arrow where the knee may lie further on."""

from itertools import combinations
from pathlib import Path

from matplotlib.text import Annotation, Text

from records import record
from streamlanes.capacity import capacities
from streamlanes.knee import CLIENT_PART, LATE
from streamlanes.lanes.base import Kind
from streamlanes.lanes.io import LANE
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.report.canvas import Sheet, settings
from streamlanes.report.capacity import draw
from streamlanes.report.charts import draw as draw_all
from streamlanes.report.load import Run
from streamlanes.report.tables import capacity, lines, tables

(CHART,) = (chart for chart in LANE.charts if chart.kind is Kind.CAPACITY)


def step(backend: str, rate: float, late: float, **more: object) -> Record:
    figures = {LATE: late, CLIENT_PART: 1.0}
    return record(backend, axes={"rate_per_s": rate}, figures=figures, knee_bound_ms=50.0, **more)


def searches() -> list[Record]:
    limited = {"flags": [FlagName.PROVIDER_LIMITED]}
    return [
        step("asyncio", 20_000, 9.0),
        step("asyncio", 22_000, 400.0, flags=[FlagName.NOISY_HOST]),
        step("asyncio", 22_000, 400.0, repetition=2),
        step("uvloop", 33_600, 9.0),
        step("uvloop", 36_700, 400.0),
        step("uvloop", 80_000, 9.0, client="floor"),
        step("uvloop", 87_000, 400.0, client="floor", **limited),
        step("threads", 625, 900.0),
        step("processes+uvloop", 20_000, 1.0, status=StatusName.UNSUPPORTED, reason="nofile: 64 needed"),
    ]


def sheet(records: list[Record]) -> Sheet:
    with settings():
        made = draw(CHART, capacities(records))
    assert isinstance(made, Sheet), made
    return made


def words(made: Sheet) -> set[str]:
    return {text.get_text() for text in made.figure.findobj(Text)}


def arrows(made: Sheet) -> list[tuple[float, float]]:
    """Where arrows start, and how far to the right they point."""
    found = [each for axes in made.figure.axes for each in axes.texts if isinstance(each, Annotation)]
    return [(each.xy[0], each.xyann[0]) for each in found if each.arrow_patch is not None]


def test_a_bracket_is_a_mark_with_a_bar_to_the_rate_not_borne():
    (axes,) = sheet(searches()).figure.axes
    bars = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
    assert [list(bar) for bar in bars] == [[20_000, 22_000], [33_600, 36_700]]


def test_an_open_end_is_an_arrow():
    made = sheet(searches())
    right = [x for x, by in arrows(made) if by > 0]
    left = [x for x, by in arrows(made) if by < 0]
    assert (right, left) == ([80_000], [625])
    assert {">= 80,000 tokens/s", "< 625 tokens/s", "no rate", "33,600 tokens/s"} <= words(made)


def test_what_was_not_borne_is_hollow():
    (axes,) = sheet(searches()).figure.axes
    faces = {
        line.get_xdata()[0]: line.get_markerfacecolor()
        for line in axes.lines
        if len(line.get_xdata()) == 1 and line.get_marker() != "|"
    }
    assert {x for x, face in faces.items() if face == "white"} == {625}


def test_every_reason_is_said_and_nothing_is_written_over():
    made = sheet(searches())
    text = " ".join(" ".join(words(made)).split())
    assert "floor: uvloop, within 50 ms: provider-limited at 87,000 tokens/s." in text
    assert "nofile: 64 needed" in text
    with settings():
        made.figure.canvas.draw()
        boxes = [
            (each.get_text(), each.get_window_extent())
            for each in made.figure.findobj(Text)
            if each.get_visible() and each.get_text().strip()
        ]
    for one, box in boxes:
        assert box.x0 >= 0, one
        assert box.x1 <= made.figure.bbox.x1, one
    for (one, a), (other, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or up < 2, f"{one!r} over {other!r}"


def test_one_chart_holds_all_clients_and_the_others_hold_no_step(tmp_path: Path):
    plain = [record(name, figures={LATE: 2.0}) for name in ("asyncio", "uvloop")]
    made = {
        c.name: c
        for c in draw_all(Run(folder=tmp_path, info={}, records=[*plain, *searches()]), LANE, tmp_path)
    }
    assert made["capacity"].svg is not None
    assert "lateness" in made, "one client was compared, so no name is needed"
    assert ">threads</text>" not in made["lateness"].svg.read_text(encoding="utf-8")
    assert made["axis-rate-per-s"].svg is None


def test_without_a_search_it_is_not_drawn():
    with settings():
        assert draw(CHART, []) == "no knee was sought in this run"
        only = step("uvloop", 20_000, 1.0, status=StatusName.UNSUPPORTED, reason="nofile: 64 needed")
        assert "nofile: 64 needed" in str(draw(CHART, capacities([only])))


def test_searches_have_tables_of_their_own():
    plain = record("asyncio", figures={LATE: 2.0})
    made = [plain, *searches()]
    assert [(t.client, [row.line for row in t.rows]) for t in tables(made, LANE)] == [
        ("streams", ["asyncio"])
    ]
    found = {table.client: table for table in capacity(made, LANE)}
    assert [(row.line, row.figures[0]) for row in found["streams"].rows] == [
        ("uvloop", "33,600 tokens/s"),
        ("asyncio", "20,000 tokens/s"),
        ("threads", "< 625 tokens/s"),
        ("processes+uvloop", "no rate"),
    ]
    assert found["floor"].rows[0].note == "provider-limited at 87,000 tokens/s"
    text = lines(made, LANE)
    assert any("streams client, steady, p99 within 50 ms" in line for line in text)
    assert any("33,600 tokens/s  36,700 tokens/s" in line for line in text)
