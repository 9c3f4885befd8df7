"""Requests, and what a database does with them.

A request is carried out in a transaction that may hold others' requests too (group commit), and its
future is answered once that transaction is durable. SQL is written once, as templates for both
databases: parameters as `:name`, and `{now}`, `{share}`, `{skip}` and others (see Dialect) where the two
differ.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

T = TypeVar("T")

Params = Mapping[str, object]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the two databases differ in what these tables need.

    now: the shared clock, in seconds. blob, real: names of types.
    share: locks the rows a statement reads against a change by others until the transaction ends.
    skip: likewise, and leaves out rows that others have locked.
    alone: a statement: a transaction that runs it waits for the end of any other that did.
    key: the columns of the key of checkpoints, in its order. newest: where the newest step of an execution
    is, among others or not. kept: further picks the steps of :thread_id, where the key does not.
    own: templates that this database has in other words.
    """

    name: str
    now: str
    blob: str
    real: str
    share: str
    skip: str
    alone: str
    key: str = "thread_id, step"
    newest: str = "checkpoints"
    kept: str = ""
    own: Mapping[str, str] = field(default_factory=dict)

    def fill(self, template: str) -> str:
        """A template's SQL."""
        return self.own.get(template, template).format(
            now=self.now,
            blob=self.blob,
            real=self.real,
            share=self.share,
            skip=self.skip,
            alone=self.alone,
            key=self.key,
            newest=self.newest,
            kept=self.kept,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What one statement did: how many rows it changed, and those it gave back."""

    changed: int
    rows: Sequence[Row]


class Transaction(Protocol):
    """A transaction that is open: one statement at a time."""

    def run(self, template: str, params: Params) -> Done: ...


@dataclass(frozen=True, slots=True)
class Write(Generic[T]):
    """Statements, each conditional in itself, and what their outcome means to the caller.

    answer: called after the commit; what it raises is the caller's answer. urgent: goes before all that is
    not, which may have been asked for earlier; for heartbeats.
    """

    execution: str | None
    statements: tuple[tuple[str, Params], ...]
    answer: Callable[[Sequence[Done]], T]
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Work(Generic[T]):
    """A function that reads and writes within the transaction. What it wrote before it raised is undone."""

    execution: str | None
    do: Callable[[Transaction], T]
    urgent: ClassVar[bool] = False


Request = Write[Any] | Work[Any]


@dataclass(slots=True)
class Counts:
    """What a database did so far. Only its writer changes them: what reads waited for is not in them.

    commits, requests: transactions, and requests in them. largest: requests in the largest, heartbeats
    included, of which any number share one.
    locked: times it found the database locked by another process and tried again.
    retried: transactions that were begun again, after a lost connection or a deadlock.
    waiting_ns: time spent waiting for a connection.
    """

    commits: int = 0
    requests: int = 0
    largest: int = 0
    locked: int = 0
    retried: int = 0
    waiting_ns: int = 0


class Database(Protocol):
    """A store's tables. One object a process; it refuses to be used across a fork."""

    durability: str
    """What an answer promises, by name: it stands in every result."""
    counts: Counts

    def submit(self, request: Write[T] | Work[T]) -> Future[T]:
        """Queue a request. The future is answered when it is durable, from the writer's thread."""

    def read(self, template: str, params: Params) -> Sequence[Row]:
        """Rows as last committed, in the caller's thread."""

    def close(self) -> None:
        """Carry out what is queued and let go."""
