"""The README says what the published records say, and nothing else."""

from pathlib import Path

import pytest

from records import record
from streamlanes import publish
from streamlanes.errors import UserError
from streamlanes.knee import without_searches
from streamlanes.report.load import Run, load_run

ROOT = Path(__file__).parent.parent


def published() -> list[Path]:
    return sorted(path.parent for path in (ROOT / "results" / "published").glob("*/*/records.jsonl"))


def run_of(*records) -> Run:
    return Run(folder=Path("results/published/m/quick"), info={}, records=list(records))


def test_the_readme_is_rendered_from_the_published_quick_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    (quick,) = (folder for folder in published() if folder.name == "quick")
    template = (ROOT / "docs" / "README.template.md").read_text(encoding="utf-8")
    rendered = publish.render(template, load_run(quick.relative_to(ROOT)))
    assert rendered == (ROOT / "README.md").read_text(encoding="utf-8"), "run `make publish`"
    assert "{{" not in rendered
    assert len(rendered.splitlines()) < 200


def test_every_chart_the_readme_shows_is_committed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [part.split(")")[0] for part in text.split("](")[1:] if ".svg" in part.split(")")[0]]
    assert shown
    for path in shown:
        assert (ROOT / path).is_file(), path


def test_published_records_are_whole_and_complete():
    for folder in published():
        run = load_run(folder)
        assert run.notices == []
        measured = {each.cell.id for each in run.records}
        compared = without_searches(run.records)
        assert len(measured) == len(run.records)
        assert len(compared) == len(run.info["profile"]["cells"])


def test_places_are_filled_from_records():
    figures = {"time.cpu_us_per_token": 20.0, "latency.stream_ms.p99": 2.0}
    other = {"time.cpu_us_per_token": 40.0, "latency.stream_ms.p99": 3.0}
    run = run_of(
        *(record("uvloop", 500, r, figures=figures) for r in (1, 2)),
        *(record("asyncio", 500, r, figures=other) for r in (1, 2)),
    )
    one, two = "io/uvloop/streams/steady/500", "io/asyncio/streams/steady/500"
    assert publish.render(f"{{{{figure {one} time.cpu_us_per_token}}}}", run) == "20 us"
    assert publish.render(f"{{{{ratio {one} {two} time.cpu_us_per_token}}}}", run).startswith("0.50x [")
    assert "| uvloop |" in publish.render("{{table streams steady}}", run)
    assert publish.render("{{chart cpu}}", run) == "results/published/m/quick/cpu.svg"


@pytest.mark.parametrize(
    "place",
    [
        "{{nothing}}",
        "{{figure io/x/y/z/1 time.wall_s}}",
        "{{figure io/asyncio/streams/steady/2000 time.nothing}}",
        "{{figure io/asyncio/streams/steady/2000 time.wall_s}}",
        "{{table streams lockstep}}",
        "{{machine now}}",
    ],
)
def test_a_place_that_cannot_be_filled_is_an_error(place: str):
    with pytest.raises(UserError, match="template"):
        publish.render(place, run_of(record()))
