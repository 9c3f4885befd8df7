"""AgentQueue through random interleavings and crashes between its transactions, held against a model.

The model knows nothing of tables: an agent has an in-queue, a batch, an out-queue and a stage, and a
worker that dies is simply one that does nothing more.
"""

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from streamlanes.durable.agents.queue import FAR_S, AgentQueue
from streamlanes.durable.agents.rules import BadReply
from streamlanes.durable.agents.values import Letter, Reply, Stage, Wake
from streamlanes.durable.errors import LeaseLost
from streamlanes.durable.sqlite import SQLite, Synchronous

LEASE_S = 10.0
GROUPS = {"a": ["a0", "a1"], "b": ["b0", "b1"]}
NAMES = [name for names in GROUPS.values() for name in names]
MAY_WRITE = {("a0", "a1"), ("a1", "a0"), ("b0", "b1"), ("b1", "b0"), ("a0", "b0"), ("b0", "a0")}
LETTERS = st.lists(st.sampled_from([*NAMES, "nobody"]), max_size=3)


@dataclass
class Agent:
    stage: Stage = Stage.IDLE
    inbox: list[str] = field(default_factory=list)
    batch: list[str] = field(default_factory=list)
    outbox: list[tuple[str, str]] = field(default_factory=list)
    wakes: int = 0
    memory: int | None = None
    token: str = ""
    expires: float = 0.0


class AgentMachine(RuleBasedStateMachine):
    """Workers take, answer, dispatch, die and are stopped; stores are closed and opened again."""

    wakes = Bundle("wakes")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now_s = 100_000.0
        self.agents = {name: Agent() for name in NAMES}
        self.texts = 0
        self.written = 0  # messages that were kept, posts included
        self.database = self.opened()
        self.queue = AgentQueue(self.database)
        self.queue.enroll(GROUPS).result()

    def opened(self) -> SQLite:
        return SQLite(self.folder / "s.db", synchronous=Synchronous.NORMAL, clock=lambda: self.now_s)

    def teardown(self) -> None:
        self.database.close()
        shutil.rmtree(self.folder)

    def good(self, wake: Wake, stage: Stage) -> bool:
        agent = self.agents[wake.agent]
        return agent.token == wake.lease.token and self.now_s < agent.expires and agent.stage == stage

    def free(self, agent: Agent) -> bool:
        """Lapsed, or reaching so far ahead that the clock must have been set back."""
        return agent.expires <= self.now_s or agent.expires > self.now_s + FAR_S

    def text(self) -> str:
        self.texts += 1
        return f"m{self.texts}"

    @rule(to=st.sampled_from(NAMES))
    def post(self, to: str) -> None:
        text = self.text()
        assert self.queue.post(to, text, text).result()
        assert not self.queue.post(to, text, text).result()
        self.agents[to].inbox.append(text)
        self.written += 1

    @rule(target=wakes, most=st.sampled_from([1, 2, 9]), owner=st.sampled_from(["w", "v"]))
    def take(self, most: int, owner: str) -> object:
        may = {
            name
            for name, agent in self.agents.items()
            if (agent.inbox if agent.stage is Stage.IDLE else self.free(agent))
        }
        found = self.queue.take(owner, most, LEASE_S).result()
        assert len(found) == min(most, len(may))
        assert {wake.agent for wake in found} <= may
        for wake in found:
            agent = self.agents[wake.agent]
            if agent.stage is Stage.IDLE:
                agent.stage, agent.batch, agent.inbox = Stage.PROCESSING, agent.inbox, []
                agent.wakes += 1
            assert Counter(mail.text for mail in wake.batch) == Counter(agent.batch)
            assert (wake.stage, wake.number, wake.memory) == (agent.stage, agent.wakes, agent.memory)
            agent.token, agent.expires = wake.lease.token, self.now_s + LEASE_S
        return multiple(*found)

    @rule(wake=wakes, to=LETTERS)
    def answer(self, wake: Wake, to: list[str]) -> None:
        letters = [Letter(name, self.text()) for name in to]
        future = self.queue.answer(wake, Reply(letters, self.texts))
        agent = self.agents[wake.agent]
        if any((wake.agent, name) not in MAY_WRITE for name in to):
            with pytest.raises(BadReply):
                future.result()
        elif self.good(wake, Stage.PROCESSING):
            future.result()
            agent.stage, agent.memory = Stage.RESPONSE, self.texts
            agent.outbox = [(letter.to, letter.text) for letter in letters]
            self.written += len(letters)
        elif agent.token == wake.lease.token and agent.stage is Stage.RESPONSE:
            future.result()  # asked for again: what was kept first stays
        else:
            with pytest.raises(LeaseLost):
                future.result()

    @rule(wake=wakes)
    def dispatch(self, wake: Wake) -> None:
        agent = self.agents[wake.agent]
        future = self.queue.dispatch(wake)
        if self.good(wake, Stage.RESPONSE):
            future.result()
            agent.stage, agent.batch = Stage.IDLE, []
            for to, text in agent.outbox:
                self.agents[to].inbox.append(text)
            agent.outbox = []
        elif agent.token == wake.lease.token and agent.stage is Stage.IDLE:
            future.result()  # asked for again: nothing more is sent
        else:
            with pytest.raises(LeaseLost):
                future.result()

    @rule(wake=wakes)
    def beat(self, wake: Wake) -> None:
        agent = self.agents[wake.agent]
        held = any(self.good(wake, stage) for stage in (Stage.PROCESSING, Stage.RESPONSE))
        assert self.queue.beat(wake.lease).result() == held
        if held:
            agent.expires = self.now_s + LEASE_S

    @rule(wake=consumes(wakes))
    def die(self, wake: Wake) -> None:
        """Nobody has this wake-up any more."""

    @rule(seconds=st.sampled_from([0.5, 9.9, 10.0, 25.0]))
    def time_goes_by(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def the_machine_starts_anew(self) -> None:
        """SQLite's clock begins at 0 then."""
        self.all_workers_start_anew()
        self.now_s = 0.0

    @rule()
    def all_workers_start_anew(self) -> None:
        self.database.close()
        self.database = self.opened()
        self.queue = AgentQueue(self.database)

    @invariant()
    def no_message_is_lost_and_none_is_twice(self) -> None:
        if not hasattr(self, "queue"):
            return
        tally = self.queue.tally()
        assert tally.agents == {
            stage: sum(agent.stage is stage for agent in self.agents.values()) for stage in Stage
        }
        assert tally.wakes == sum(agent.wakes for agent in self.agents.values())
        assert sum(tally.mail.values()) == self.written
        waiting = [text for agent in self.agents.values() for text in agent.inbox]
        in_out = [text for agent in self.agents.values() for _, text in agent.outbox]
        assert tally.unread == len(waiting) + len(in_out)
        rows = self.database.read("SELECT text, place, recipient FROM mail", {})
        assert len({text for text, _, _ in rows}) == len(rows) == self.written
        assert Counter(text for text, place, _ in rows if place == "in") == Counter(waiting)
        assert Counter(text for text, place, _ in rows if place == "out") == Counter(in_out)
        assert (self.queue.busy() > 0) == any(
            agent.inbox or agent.stage is not Stage.IDLE for agent in self.agents.values()
        )


AgentMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestAgentMachine = AgentMachine.TestCase
