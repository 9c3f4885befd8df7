"""Scenario `queue`: agents in groups that write to each other, with an effect in every wake-up."""

from collections.abc import Mapping, Sequence

from streamlanes.chaos import controls
from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.chaos.scenarios.base import Left, beyond, task
from streamlanes.chaos.workers.queue import GROUPS
from streamlanes.durable.agents.queue import AgentQueue, Tally
from streamlanes.durable.agents.talk import TASK, Talk
from streamlanes.durable.agents.values import Family
from streamlanes.durable.database import Database
from streamlanes.durable.points import Point

_WAKES = "SELECT name, wake FROM agents"


class Queue:
    """See Played."""

    points = (
        Point.BEFORE_EFFECT,
        Point.AFTER_EFFECT,
        Point.BEFORE_ANSWER,
        Point.AFTER_ANSWER,
        Point.AFTER_DISPATCH,
        Point.IN_HEARTBEAT,
        Point.IN_COMMIT,
        Point.AFTER_COMMIT,
    )

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        queue, talk = AgentQueue(database), Talk(GROUPS)
        queue.enroll(talk.groups()).result()
        queue.post(talk.first, TASK, f"k{kill.number}").result()

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        return [task("queue", kill, size)]

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        queue = AgentQueue(left.database)
        wakes = {str(name): int(wake) for name, wake in left.database.read(_WAKES, {})}
        memories = {name: queue.memory(name) for name in wakes}
        claimed = bool(left.said("done"))
        return counted(wakes, memories, queue.tally(), left.ledger, left.begun(), claimed=claimed)

    def controls(self, at: Place) -> Sequence[Control]:
        return [in_memory(at)]


QUEUE = Queue()


def counted(  # each is another witness
    wakes: Mapping[str, int],
    memories: Mapping[str, object],
    tally: Tally,
    ledger: Mapping[str, int],
    begun: Sequence[tuple[str, int]],
    *,
    claimed: bool,
) -> Counts:
    """What a trial came to. wakes: wake-ups of each agent. claimed: whether a worker called all done."""
    must = Talk(GROUPS).messages()
    refs = [f"{name}/{number}" for name, last in wakes.items() for number in range(1, last + 1)]
    waiting = [name for name, memory in memories.items() if not _done(memory)]
    return Counts(
        lost=sum(not ledger.get(ref) for ref in refs)
        + sum(max(0, must[one] - tally.mail.get(one, 0)) for one in Family),
        duplicated=beyond(ledger) + sum(max(0, tally.mail.get(one, 0) - must[one]) for one in Family),
        redone=len(begun) - len(set(begun)),
        false_done=int(claimed and bool(waiting or tally.unread)),
        unfinished=len(waiting),
    )


def in_memory(at: Place) -> Control:
    """Mailboxes in memory: killed in the third wake-up, and another worker starts with empty ones."""
    struck = controls.strike(Point.BEFORE_EFFECT)
    begun = controls.live(at, "mailboxes", struck) + controls.live(at, "mailboxes", None, first=False)
    agents = [name for names in Talk(GROUPS).groups().values() for name in names]
    ledger = controls.ledger_of(at, "mailboxes")
    silent = sum(not any(ref.startswith(f"mailboxes/{name}/") for ref in ledger) for name in agents)
    says = f"mailboxes in memory, killed in wake-up {controls.KILLED_AT} of {len(agents)} agents"
    return Control(
        "mailboxes-in-memory", says, ("lost",), Counts(lost=silent, redone=len(begun) - len(set(begun)))
    )


def _done(memory: object) -> bool:
    return isinstance(memory, dict) and memory.get("done") is True
