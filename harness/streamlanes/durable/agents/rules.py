"""Who may write to whom, and what a reply must be. Pure.

Two layers: inside a group everybody writes to everybody, between groups only admins do. So an agent
that is added to a group adds messages to that group alone, and a group adds one admin to the other
layer: at a fixed group size messages grow with the number of agents, not with its square.
"""

from collections.abc import Callable, Iterable, Mapping

from streamlanes.durable.agents.values import MAX_LETTERS, MAX_TEXT, Family, Letter, Member, Reply
from streamlanes.durable.errors import DurableError
from streamlanes.durable.values import named


class AgentError(DurableError):
    """Something that agents, groups or their messages must not be. execution: the agent's name."""

    kind = "agent"
    whole = "the agents"


class NoSuchAgent(AgentError):
    """A message to an agent that does not exist."""


class BadReply(AgentError):
    """A reply that must not be dispatched; nothing of it was kept."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, a line each."""
        return tuple(self.what.split("; "))


Find = Callable[[str], Member | None]
"""An agent's place by its name; None where there is no such agent."""


def family(sender: str, by: Member, to: str, at: Member) -> Family | None:
    """The queues that a message goes through; None where it may go through none."""
    if sender == to:
        return None
    if by.group == at.group:
        return Family.CHAT
    return Family.ADMIN if by.admin and at.admin else None


def faults(sender: str, by: Member, reply: object, find: Find) -> list[str]:
    """What is wrong with a reply, a line each; empty for one that may be dispatched."""
    if not isinstance(reply, Reply):
        return [f"the reply is of type {type(reply).__qualname__}, not Reply"]
    if len(reply.letters) > MAX_LETTERS:
        return [f"{len(reply.letters):,} messages in a reply, more than {MAX_LETTERS:,}"]
    found = (_fault(sender, by, letter, find) for letter in reply.letters)
    return [fault for fault in found if fault is not None]


def checked_groups(groups: Mapping[str, Iterable[str]]) -> dict[str, Member]:
    """The members of all groups, the first of each its admin. Raises AgentError, naming the group, for
    a group of one and for an agent that is in two."""
    members: dict[str, Member] = {}
    for group, names in groups.items():
        agents = list(names)
        if len(agents) < 2:
            what = f"group {group} has {len(agents)} of them, and nobody there to chat with"
            raise AgentError(None, what, "give it 2 or more")
        for place, name in enumerate(agents):
            if name in members:
                what = f"{name} is in group {members[name].group} and in group {group}"
                raise AgentError(None, what, "name it once")
            members[named(name)] = Member(group, admin=place == 0)
    return members


def check_enrolled(asked: Mapping[str, Member], there: Mapping[str, Member]) -> None:
    """Hold agents that were to be enrolled against all that are there now, themselves among them. Raises
    AgentError where one is in another group, or a group has another admin beside the one it was given."""
    for name, member in asked.items():
        if there[name].group != member.group:
            what = f"{name} is in group {there[name].group} and was named in group {member.group}"
            raise AgentError(None, what, "leave it where it is")
    admins = {member.group: name for name, member in asked.items() if member.admin}
    for name, member in there.items():
        if member.admin and admins.get(member.group, name) != name:
            what = f"group {member.group} has its admin {name} and was given {admins[member.group]}"
            raise AgentError(None, what, f"name {name} first")


def split(agents: int, size: int) -> list[int]:
    """Sizes of the groups of `size` that so many agents make, the last one smaller where they do not
    come out even. Raises AgentError where a group would have one agent."""
    if size < 2 or agents < 2:
        what = f"{agents} in groups of {size} make a group of one, with nobody there to chat with"
        raise AgentError(None, what, "give each group 2 or more")
    sizes = [size] * (agents // size) + ([agents % size] if agents % size else [])
    if sizes[-1] == 1:
        what = f"{agents} in groups of {size} leave a group of one, with nobody there to chat with"
        raise AgentError(None, what, f"take {agents - 1} or {agents + 1}")
    return sizes


def _fault(sender: str, by: Member, letter: Letter, find: Find) -> str | None:
    if not isinstance(letter.text, str) or len(letter.text) > MAX_TEXT:
        return f"the message to {letter.to} is no text of at most {MAX_TEXT:,} characters"
    at = find(letter.to)
    if at is None:
        return f"there is no agent {letter.to}"
    if sender == letter.to:
        return f"a message to {letter.to} itself belongs in its memory"
    if family(sender, by, letter.to, at) is None:
        return f"{letter.to} is in group {at.group}: only admins write there, to its admin"
    return None
