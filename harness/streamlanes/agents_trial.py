"""What agents cost in messages: one task at growing sizes, in groups and, as a control, in one room.

The counts are read from the tables, and held against what the task must take. Beside them stands what
the process had for the agents at most: threads, and tasks of those that were awake.
"""

import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from streamlanes.durable.agents.queue import AgentQueue, Tally
from streamlanes.durable.agents.rules import split
from streamlanes.durable.agents.talk import Talk, at_once
from streamlanes.durable.agents.values import Family, Stage, Wake
from streamlanes.durable.agents.work import AgentWorker
from streamlanes.durable.database import Database
from streamlanes.durable.opening import open_database
from streamlanes.local_postgres import postgres

STORES = ("sqlite", "postgres")
PARTS = (4, 2, 1)
"""The task runs with a quarter, a half and all of the groups."""
ROOMS = (2, 4)
"""The control: so many groups' agents in one room."""
LARGEST_ROOM = 200


@dataclass(frozen=True)
class Ran:
    """One run of the task. wall_s: from the first message to the last dispatch.

    chat, admin: messages of the two families of queues; expected: what both must come to.
    largest: messages in the largest batch. commits: transactions that took, kept or dispatched.
    threads: most threads in the process, its database's included. awake: most agents awake at once.
    done: whether the first agent says so, nothing is unread, and nobody waits for a person.
    durability: of the store, as Database.durability.
    """

    agents: int
    groups: int
    chat: int
    admin: int
    expected: int
    wakes: int
    largest: int
    commits: int
    threads: int
    awake: int
    done: bool
    wall_s: float
    durability: str

    @property
    def messages(self) -> int:
        """Of both families."""
        return self.chat + self.admin

    @property
    def as_expected(self) -> bool:
        """Whether the task was done with exactly its messages."""
        return self.done and self.messages == self.expected

    def fields(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "messages": self.messages, "as_expected": self.as_expected}


def sizes(agents: int, group_size: int) -> list[list[int]]:
    """The runs, as the sizes of their groups: parts of the whole, then rooms. Pure.

    Raises AgentError for a group of one."""
    whole = split(agents, group_size)
    parts = [whole[: len(whole) // part] for part in PARTS if len(whole) // part]
    grown = [part for number, part in enumerate(parts) if part not in parts[:number]]
    rooms = sorted({min(group_size * room, agents, LARGEST_ROOM) for room in ROOMS})
    return [*grown, *([room] for room in rooms if [room] not in grown)]


def run_all(runs: Sequence[Sequence[int]], store: str, tell: Callable[[Ran], None]) -> list[Ran]:
    """Each run in a store of its own. Raises UserError where PostgreSQL is asked for and none is had."""
    made = []
    with _grounds(store) as place:
        for number, groups in enumerate(runs):
            database = place(f"agents_{number}")
            try:
                made.append(asyncio.run(_run(groups, database)))
            finally:
                database.close()
            tell(made[-1])
    return made


async def _run(groups: Sequence[int], database: Database) -> Ran:
    queue, threads = AgentQueue(database), 0

    async def think(wake: Wake) -> str:
        nonlocal threads
        threads = max(threads, threading.active_count())
        return await at_once(wake)

    talk = Talk(groups, think)
    queue.enroll(talk.groups()).result()
    commits, began = database.counts.commits, time.monotonic()
    queue.post(talk.first, "task", "the-task").result()
    worked = await AgentWorker(queue, talk).run()
    wall_s = time.monotonic() - began
    tally: Tally = queue.tally()
    memory = queue.memory(talk.first)
    told = isinstance(memory, dict) and memory.get("done") is True
    must = talk.messages()
    return Ran(
        agents=sum(tally.agents.values()),
        groups=len(talk.groups()),
        chat=tally.mail[Family.CHAT],
        admin=tally.mail[Family.ADMIN],
        expected=must[Family.CHAT] + must[Family.ADMIN],
        wakes=tally.wakes,
        largest=tally.largest,
        commits=database.counts.commits - commits,
        threads=threads,
        awake=worked.awake,
        done=told and not tally.unread and tally.agents[Stage.IDLE] == sum(tally.agents.values()),
        wall_s=wall_s,
        durability=database.durability,
    )


@contextlib.contextmanager
def _grounds(store: str) -> Iterator[Callable[[str], Database]]:
    """Opens fresh stores by name; all are gone at the end of the block."""
    if store == "postgres":
        with postgres() as server:
            yield lambda name: open_database(server.dsn, schema=name)
        return
    with tempfile.TemporaryDirectory(prefix="streamlanes-agents-") as folder:
        yield lambda name: open_database(str(Path(folder) / f"{name}.db"))
