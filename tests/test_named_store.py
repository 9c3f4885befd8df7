"""The store that commands are about: all name it in one way, and say the same where there is none."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from streamlanes import cli, durable_cli
from streamlanes.durable.database import Work
from streamlanes.durable.logfile import Exported, export_lines
from streamlanes.errors import UserError
from streamlanes.named_store import HERE, SCHEMA, VARIABLE, opened, shown

WORDS = {
    "trace": ["a"],
    "audit": [],
    "export": ["a"],
    "import": ["a.jsonl"],
    "pending": [],
    "approve": ["a/0/0"],
    "reject": ["a/0/0"],
    "versions": [],
    "cap": [],
}
"""Every command about a store, and what it must be given besides."""
COMMANDS = typer.main.get_command(durable_cli.app).commands


@pytest.fixture(autouse=True)
def _nothing_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)


def test_every_command_about_a_store_has_the_same_options_for_it():
    declared = {
        name: [
            (one.opts, one.help, one.default, one.envvar)
            for one in command.params
            if one.name in {"db", "schema"}
        ]
        for name, command in COMMANDS.items()
    }
    about = {name: options for name, options in declared.items() if options}
    assert set(about) == set(WORDS)
    assert all(options == about["pending"] for options in about.values())
    assert [opts for opts, *_ in about["pending"]] == [["--db"], ["--schema"]]


@pytest.mark.parametrize("name", sorted(set(WORDS) - {"import"}))
@pytest.mark.parametrize(
    ("given", "variable", "named"),
    [
        (["--db", "there.db"], None, "there.db"),
        ([], "there.db", "there.db"),
        (["--db", "there.db"], "other.db", "there.db"),
        ([], None, HERE),
    ],
)
def test_where_no_store_is_all_say_the_same_and_none_is_made(
    name: str,
    given: list[str],
    variable: str | None,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    monkeypatch.setattr("sys.argv", ["streamlanes", "durable", name, *WORDS[name], *given])
    with pytest.raises(SystemExit) as over:
        cli.main()
    assert over.value.code == cli.BAD_INPUT
    assert capsys.readouterr() == (
        "",
        f"streamlanes: no store at {named}; name its file, or postgresql://..., with --db or in {VARIABLE}\n",
    )
    assert list(Path().iterdir()) == []


def test_a_store_is_made_where_it_may_be_and_closed_after_the_block():
    with opened("new.db", SCHEMA, make=True) as database:
        assert Path("new.db").is_file()
    with (
        pytest.raises(UserError, match="its store is closed; open the store again"),
        opened("new.db", SCHEMA),
    ):
        database.submit(Work(None, print))


def test_a_servers_password_is_not_shown():
    assert shown("agents.db") == "agents.db"
    assert shown("postgresql://me:secret@there/x") == shown("postgres://there") == "the server's store"


def _tables(*pragmas: str) -> None:
    """Somebody's own tables."""
    with contextlib.closing(sqlite3.connect("theirs.db", isolation_level=None)) as theirs:
        for statement in (
            *pragmas,
            "CREATE TABLE executions (id INTEGER)",
            "INSERT INTO executions VALUES (1)",
        ):
            theirs.execute(statement)


@pytest.mark.parametrize("name", sorted(WORDS))
@pytest.mark.parametrize(
    "theirs",
    [
        lambda: Path("theirs.db").touch(),
        _tables,
        lambda: _tables("PRAGMA journal_mode = WAL"),
        lambda: _tables("PRAGMA user_version = 9"),
    ],
    ids=["empty", "tables", "write-ahead log", "a version of their own"],
)
def test_what_is_no_store_is_left_as_it_is(
    name: str,
    theirs: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    theirs()
    Path("a.jsonl").write_text("".join(export_lines(Exported("a", 1, []))))
    before = {path: path.read_bytes() for path in Path().iterdir()}
    monkeypatch.setattr("sys.argv", ["streamlanes", "durable", name, *WORDS[name], "--db", "theirs.db"])
    with pytest.raises(SystemExit) as over:
        cli.main()
    assert over.value.code == cli.BAD_INPUT
    assert capsys.readouterr() == (
        "",
        "streamlanes: theirs.db is no store of streamlanes; name its file, or postgresql://..., "
        f"with --db or in {VARIABLE}\n",
    )
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
