"""What the queue, its workers and the agents pass to each other."""

import enum
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from streamlanes.durable.values import Lease

MAX_TEXT = 65_536
"""Longest text of a message, in characters."""
MAX_LETTERS = 10_000
"""Most messages in one reply."""


class Stage(enum.StrEnum):
    """Where an agent stands."""

    IDLE = "idle"  # nobody works on it; its in-queue may fill
    PROCESSING = "processing"  # one worker has its batch
    RESPONSE = "response"  # the reply is checked and in the out-queue, not yet dispatched


class Family(enum.StrEnum):
    """Which of the queues a message went through."""

    CHAT = "chat"  # inside a group
    ADMIN = "admin"  # between the admins of two groups
    OUTSIDE = "outside"  # from a person or a program, to any agent


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as an agent writes it."""

    to: str
    text: str


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as an agent reads it. sender: empty for one from outside."""

    sender: str
    family: Family
    text: str


@dataclass(frozen=True, slots=True)
class Member:
    """An agent's place in the two layers. It never changes."""

    group: str
    admin: bool


@dataclass(frozen=True, slots=True)
class Wake:
    """One wake-up of one agent: all that was in its in-queue, and the right to answer.

    number: counts the agent's wake-ups from 1; one that is done again has the same number and batch.
    memory: what the agent kept at its last reply, None before the first.
    stage: RESPONSE where a worker died after the reply was kept: only the dispatch is left to do.
    """

    agent: str
    number: int
    stage: Stage
    batch: Sequence[Mail]
    memory: object
    lease: Lease

    def key(self, call: int) -> str:
        """The idempotency key of an effect of this wake-up: the same for every worker."""
        return f"{self.agent}/{self.number}/{call}"

    @property
    def reply_key(self) -> str:
        """What the ledger has the cost of its reply under."""
        return f"{self.agent}/{self.number}/reply"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent makes of a batch: messages, and what it wants to remember (see state.encode).

    Tokens and price are what making it cost; they count against caps, in the transaction that keeps it.
    """

    letters: Sequence[Letter]
    memory: object
    prompt_tokens: int = 0
    output_tokens: int = 0
    price_usd: float = 0.0


Handler = Callable[[Wake, Sequence[str]], Awaitable[Reply]]
"""The agent itself: a wake-up to a reply. The second argument says what was wrong with the reply
before, line by line; it is empty at first."""
