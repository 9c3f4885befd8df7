"""The store that commands are about: all name it in one way, and say the same where there is none."""

from pathlib import Path

import pytest
import typer

from streamlanes import cli, durable_cli
from streamlanes.durable.database import Work
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
