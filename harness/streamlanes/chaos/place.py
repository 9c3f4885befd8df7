"""Where a trial happens, and the processes there."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamlanes.children import Child, Gone, Launcher
from streamlanes.durable.receiver import Receiver

LIMIT_S = 60.0
"""A trial that is not over by then has unfinished executions, and says so."""
POLL_S = 0.01


@dataclass
class Process:
    """A worker's process and what it said so far. ending: how it went, once it is gone."""

    child: Child
    said: list[dict[str, Any]] = field(default_factory=list)
    gone: bool = False
    ending: str = ""

    def listen(self, timeout_s: float) -> None:
        """Take what it says within the time."""
        until = time.monotonic() + timeout_s
        try:
            while word := self.child.hear(max(0.0, until - time.monotonic())):
                self.said.append(word)
        except Gone as gone:
            self.gone, self.ending = True, str(gone)

    def at_ns(self, event: str) -> int | None:
        """When it first said this; None when it did not."""
        return next((word["at_ns"] for word in self.said if word["event"] == event), None)

    def over(self) -> bool:
        """Whether it is done or dead."""
        return self.gone or self.at_ns("over") is not None


@dataclass(frozen=True)
class Place:
    """Where a trial happens: a store of its own (its kind and its address), a receiver, a launcher."""

    kind: str
    store: str
    schema: str
    receiver: Receiver
    launcher: Launcher

    def start(self, task: Mapping[str, object]) -> Process:
        """Start a worker."""
        child = Child(self.launcher, [sys.executable, "-P", "-m", "streamlanes.chaos.worker"], None)
        where = {"store": self.store, "schema": self.schema, "url": self.receiver.url}
        child.say({**where, **task})
        return Process(child)

    def live(self, task: Mapping[str, object]) -> Process:
        """Run a worker to its end or its death."""
        life = self.start(task)
        try:
            until(life.over, [life])
        finally:
            life.child.end(grace_s=0.5)
        return life


@contextlib.contextmanager
def place(kind: str, store: str, schema: str, launcher: Launcher) -> Iterator[Place]:
    """A receiver for one trial; gone at the end of the block."""
    receiver = Receiver()
    try:
        yield Place(kind, store, schema, receiver, launcher)
    finally:
        receiver.close()


def until(what: Callable[[], object], processes: Sequence[Process], limit_s: float = LIMIT_S) -> None:
    """Wait for it, listening; give up at the limit: what is missing then is counted as missing."""
    until = time.monotonic() + limit_s
    while not what() and time.monotonic() < until:
        live = [each for each in processes if not each.over()]
        for each in live:
            each.listen(POLL_S / len(live))
        if not live:
            time.sleep(POLL_S)
