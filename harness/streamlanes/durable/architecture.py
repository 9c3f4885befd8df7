"""What an architecture is: one way to carry many executions on, and to keep their steps.

Somebody else says what a step does and looks at the clock (Steps). An architecture calls for the steps,
makes each durable, and says so. Whether an execution is a coroutine of its own, a row that workers
claim, or messages to an actor, is its own affair: all are driven alike, and so can be compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from streamlanes.durable.database import Database
from streamlanes.durable.waits import Waits
from streamlanes.durable.writer import GROUP


class StepFailed(Exception):
    """The work of a step did not end well; nothing is to be kept of it."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a step came to. state: JSON, to be kept. last: the execution ends with it."""

    state: object
    last: bool


class Steps(Protocol):
    """What a step does, and who is told that it is kept. One step of an execution at a time."""

    async def work(self, execution: int, step: int) -> Made:
        """Do step `step` (0, 1, ...). Raises StepFailed. Where waits block, it blocks and never yields."""

    def kept(self, execution: int, step: int) -> None:
        """Say that the step is durable and its execution goes on; once a step, from any thread."""


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """Where an architecture keeps its steps.

    where: the path of a fresh SQLite file, or a server's DSN. schema: of PostgreSQL, fresh. synchronous:
    SQLite's, "full" or "normal". group: most requests in a commit. sync_ms: added to each sync of the
    store; on SQLite the VFS named by `vfs` does that. executions: their number.
    """

    where: str
    executions: int
    schema: str = "streamlanes"
    synchronous: str = "full"
    group: int = GROUP
    sync_ms: float = 0.0
    vfs: str | None = None

    def open_database(self) -> Database:
        """The database on these grounds. The caller closes it. Raises DurableError."""
        from streamlanes.durable.opening import open_database
        from streamlanes.durable.sqlite import Synchronous

        return open_database(
            self.where,
            group=self.group,
            synchronous=Synchronous(self.synchronous),
            schema=self.schema,
            sync_ms=self.sync_ms,
            vfs=self.vfs,
        )


class Architecture(Protocol):
    """Made from Grounds, and then, in this order: open, start, run for each execution, left and facts,
    stop, close.

    durability: what an answer promises, as Database.durability.
    """

    durability: str

    def open(self) -> None:
        """Have servers, tables and rows up and idle; in the main thread, before anything is timed."""

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Start who works beside the executions; in the event loop, if there is one."""

    async def run(self, execution: int) -> None:
        """Carry execution number `execution` to its end: over when its last step is kept, by whomever.
        Where waits block, it never yields."""

    def left(self) -> Mapping[int, int]:
        """Once all have run: how many steps the store holds, by execution."""

    def facts(self) -> Mapping[str, int | float]:
        """Once all have run: counts of its own. Known to all: `commits` (transactions), `requests` (in
        them), `largest` (in one), `waiting_ns` (for a connection)."""

    async def stop(self) -> None:
        """End who was started; in the event loop again."""

    def close(self) -> None:
        """Leave nothing behind; in the main thread."""
