"""Profiles as files: strict, in one line."""

from pathlib import Path

import pytest

from streamlanes.errors import UserError
from streamlanes.profile_files import load, parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[run]\nsed = 1\n", ["sed", "seed"]),
        (b"[[cells]]\nbackend = []\n", ["backend", "backends"]),
        (b"[run\n", ["small.toml"]),
        (b"\xff\xfe", ["small.toml"]),
        (b"[run]\nseed = 'x'\n", ["int"]),
        (b"[run]\nrepeats = 0\n", ["repeats"]),
        (b"name = '..'\n", ["'..'"]),
        (b"name = " + b"[" * 5000, ["nested too deeply"]),
        (b"name = 'a/b'\n", ["a/b"]),
    ],
)
def test_a_bad_profile_names_what_and_where(text: bytes, words: list[str]):
    with pytest.raises(UserError) as error:
        parse(text, "small.toml", "small")
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_an_unknown_profile_offers_the_nearest_and_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="quick"):
        load("quik")
    with pytest.raises(UserError, match=r"none\.toml"):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(UserError, match="no regular file"):
        load(f"{tmp_path}/")
    (tmp_path / "big.toml").write_bytes(b"#" * (1 << 21))
    with pytest.raises(UserError, match="larger than 1 MiB"):
        load(str(tmp_path / "big.toml"))
