"""What is handed over, what comes back, and what an offload must offer."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from streamlanes.cpu.base import Shape

Document = tuple[int, str]
"""A document's index, and its text."""


@dataclass(frozen=True)
class Task:
    """Documents handed over together.

    times: how often each goes through the kernel. echo_bytes: answer with so many bytes a document and
    run no kernel, to see what the way there and back costs.
    """

    documents: tuple[Document, ...]
    times: int = 1
    echo_bytes: int | None = None


@dataclass(frozen=True)
class Fault:
    """A document that failed: class and message. The exception itself stays where it was raised, for
    one that cannot be pickled or made again would take the others with it."""

    error: str


class Made(NamedTuple):
    """A document's vector as it travels: its bytes, and its shape."""

    vector: bytes
    shape: Shape


Results = list[Made | Fault]
"""What became of a task's documents, in their order."""


@dataclass(frozen=True)
class Staff:
    """Who works: how many at once, and how processes start (None: this Python's default)."""

    workers: int
    start_method: str | None = None


class Offload(Protocol):
    """`open`: every worker up, its kernel loaded; raises RuntimeError where one cannot come up.
    `submit`: never raises for what a document does. `facts`: what was really used. `close`: no worker
    is left."""

    def open(self) -> None: ...
    def submit(self, task: Task) -> "Future[Results]": ...
    def facts(self) -> dict[str, object]: ...
    def close(self) -> None: ...
