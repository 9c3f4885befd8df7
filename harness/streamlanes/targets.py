"""People's own functions (`--call module:function`), asked once what they are, in a process of their own.

Nobody's code is imported by the parent. A process under the cell's interpreter imports the module and
says what kind of function it found (clients/examine.py); so a function that is not there ends the command
before anything is measured, and a backend that does not fit is unsupported before it is started.
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from streamlanes.backends import BACKENDS, Waits
from streamlanes.children import Child, Gone, Launcher
from streamlanes.errors import UserError
from streamlanes.interpreters import Interpreter, without_folders
from streamlanes.mishaps import one_line

ANSWER_S = 60.0
WHERE = "its module is looked for in the current directory and on PYTHONPATH"
_WAITS = {
    "async generator": Waits.ASYNC,
    "async function": Waits.ASYNC,
    "generator": Waits.BLOCKING,
    "function": Waits.BLOCKING,
}

Key = tuple[str, str | None]
"""A function, "module:function", and the interpreter's name that a cell names; None for our own."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One function under one interpreter.

    form: "async generator", "async function", "generator" or "function"; empty where there is a problem.
    source: a digest of the file that it stands in; another one makes another run.
    problem: why no cell can call it.
    """

    name: str
    form: str = ""
    source: str = ""
    problem: str | None = None

    @property
    def waits(self) -> Waits | None:
        """How it waits, and so which backends fit it; None where that is not known."""
        return _WAITS.get(self.form)

    def forbids(self, backend: str) -> str | None:
        """Why this backend does not call it, with what to do; None where it does."""
        if self.problem is not None:
            return f"{self.name}: {self.problem}"
        if BACKENDS[backend].waits is self.waits:
            return None
        fitting = ", ".join(name for name, info in BACKENDS.items() if info.waits is self.waits)
        article = "an" if self.waits is Waits.ASYNC else "a plain"
        return f"{self.name} is {article} {self.form}, which {backend} cannot run; it fits {fitting}"


def find(wanted: Iterable[Key], pythons: Mapping[str, Interpreter]) -> dict[Key, Target]:
    """Each function that is wanted as its interpreter finds it.

    Raises UserError for one that is found under none of them. Interpreters with a problem of their own
    are not asked.
    """
    keys = [key for key in dict.fromkeys(wanted) if key[1] is None or pythons[key[1]].problem is None]
    if not keys:
        return {}
    with closing(Launcher()) as launcher:
        found = {
            (name, python): _asked(launcher, name, sys.executable if python is None else pythons[python].path)
            for name, python in keys
        }
    for name in dict.fromkeys(name for name, _ in keys):
        of_it = [target for key, target in found.items() if key[0] == name]
        if all(target.problem for target in of_it):
            raise UserError(f"call {name}: {of_it[0].problem}")
    return found


def understood(name: str, answer: Mapping[str, Any]) -> Target:
    """What the process's answer says. Pure."""
    form = answer.get("form")
    if form in _WAITS:
        return Target(name=name, form=form, source=str(answer.get("source", "")))
    problem = without_folders(one_line(str(answer.get("problem", "it gave no answer"))))
    return Target(name=name, problem=f"{problem}; {WHERE}")


def _asked(launcher: Launcher, name: str, python: str) -> Target:
    child = Child(launcher, [python, "-P", "-m", "streamlanes.clients.examine", name], None)
    try:
        answer = child.hear(ANSWER_S)
    except Gone as gone:
        return Target(name=name, problem=f"importing its module ended the process: {gone}")
    finally:
        child.end()
    if answer is None:
        return Target(name=name, problem=f"importing its module took longer than {ANSWER_S:.0f} s")
    return understood(name, answer)
