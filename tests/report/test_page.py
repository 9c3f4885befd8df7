"""The page: complete, escaped, without scripts."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from records import LANE, record
from streamlanes.errors import UserError
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.report.charts import ChartFile
from streamlanes.report.load import Run
from streamlanes.report.page import Part, render, write_page

NASTY = '<script>alert("x")</script>\'&'


class Tags(HTMLParser):
    """Collects tags, and whether all are closed in order."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(
    records: list[Record], charts: tuple[ChartFile, ...] = (), answer: tuple[str, ...] = ("ANSWER  x",)
) -> str:
    run = Run(folder=Path("/somewhere/20260101-quick"), info={"profile": NASTY}, records=records)
    return render(run, [Part(lane=LANE, charts=charts)], answer)


def test_nothing_a_record_says_becomes_markup() -> None:
    nasty = record(
        NASTY,
        client=NASTY,
        workload=NASTY,
        status=StatusName.UNSUPPORTED,
        reason=NASTY,
        flags=[FlagName.NOISY_HOST],
        missing={"time.wall_s": NASTY, f"time.{NASTY}": NASTY},
        machine={"cpu": NASTY, NASTY: NASTY},
    )
    empty = ChartFile(name=NASTY, title=NASTY, empty_reason=NASTY)
    drawn = ChartFile(name="n", title=NASTY, svg=Path(f"{NASTY}.svg"), png=Path("n.png"), caption=(NASTY,))
    text = page([nasty], (empty, drawn), (NASTY,))
    assert "<script" not in text
    assert 'alert("' not in text
    assert "&lt;script&gt;" in text
    tags = Tags(text)
    assert not tags.open
    assert {attribute for _, found in tags.seen for attribute in found} <= {
        *("lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "src", "alt"),
    }


def test_scripts_are_forbidden_and_nothing_is_fetched_from_elsewhere() -> None:
    text = page([record()])
    assert "default-src 'none'" in text
    assert "://" not in text


def test_the_answer_comes_first_then_charts_then_records() -> None:
    drawn = ChartFile(name="n", title="Why?", svg=Path("a/n.svg"), png=Path("a/n.png"))
    text = page([record()], (drawn,), ("ANSWER  uvloop", "FLAGS   none"))
    order = ["ANSWER  uvloop", 'src="n.svg"', 'id="results"', 'id="records"', 'id="flags"', 'id="missing"']
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_charts_are_relative_with_words_for_those_who_cannot_see_them() -> None:
    drawn = ChartFile(
        name="n", title="Why?", caption=("A machine",), svg=Path("/x/n.svg"), png=Path("/x/n.png")
    )
    text = page([record()], (drawn,))
    [image] = [found for tag, found in Tags(text).seen if tag == "img"]
    assert image["src"] == "n.svg"
    assert image["alt"] == "Why? A machine"
    assert "/x/" not in text
    assert "/somewhere" not in text, "no path of the machine"


def test_a_chart_that_was_not_drawn_says_why() -> None:
    assert "Not drawn: P (no bounded pool)." in page(
        [], (ChartFile(name="p", title="P", empty_reason="no bounded pool"),)
    )


def test_every_record_its_flags_and_what_is_missing_are_there() -> None:
    records = [
        record("asyncio", flags=[FlagName.CLIENT_LIMITED]),
        record("uvloop", repetition=2, missing={"time.wall_s": "over the budget"}),
        record("threads", status=StatusName.OVER_BUDGET, figures={"time.projected_wall_s": 74.0}),
    ]
    text = page(records)
    for one in records:
        assert f'<td class="text">{one.cell.id}</td>' in text
    assert "share 0.97" in text, "a flag's evidence"
    assert "over the budget" in text
    assert "over budget, about 74 s" in text
    assert "records.csv" in text
    assert "../records.jsonl" in text


def test_notices_of_the_files_are_shown() -> None:
    run = Run(folder=Path("r"), info={}, records=[record()], notices=["line 7 is cut"])
    assert "line 7 is cut" in render(run, [], [])


def test_a_run_without_records_is_still_a_page() -> None:
    tags = Tags(page([]))
    assert not tags.open


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    run = Run(folder=tmp_path, info={}, records=[])
    with pytest.raises(UserError, match="cannot be written"):
        write_page(run, [], [], tmp_path / "missing")
