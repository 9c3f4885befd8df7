"""The manual of the command line has every command, option, exit code and profile, and no other."""

import re
from pathlib import Path

import pytest
import typer

from doc_pages import PACKAGE, text
from streamlanes import cli, gate
from streamlanes.profile_files import parse


def commands(group: typer.core.TyperGroup, above: str = "") -> dict[str, typer.core.TyperCommand]:
    """Every command by its full name, those within groups too."""
    found = {}
    for name, command in group.commands.items():
        found[f"{above}{name}"] = command
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{above}{name} ")
    return found


COMMANDS = commands(typer.main.get_command(cli.app))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_in_the_manual(name: str):
    page = text("cli.md")
    assert f"## `streamlanes {name}`" in page
    own = page.partition(f"## `streamlanes {name}`")[2].partition("\n## ")[0]
    for option in (one for one in COMMANDS[name].params if one.param_type_name == "option"):
        row = f"| {', '.join(f'`{word}`' for word in option.opts)} |"
        assert row in own, f"{name} {option.opts}"


def test_the_manual_names_no_option_that_is_not_there():
    known = {word for command in COMMANDS.values() for one in command.params for word in one.opts}
    tables_of_options = re.findall(r"^\| ((?:`-[^|]*`(?:, )?)+) \|", text("cli.md"), re.MULTILINE)
    assert tables_of_options
    named = {word for cell in tables_of_options for word in re.findall(r"`(-[^`]*)`", cell)}
    assert named <= known


def test_every_exit_code_is_in_the_manual():
    codes = [
        0,
        cli.FORBIDDEN,
        cli.BAD_INPUT,
        cli.INTERRUPTED,
        cli.PIPE_CLOSED,
        cli.TERMINATED,
        *gate.EXIT_CODES.values(),
    ]
    for code in codes:
        assert re.search(rf"^\| {code} \|", text("cli.md"), re.MULTILINE), code


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("profiles/*.toml")), ids=lambda path: path.stem)
def test_every_built_in_profile_is_in_the_manual(path: Path):
    assert f"| `{path.stem}` |" in text("cli.md")


def test_the_profile_of_the_manual_is_one():
    (example,) = re.findall(r"```toml\n(.*?)```", text("cli.md"), re.DOTALL)
    made = parse(example.encode(), "cli.md", "example").expand()
    assert {found.axes.width for found in made} == {None, 64, 500}
    assert {found.repetition for found in made} == {1, 2, 3}
