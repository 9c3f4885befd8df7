"""The file of a trace: read once, named by its content, refused in one line."""

from pathlib import Path

import pytest

from streamlanes import traces
from streamlanes.errors import UserError

ROWS = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:46.7805900,1,3"
)


@pytest.fixture(autouse=True)
def forget():
    """Each test reads anew."""
    traces._read.cache_clear()


def test_a_trace_is_named_by_its_file_and_its_content(tmp_path: Path):
    one, other = tmp_path / "one.csv", tmp_path / "deeper" / "one.csv"
    other.parent.mkdir()
    one.write_text(ROWS)
    other.write_text(ROWS.replace(",44", ",45"))
    names = [traces.read(str(path)).name for path in (one, other)]
    assert all(name.startswith("one.csv@") for name in names)
    assert names[0] != names[1]
    assert str(tmp_path) not in "".join(names)


def test_a_file_is_read_once(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    first = traces.read(str(path))
    path.write_text("gone")
    assert traces.read(str(path)) is first


def test_a_byte_order_mark_and_carriage_returns_do_no_harm(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + ROWS.replace("\n", "\r\n").encode())
    assert traces.read(str(path)).requests == 2


def test_a_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t.csv").write_text(ROWS)
    assert traces.read("~/t.csv").requests == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["no request"]),
        (ROWS.encode() + b"\n\n\xff\xfe", ["line 5", "UTF-8"]),
        (ROWS.encode() + b"\nx,1,1", ["line 4"]),
        (b"\0" * 100, ["line 1"]),
    ],
)
def test_a_file_that_is_no_trace_is_named_with_its_line(tmp_path: Path, data: bytes, words: list[str]):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        traces.read(str(path))
    for word in [str(path), *words]:
        assert word in str(error.value)


def test_a_file_that_is_too_large_says_how_to_cut_it(tmp_path: Path):
    path = tmp_path / "week.csv"
    with path.open("wb") as file:
        file.truncate(traces.MAX_BYTES + 1)  # sparse: it takes no room
    with pytest.raises(UserError, match=r"week\.csv is larger than 64 MiB.*head -n"):
        traces.read(str(path))


@pytest.mark.parametrize("name", ["none.csv", ".", "t.csv/deeper", "a\0b"])
def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, name: str):
    (tmp_path / "t.csv").write_text(ROWS)
    with pytest.raises(UserError, match="trace"):
        traces.read(str(tmp_path / name))


def test_a_device_is_not_read(tmp_path: Path):
    with pytest.raises(UserError, match="no regular file"):
        traces.read("/dev/zero")
