"""A run's files, whole and damaged."""

import json
from pathlib import Path

import pytest

from records import record
from streamlanes.errors import UserError
from streamlanes.record import encode
from streamlanes.report.load import at_hand, find_run, load_run


def a_run(folder: Path, lines: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"profile": "quick"}), encoding="utf-8")
    (folder / "records.jsonl").write_bytes(lines)
    return folder


def test_a_run_is_its_info_and_its_records(tmp_path: Path) -> None:
    records = [record("asyncio"), record("uvloop")]
    run = load_run(a_run(tmp_path, b"".join(map(encode, records))))
    assert run.info == {"profile": "quick"}
    assert run.records == records
    assert run.notices == []


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_last_line_cut_in_the_middle_is_left_out_with_a_notice(tmp_path: Path, cut: int) -> None:
    run = load_run(a_run(tmp_path, encode(record("asyncio")) + encode(record("uvloop"))[:cut]))
    assert [r.cell.backend for r in run.records] == ["asyncio"]
    [notice] = run.notices
    assert "line 2" in notice


def test_a_broken_line_before_the_last_is_an_error_with_its_number(tmp_path: Path) -> None:
    lines = encode(record("asyncio")) + b'{"schema": "strea\n' + encode(record("uvloop"))
    with pytest.raises(UserError, match=r"records\.jsonl line 2 is not a record") as raised:
        load_run(a_run(tmp_path, lines))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("line", [b"\n", b"\xff\xfe\n", b"{}\n", b'{"schema":"other/1"}\n'])
def test_a_whole_line_that_is_no_record_is_an_error_even_at_the_end(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(UserError, match="line 1 is not a record"):
        load_run(a_run(tmp_path, line))


def test_a_run_without_a_record_yet_is_a_run(tmp_path: Path) -> None:
    assert load_run(a_run(tmp_path, b"")).records == []


@pytest.mark.parametrize(("text", "said"), [("{", "not valid JSON"), ("[1]", "no JSON object")])
def test_a_damaged_run_json_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    a_run(tmp_path, b"")
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        load_run(tmp_path)


def test_a_folder_without_the_files_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run\.json is not there"):
        load_run(tmp_path)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    a_run(tmp_path, b"")
    (tmp_path / "records.jsonl").unlink()
    (tmp_path / "records.jsonl").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        load_run(tmp_path)


def test_the_newest_run_is_where_the_link_leads(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "runs" / "20260101-quick", b"")
    (tmp_path / "latest").symlink_to("runs/20260101-quick")
    assert find_run(None, tmp_path) == folder.resolve()


def test_a_run_is_found_by_folder_by_file_and_by_name(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "runs" / "20260101-quick", b"")
    assert find_run(folder, tmp_path) == folder.resolve()
    assert find_run(folder / "records.jsonl", tmp_path) == folder.resolve()
    assert find_run(Path("20260101-quick"), tmp_path) == folder.resolve()


def test_no_run_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="measure one"):
        find_run(None, tmp_path)
    with pytest.raises(UserError, match="no run there"):
        find_run(tmp_path / "nowhere", tmp_path)
    (tmp_path / "latest").symlink_to("runs/gone")
    with pytest.raises(UserError, match="leads to no run"):
        find_run(None, tmp_path)


def published(results: Path, profile: str, started: str) -> None:
    folder = a_run(results / "published" / "m" / profile, encode(record()))
    (folder / "run.json").write_text(json.dumps({"started": started}), encoding="utf-8")


def test_the_run_at_hand_is_the_newest_or_the_one_published_last(tmp_path: Path) -> None:
    results, below = tmp_path / "results", tmp_path / "notebooks" / "mine"
    below.mkdir(parents=True)
    published(results, "full", "2026-01-02T00:00:00Z")
    published(results, "quick", "2026-01-01T00:00:00Z")
    assert at_hand(tmp_path).folder.name == "full"
    assert at_hand(below).folder.name == "full"
    newest = a_run(results / "runs" / "20260103-quick", b"")
    (results / "latest").symlink_to("runs/20260103-quick")
    assert at_hand(below).folder.name == "full", "a run that holds nothing yet is not looked at"
    (newest / "records.jsonl").write_bytes(encode(record("uvloop")))
    assert [each.cell.backend for each in at_hand(below).records] == ["uvloop"]


def test_a_run_at_hand_of_a_lane_is_one_that_has_it(tmp_path: Path) -> None:
    for number, (name, lane) in enumerate((("old", "io"), ("new", "durable"))):
        folder = tmp_path / "results" / "published" / "machine" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"started": f"2026-01-0{number + 1}T00:00:00Z"}))
        (folder / "records.jsonl").write_bytes(encode(record("asyncio", 500, lane=lane)))
    (tmp_path / "results" / "latest").symlink_to(tmp_path / "results" / "published" / "machine" / "new")
    assert at_hand(tmp_path).folder.name == "new"
    assert at_hand(tmp_path, lane="io").folder.name == "old"
    with pytest.raises(UserError, match="no run of lane cpu in"):
        at_hand(tmp_path, lane="cpu")


def test_no_run_at_hand_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    with pytest.raises(UserError, match="measure one"):
        at_hand()
