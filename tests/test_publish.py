"""The README says what the published records say, and nothing else."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from records import record
from streamlanes import publish
from streamlanes.errors import UserError
from streamlanes.journal import RUN_SCHEMA
from streamlanes.knee import without_searches
from streamlanes.record import FlagName, Record, encode
from streamlanes.report.load import Run, load_run

ROOT = Path(__file__).parent.parent
TEMPLATE = (ROOT / "docs" / "README.template.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")

ONE, TWO = "io/uvloop/streams/steady/500", "io/asyncio/streams/steady/500"
CPU = "time.cpu_us_per_token"


def folders() -> list[Path]:
    return sorted(path.parent for path in (ROOT / "results" / "published").glob("*/*/records.jsonl"))


def run_of(*records: Record, folder: Path = Path("results/published/m/quick")) -> Run:
    return Run(folder=folder, info={}, records=list(records))


def rendered(place: str, *records: Record) -> str:
    return publish.render(place, {"quick": run_of(*records)})


def two(**axes: object) -> list[Record]:
    """Two backends, two repetitions."""
    figures = {CPU: 20.0, "latency.stream_ms.p99": 2.0}
    other = {CPU: 40.0, "latency.stream_ms.p99": 3.0}
    return [
        *(record("uvloop", 500, r, figures=figures, axes=axes) for r in (1, 2)),
        *(record("asyncio", 500, r, figures=other, axes=axes) for r in (1, 2)),
    ]


# What is committed


def test_the_readme_is_rendered_from_the_published_runs_of_one_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    (machine,) = set(re.findall(r"\]\((results/published/[^/)]+)/", README))
    runs = publish.published(Path(machine))
    assert publish.profiles(TEMPLATE) <= runs.keys()
    assert publish.render(TEMPLATE, runs) == README, "run `make publish`"
    assert "{{" not in README
    assert len(README.splitlines()) < 200


@pytest.mark.parametrize("page", publish.PAGES, ids=str)
def test_what_pages_quote_of_published_runs_is_what_the_records_say(
    page: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    (machine,) = set(re.findall(r"\]\((results/published/[^/)]+)/", README))
    text = page.read_text(encoding="utf-8")
    assert publish.refreshed(text, publish.published(Path(machine))) == text, "run `make publish`"


def test_every_chart_the_readme_shows_is_committed():
    shown = [part.split(")")[0] for part in README.split("](")[1:] if ".svg" in part.split(")")[0]]
    assert shown
    for path in shown:
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_published_records_are_whole_and_complete(folder: Path):
    run = load_run(folder)
    assert run.notices == []
    assert run.info["profile"]["name"] == folder.name
    measured = {each.cell.id for each in run.records}
    assert len(measured) == len(run.records)
    whole, cells = without_searches(run.records), run.info["profile"]["cells"]
    most = max(each["repetition"] for each in cells)
    assert len([each for each in whole if each.cell.repetition <= most]) >= len(cells)
    assert len(whole) == len(cells) or run.info["profile"]["spares"] > 0


# Places


def test_places_are_filled_from_records():
    assert rendered(f"{{{{figure quick {ONE} {CPU}}}}}", *two()) == "20 us"
    assert rendered(f"{{{{ratio quick {ONE} {TWO} {CPU}}}}}", *two()).startswith("0.50x [")
    assert "| uvloop |" in rendered("{{table quick streams steady}}", *two())
    assert "4 usable CPUs" in rendered("{{machine quick}}", *two())
    assert rendered("{{answer quick}}", *two()).startswith("ANSWER  uvloop on the streams client")


def test_a_figure_that_is_flagged_says_so():
    doubted = [record("uvloop", 500, r, figures={CPU: 20.0}, flags=[FlagName.NOISY_HOST]) for r in (1, 2)]
    place = f"{{{{figure quick {ONE} {CPU}}}}}"
    assert rendered(place, *doubted) == "20 us (flagged)"
    assert rendered(place, doubted[0], two()[1]) == "20 us", "one of them is clean"


def test_each_place_is_taken_from_the_profile_it_names():
    runs = {
        "quick": run_of(*two()),
        "full": run_of(*(record("uvloop", 500, r, figures={CPU: 30.0}) for r in (1, 2))),
    }
    text = f"{{{{figure quick {ONE} {CPU}}}}} and {{{{figure full {ONE} {CPU}}}}}"
    assert publish.render(text, runs) == "20 us and 30 us"
    assert publish.profiles(text) == {"quick", "full"}


def test_a_table_shows_every_backend_as_it_comes_or_one_sweep_beside_it():
    swept = [record("uvloop", 500, axes={"gc": how}) for how in ("default", "freeze")]
    plain = rendered("{{table quick streams steady}}", *two(), *swept).splitlines()
    assert [line.split(" | ")[1] for line in plain[2:]] == ["uvloop", "asyncio"]
    swept = rendered("{{table quick streams steady gc}}", *two(), *swept).splitlines()
    lines = {line.split(" | ")[1] for line in swept[2:]}
    assert {"uvloop, gc default", "uvloop, gc freeze", "asyncio"} <= lines


def of_two_lanes() -> list[Record]:
    """The CPU lane's record came first, as it may."""
    axes = {"kernel": "hash-embed", "offload": "inline", "start_method": None}
    figures = {"work.per_s": 900.0}
    cpu = record(lane="cpu", client="none", workload="documents", axes=axes, asked={}, figures=figures)
    return [cpu, *two()]


def test_a_run_of_several_lanes_is_quoted_lane_by_lane():
    place = f"{{{{figure quick {ONE} {CPU}}}}}"
    assert rendered(place, *of_two_lanes()) == "20 us"
    one = "cpu/asyncio/none/documents/2000"
    assert rendered(f"{{{{figure quick {one} work.per_s}}}}", *of_two_lanes()) == "900 documents/s"
    said = rendered("{{answer quick}}", *of_two_lanes())
    assert said.startswith("ANSWER  uvloop on the streams client")
    assert said.count("FLAGS") == 1
    assert "| uvloop |" in rendered("{{table quick streams steady}}", *of_two_lanes())
    assert "900 documents/s" in rendered("{{table quick none documents}}", *of_two_lanes())


def libraries() -> list[Record]:
    figures = {CPU: 20.0, "time.cpu_us_per_call_setup": 900.0}
    return [record("uvloop", 500, client=client, figures=figures) for client in ("aiohttp", "httpx")]


def test_the_costs_of_clients_are_a_table_with_its_reasons():
    said = rendered("{{costs quick}}", *libraries())
    assert said.splitlines()[0].startswith("| client | way | CPU/token at 500 |")
    assert "| httpx | uvloop, plain | 20 us | 900 us | - |" in said
    assert "\n- bears: no knee was sought: all" in said
    with pytest.raises(UserError, match="compares no clients"):
        rendered("{{costs quick}}", *two())


def test_a_block_of_a_page_is_filled_once_its_profiles_are_published():
    page = f"a\n<!-- published: it takes {{{{figure quick {ONE} {CPU}}}}} -->\nnothing yet\n<!-- end -->\nb\n"
    assert publish.refreshed(page, {}) == page
    filled = publish.refreshed(page, {"quick": run_of(*two())})
    assert filled == page.replace("nothing yet", "it takes 20 us")
    assert publish.refreshed(filled, {"quick": run_of(*two())}) == filled
    assert publish.refreshed("no block", {"quick": run_of(*two())}) == "no block"


def test_a_chart_is_named_by_its_path(tmp_path: Path):
    (tmp_path / "cpu.svg").touch()
    runs = {"quick": run_of(record(), folder=tmp_path)}
    assert publish.render("({{chart quick cpu}})", runs) == f"({tmp_path.as_posix()}/cpu.svg)"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{{nothing}}", "no such place"),
        ("{{nothing quick}}", "no such place"),
        ("{{machine}}", "no run of a profile ''"),
        ("{{machine full}}", "no run of a profile 'full'"),
        ("{{machine quick now}}", "wrong number of words"),
        ("{{figure quick io/x/y/z/1 time.wall_s}}", "no cell io/x/y/z/1"),
        ("{{figure quick io/asyncio/streams/steady/2000 time.nothing}}", "no figure time.nothing"),
        ("{{figure quick io/asyncio/streams/steady/2000 time.wall_s}}", "has no figure time.wall_s"),
        ("{{figure quick io/asyncio/streams/steady/2000}}", "wrong number of words"),
        ("{{table quick streams lockstep}}", "no table"),
        ("{{chart quick cpu}}", "no chart cpu"),
    ],
)
def test_a_place_that_cannot_be_filled_is_an_error(place: str, said: str):
    with pytest.raises(UserError, match=f"template.*{said}"):
        rendered(place, record())


# Publishing


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own, with nothing published."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("as it was")
    return tmp_path


def measured(here: Path, profile: str, records: Sequence[Record], *, cells: int | None = None) -> Path:
    """A run's folder as a run leaves it."""
    folder = here / "results" / "runs" / profile
    folder.mkdir(parents=True)
    asked = [{}] * (len(records) if cells is None else cells)
    info = {"schema": RUN_SCHEMA, "hash": "0", "profile": {"name": profile, "cells": asked}}
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "records.jsonl").write_bytes(b"".join(map(encode, records)))
    return folder


def call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["publish", str(folder)])
    publish.main()


def test_the_readme_waits_for_every_run_that_the_template_names(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    places = f"![]({{{{chart quick lateness}}}}) {{{{figure full {ONE} {CPU}}}}}"
    (here / "docs" / "README.template.md").write_text(places)
    call(measured(here, "quick", two()), monkeypatch)
    assert (here / "README.md").read_text() == "as it was"
    into, why = capsys.readouterr().out.splitlines()
    assert why == "README.md is left as it was: docs/README.template.md also needs a published full"
    call(measured(here, "full", two()), monkeypatch)
    assert (here / "README.md").read_text() == f"![]({into}/lateness.svg) 20 us"
    assert {path.name for path in Path(into).parent.iterdir()} == {"quick", "full"}
    assert capsys.readouterr().out.splitlines() == [into.replace("quick", "full")]


def test_publishing_fills_the_blocks_of_pages(here: Path, monkeypatch: pytest.MonkeyPatch):
    (here / "docs" / "README.template.md").write_text("words")
    page = here / "docs" / "clients.md"
    page.write_text("<!-- published: {{costs clients}} -->\nnothing yet\n<!-- end -->\n")
    call(measured(here, "quick", two()), monkeypatch)
    assert "nothing yet" in page.read_text()
    call(measured(here, "clients", libraries()), monkeypatch)
    assert "| aiohttp | uvloop, plain | 20 us |" in page.read_text()


def test_a_run_published_again_takes_the_place_of_the_old_one(here: Path, monkeypatch: pytest.MonkeyPatch):
    (here / "docs" / "README.template.md").write_text(f"{{{{figure quick {ONE} {CPU}}}}}")
    call(measured(here, "quick", two()), monkeypatch)
    (into,) = (here / "results" / "published").glob("*/quick")
    before = {path.name: path.read_bytes() for path in into.glob("*.json*")}
    (into / "old.svg").touch()
    call(into, monkeypatch)
    assert {path.name: path.read_bytes() for path in into.glob("*.json*")} == before
    assert {path.suffix for path in into.iterdir()} == {".svg", ".json", ".jsonl"}
    assert not (into / "old.svg").exists()


def test_a_run_that_is_not_finished_is_not_published(here: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(SystemExit, match="1 cells are not measured yet; continue the run"):
        call(measured(here, "quick", two(), cells=5), monkeypatch)
    with pytest.raises(SystemExit, match="3 cells are not measured yet"):
        call(measured(here, "empty", [], cells=3), monkeypatch)
    assert not (here / "results" / "published").exists()
    assert (here / "README.md").read_text() == "as it was"
