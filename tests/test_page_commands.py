"""Commands that the pages show can be typed: make knows what they name, and a run of them has cells."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamlanes import cli, conduct
from streamlanes.cells import Cell
from streamlanes.profile import Profile

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def shown(program: str) -> Iterator[list[str]]:
    """What follows the program in every command of the pages: a line in a block of code, or a span of code.
    What has brackets or dots is a form and no command."""
    command = re.compile(rf"(?:\$ )?(?:\w+=\S+ )*{program} (.*?)(?:$| &&| 2>| \|)")
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
        for each in [*lines, *re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))]:
            if (found := command.match(each)) and "[" not in each and "..." not in each:
                yield shlex.split(found[1], comments=True)


def test_every_make_command_names_a_target_and_variables_that_it_reads():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    variables = set(re.findall(r"^([A-Z_]+) \?=", makefile, re.MULTILINE))
    commands = list(shown("make"))
    assert len(commands) > 20
    for words in commands:
        given = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
        assert {word for word in words if "=" not in word} <= targets, words
        assert given.keys() <= variables, words
        # The folder is named already: a file beside it would leave nothing out.
        assert given.get("TEST_ARGS", "-").startswith("-"), words


WRONG = {"run -b asynco", "run --set widht=3"}
"""Shown with the error that they get."""
RUNS = {" ".join(words): words for words in shown("streamlanes") if words[:1] == ["run"]}


@pytest.mark.parametrize("command", sorted(RUNS.keys() - WRONG))
def test_every_run_that_is_shown_has_cells(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is measured: a command is taken as far as its plan."""
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text('{"timestamp": 0, "input_length": 1, "output_length": 2}\n' * 500)
    planned: list[Cell] = []

    def plan(profile: Profile, **_: object) -> None:
        planned.extend(profile.plan().ahead([]))
        raise KeyboardInterrupt

    monkeypatch.setattr(conduct, "run", plan)
    done = CliRunner().invoke(cli.app, RUNS[command])
    assert planned, done.exception
