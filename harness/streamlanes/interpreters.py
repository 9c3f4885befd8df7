"""Interpreters that cells may run under, asked once what they are and named without their path.

A person names one by path or command (`--set python=/usr/bin/python3.12`). Records are published, so
what identifies it there is implementation and version, `cpython-3.12.1`; two of the same name are told
apart by a few digits of a hash. The provider always runs under this process' own interpreter.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from streamlanes.backends import BACKENDS
from streamlanes.children import Child, Gone, Launcher
from streamlanes.clients import CLIENTS
from streamlanes.cpu import KERNELS
from streamlanes.errors import UserError
from streamlanes.lanes.base import Crew

OLDEST = (3, 11)
ANSWER_S = 20.0
HOW = "name another with: --set python=/path/to/python3"

# Understood by every Python from 2.7 on, or an old one could not say that it is old. What a library
# prints while it is imported goes to standard error.
_PROGRAM = """
import os, sys
sys.path[:] = [place for place in sys.path if place]
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import json, platform
lacks = {}
for name in sys.argv[1:]:
    try:
        __import__(name)
    except Exception:
        lacks[name] = sys.exc_info()[0].__name__
answer.write(json.dumps({
    "implementation": platform.python_implementation(),
    "version": platform.python_version(),
    "free_threaded": "t" in getattr(sys, "abiflags", ""),
    "build": " ".join(sys.version.split()),
    "identity": os.path.realpath(sys.executable) + "\\n" + sys.prefix,
    "lacks": lacks,
}) + "\\n")
"""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """One interpreter, or what was given for one.

    path: absolute, for starting it and for nothing else. name: what records call it. build: its own
    words on version, build and compiler. identity: the same for two ways to the same installation.
    lacks: imports that backends, clients and kernels need and it has not -> why. problem: why no cell runs
    under it, with what to do; None where they do.
    """

    path: str
    name: str
    build: str = ""
    identity: str = ""
    lacks: Mapping[str, str] | None = None
    problem: str | None = None

    def forbids(self, needs: Iterable[str]) -> str | None:
        """Why a cell that needs these imports does not run under it, with what to do; None where it does."""
        lacks = self.lacks or {}
        short = next((name for name in needs if name in lacks), None)
        if self.problem or short is None:
            return self.problem
        return (
            f"{short} cannot be imported under {self.name} ({lacks[short]}); "
            f"install it for that interpreter: python -m pip install {short}"
        )

    def forbids_crew(self, crew: Crew) -> str | None:
        """Why a lane's own work does not run under it, with what to do; None where it does."""
        of = release(self.name)
        if crew.since and of and of < crew.since:
            return f"this is Python {version(self.name)}, {too_early(crew.since)}; {HOW}"
        for name in crew.needs:
            if why := (self.lacks or {}).get(name):
                return (
                    f"{name} cannot be imported under {self.name} ({why}); install it for that interpreter: "
                    f"python -m pip install 'streamlanes[{crew.extra}]'"
                )
        return None


def too_early(since: tuple[int, int]) -> str:
    """What a version is too old for, as the end of a sentence."""
    return f"and subinterpreters for this need Python {since[0]}.{since[1]} or newer"


def named(implementation: str, version: str, free_threaded: bool) -> str:
    """What records call an interpreter: `cpython-3.12.1`, `cpython-3.13.0t` without a GIL by build."""
    return f"{implementation.lower()}-{version}{'t' if free_threaded else ''}"


def version(name: str) -> str:
    """The version in a name, `3.12.1`; of another implementation the whole name."""
    return name.removeprefix("cpython-")


def release(name: str) -> tuple[int, int] | None:
    """(major, minor) of a name; None for an interpreter that did not say."""
    found = re.match(r"[a-z]+-(\d+)\.(\d+)", name)
    return (int(found[1]), int(found[2])) if found else None


def own_name() -> str:
    """This process' interpreter."""
    free_threaded = "t" in getattr(sys, "abiflags", "")
    return named(platform.python_implementation(), platform.python_version(), free_threaded)


def find(given: Iterable[str], clients: Iterable[str] = ()) -> dict[str, Interpreter]:
    """Each path or command as given -> the interpreter there, asked once in a process of its own.

    clients: whose libraries it is asked for too, beside those of every backend and kernel.
    Nothing is raised for one that does not answer or is too old: its cells end as unsupported.
    """
    paths = {each: shutil.which(os.path.expanduser(each)) for each in given}
    if not paths:
        return {}
    with closing(Launcher()) as launcher:
        ask = cache(partial(_asked, launcher, _needs(clients)))
        return told_apart(
            {
                each: _unusable(each, "the interpreter is not there or cannot be executed")
                if path is None
                else ask(os.path.abspath(path))
                for each, path in paths.items()
            }
        )


def understood(path: str, answer: Any) -> Interpreter:
    """What the program's answer says. Pure."""
    try:
        implementation, text = str(answer["implementation"]), str(answer["version"])
        name = named(implementation, text, bool(answer["free_threaded"]))
        build, identity = str(answer["build"]), str(answer["identity"])
        lacks = {str(each): str(why) for each, why in answer["lacks"].items()}
    except (KeyError, TypeError, AttributeError):
        return _unusable(path, "what was started is no Python interpreter")
    if (of := release(name)) is None:
        return _unusable(path, "what was started is no Python interpreter")
    problem = None
    if of < OLDEST:
        problem = f"{implementation} {text} is too old, 3.11 or newer is needed; {HOW}"
    return Interpreter(path=path, name=name, build=build, identity=identity, lacks=lacks, problem=problem)


def told_apart(found: Mapping[str, Interpreter]) -> dict[str, Interpreter]:
    """The same, with a hash behind the name of each that shares it with another installation, this
    process' own included: a cell without the axis runs under that one. Pure but for that."""
    identities: dict[str, set[str]] = defaultdict(set)
    identities[own_name()].add(os.path.realpath(sys.executable) + "\n" + sys.prefix)
    for each in found.values():
        identities[each.name].add(each.identity)
    return {
        given: replace(each, name=f"{each.name}-{_digits(each.identity)}")
        if len(identities[each.name]) > 1
        else each
        for given, each in found.items()
    }


def _needs(clients: Iterable[str]) -> list[str]:
    needs = {info.needs for info in BACKENDS.values() if info.needs}
    of_kernels = {name for info in KERNELS.values() for name in info.needs}
    return sorted(needs.union(of_kernels, *(CLIENTS[name].needs for name in clients if name in CLIENTS)))


def _asked(launcher: Launcher, needs: Sequence[str], path: str) -> Interpreter:
    try:
        child = Child(launcher, [path, "-c", _PROGRAM, *needs], None)
    except UserError:
        return _unusable(path, "the interpreter does not start: the system cannot execute it")
    try:
        answer = child.hear(ANSWER_S)
    except Gone as gone:
        return _unusable(path, f"no interpreter answered: {without_folders(str(gone))}")
    finally:
        child.end()
    if answer is None:
        return _unusable(path, f"the interpreter gave no answer in {ANSWER_S:.0f} s")
    return understood(path, answer)


def without_folders(text: str) -> str:
    """The text with every absolute path cut down to its last name: it goes into a record."""
    return re.sub(r"(?<![\w.])(?:/[^\s/:'\"]+)*/(?=[^\s/:'\"])", "", text)


def _unusable(given: str, why: str) -> Interpreter:
    return Interpreter(path=given, name=f"unknown-{_digits(given)}", problem=f"{why}; {HOW}")


def _digits(text: str, count: int = 6) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:count]


def legend(found: Mapping[str, Interpreter]) -> str:
    """Which name stands for what was given, for the person who gave it; never for a record."""
    return ", ".join(f"{each.name} = {given}" for given, each in found.items())
