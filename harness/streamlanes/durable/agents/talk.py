"""A task that any number of agents carries out with a known number of messages, in two layers.

The first admin hears of the task from outside. It writes to every other admin, and each admin to its
group; each member writes what it made of it to all of its group; an admin that has heard them all
reports to the first, and the first is done when every group has reported. With groups of S agents,

    chat    S (S - 1) a group: S - 1 tasks, and S - 1 results to S - 1 others each
    admin   2 for every group but the first: a task and a report

so at a fixed S every agent costs the same, and one room for all N costs N (N - 1).
"""

from collections.abc import Awaitable, Callable, Sequence

from streamlanes.durable.agents.values import Family, Letter, Reply, Wake

TASK, RESULT, REPORT = "task", "result", "report"

Think = Callable[[Wake], Awaitable[str]]
"""What an agent does with a batch, such as a call to a model; its answer goes into what it writes."""


async def at_once(wake: Wake) -> str:
    """Think of nothing."""
    return f"{len(wake.batch)} read"


class Talk:
    """The agents of one task: groups of the given sizes. It is a Handler."""

    def __init__(self, sizes: Sequence[int], think: Think = at_once) -> None:
        self._sizes = sizes
        self._think = think
        self.first = _name(0, 0)

    def groups(self) -> dict[str, list[str]]:
        """All agents by group, the first of each its admin."""
        return {f"g{group}": self._group(group) for group in range(len(self._sizes))}

    def messages(self) -> dict[Family, int]:
        """How many messages it takes, whatever the order in which agents wake."""
        return {
            Family.CHAT: sum(size * (size - 1) for size in self._sizes),
            Family.ADMIN: 2 * (len(self._sizes) - 1),
            Family.OUTSIDE: 1,
        }

    async def __call__(self, wake: Wake, faults: Sequence[str]) -> Reply:
        """A batch to a reply."""
        thought = await self._think(wake)
        group, place = (int(part[1:]) for part in wake.agent.split("."))
        mates = [name for name in self._group(group) if name != wake.agent]
        before = wake.memory if isinstance(wake.memory, dict) else {}
        words = [mail.text.partition(" ")[0] for mail in wake.batch]
        heard = before.get("heard", 0) + words.count(RESULT)
        reports = before.get("reports", 0) + words.count(REPORT)
        letters = []
        if TASK in words and place == 0:
            letters += [Letter(name, TASK) for name in mates]
            if group == 0:
                letters += [Letter(_name(other, 0), TASK) for other in range(1, len(self._sizes))]
        elif TASK in words:
            letters += [Letter(name, f"{RESULT} {thought}") for name in mates]
        all_heard = heard == (len(mates) if place == 0 else len(mates) - 1)  # an admin has no result
        if place == 0 and group > 0 and all_heard and not before.get("done"):
            letters.append(Letter(self.first, f"{REPORT} {thought}"))
        done = all_heard and (group > 0 or place > 0 or reports == len(self._sizes) - 1)
        return Reply(letters, {"heard": heard, "reports": reports, "done": done})

    def _group(self, group: int) -> list[str]:
        return [_name(group, place) for place in range(self._sizes[group])]


def _name(group: int, place: int) -> str:
    return f"g{group}.a{place}"
