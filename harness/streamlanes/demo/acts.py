"""The acts, in the order of the story, and how they are played: a table, imported only when played."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from streamlanes.children import Launcher
from streamlanes.demo.figures import Figure, Stage
from streamlanes.errors import unknown


@dataclass(frozen=True)
class Act:
    """says: what the act shows, in a line. target: "module:attribute" of its function."""

    says: str
    target: str


ACTS = {
    "crash": Act("a worker is killed in mid-step, another one goes on", "streamlanes.demo.crash:act"),
    "replay": Act("naive retry against replay, the worker killed", "streamlanes.demo.replay:act"),
    "effects": Act("naive against guarded effects, each answer lost once", "streamlanes.demo.effects:act"),
    "outbox": Act("an outbox delivers twice, the effect happens once", "streamlanes.demo.outbox:act"),
    "sessions": Act("two sessions on one log", "streamlanes.demo.sessions:act"),
    "clock": Act("a clock read past the log diverges, `now()` does not", "streamlanes.demo.clock:act"),
    "versions": Act("two runtime versions at once, the old one drains", "streamlanes.demo.versions:act"),
    "approval": Act("a person approves: nothing is held meanwhile", "streamlanes.demo.approval:act"),
    "lanes": Act("the same calls by an event loop, threads and a pool", "streamlanes.demo.lanes:act"),
}


@dataclass(frozen=True)
class Played:
    """An act that was played. took_s: with all it started and ended."""

    name: str
    says: str
    figures: Sequence[Figure]
    took_s: float

    @property
    def holds(self) -> bool:
        """Whether there were figures, all as predicted."""
        return bool(self.figures) and all(figure.holds for figure in self.figures)


def chosen(names: Sequence[str]) -> list[str]:
    """The acts of these names, all without any. Raises UserError for a name that does not exist."""
    for name in names:
        if name not in ACTS:
            raise unknown("act", name, ACTS)
    return list(names) or list(ACTS)


def play(names: Sequence[str], crash_at: int, calls: int) -> Iterator[Played]:
    """Play acts one after the other, each in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="streamlanes-demo-") as root, closing(Launcher()) as launcher:
        for number, name in enumerate(names):
            folder = Path(root) / f"{number}-{name}"
            folder.mkdir()
            began = time.perf_counter()
            figures = _function(ACTS[name].target)(Stage(folder, launcher, crash_at, calls))
            yield Played(name, ACTS[name].says, tuple(figures), time.perf_counter() - began)


def _function(target: str) -> Callable[[Stage], Sequence[Figure]]:
    module, attribute = target.split(":")
    found: Callable[[Stage], Sequence[Figure]] = getattr(import_module(module), attribute)
    return found
