"""Requests to people through random interleavings of lives, decisions and deaths, held against a model."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from durable_rows import LONG_S
from streamlanes.durable.database import Transaction, Work
from streamlanes.durable.errors import AlreadyDecided, LeaseLost, NoRequest, ProposalChanged
from streamlanes.durable.leases import Leases
from streamlanes.durable.people import People, Question, Status, canonical, shown
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Lease

NAMES = st.sampled_from(["a", "b"])
PROPOSALS = st.sampled_from(['"ten"', '"a thousand"'])


@dataclass
class Asked:
    """What the model knows of one execution and its one question.

    rounds: the status of each request; taken: the epoch that took the last decision up.
    """

    rounds: list[str] = field(default_factory=list)
    proposals: list[str] = field(default_factory=list)
    taken: int = 0
    epoch: int = 0
    parked: bool = False
    committed: bool = False
    wanted: int = 0  # how often policy had it asked anew


class RequestMachine(RuleBasedStateMachine):
    """Workers claim, ask, commit and die; a person decides, late, twice, and what nobody asked."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.database = SQLite(self.folder / "s.db", synchronous=Synchronous.NORMAL)
        self.leases = Leases(self.database)
        self.people = People(self.database, lambda: 1000.0)
        self.model = {"a": Asked(), "b": Asked()}
        self.held: dict[str, Lease] = {}
        self.stale: dict[str, Lease] = {}

    def teardown(self) -> None:
        self.database.close()
        shutil.rmtree(self.folder)

    @rule(name=NAMES)
    def claim(self, name: str) -> None:
        found = self.leases.claim(name, "w", LONG_S).result()
        assert (found is not None) == (name not in self.held and not self.model[name].parked)
        if found is not None:
            self.model[name].epoch += 1
            self.held[name] = found.lease

    @rule(name=NAMES)
    def die(self, name: str) -> None:
        if name in self.held:
            self.stale[name] = self.held.pop(name)
            assert self.leases.release(self.stale[name]).result()

    @rule(name=NAMES, proposal=PROPOSALS, anew=st.booleans())
    def ask(self, name: str, proposal: str, anew: bool) -> None:
        if name not in self.held:
            return
        of, lease = self.model[name], self.held[name]
        question = Question(f"{name}/0/0", proposal, anew, commits=f"{name}/0/1")
        answer = self.people.ask(lease, question)
        decided = bool(of.rounds) and of.rounds[-1] != Status.PENDING
        same = decided and of.proposals[-1] == proposal
        if decided and not of.committed and not anew and not same:
            with pytest.raises(ProposalChanged):
                answer.result()
            return
        rejected = decided and of.rounds[-1] == Status.REJECTED
        stands = not anew or (same and (rejected or of.taken in {0, of.epoch}))
        if decided and (of.committed or stands):
            said = answer.result()
            assert said is not None
            assert said.approved == (of.rounds[-1] == Status.APPROVED)
            assert canonical(name, said.proposal) == of.proposals[-1]
            of.taken = of.taken or of.epoch
            return
        assert answer.result() is None
        if decided:
            of.wanted += 1
        if decided or not of.rounds:
            of.rounds.append(Status.PENDING)
            of.proposals.append(proposal)
            of.taken = 0
        of.parked = True
        self.stale[name] = self.held.pop(name)

    @rule(name=NAMES)
    def ask_too_late(self, name: str) -> None:
        """A worker whose lease is gone neither asks nor is told; one whose own question parked the
        execution hears that again."""
        if name not in self.stale:
            return
        of, lease = self.model[name], self.stale[name]
        answer = self.people.ask(lease, Question(f"{name}/0/0", '"ten"', True))
        if of.parked and lease.epoch == of.epoch:
            assert answer.result() is None
        else:
            with pytest.raises(LeaseLost):
                answer.result()

    @rule(name=NAMES, approved=st.booleans())
    def decide(self, name: str, approved: bool) -> None:
        of = self.model[name]
        if not of.parked:
            return
        self.people.decide(self.id(name, len(of.rounds)), approved, "p").result()
        of.rounds[-1] = Status.APPROVED if approved else Status.REJECTED
        of.parked = False

    @rule(name=NAMES, number=st.integers(1, 4), approved=st.booleans())
    def decide_what_is_over_or_was_never_asked(self, name: str, number: int, approved: bool) -> None:
        of = self.model[name]
        if number <= len(of.rounds) and of.rounds[number - 1] == Status.PENDING:
            return
        known = number <= len(of.rounds)
        with pytest.raises(AlreadyDecided if known else NoRequest):
            self.people.decide(self.id(name, number), approved, "somebody else").result()

    @rule(name=NAMES)
    def commit(self, name: str) -> None:
        """The effect that was approved is done, and recorded."""
        of = self.model[name]
        if name not in self.held or not of.rounds or of.rounds[-1] != Status.APPROVED or of.committed:
            return
        row = {"key": f"{name}/0/1", "thread_id": name}

        def do(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO effects (key, thread_id, name, status, answer, epoch) "
                "VALUES (:key, :thread_id, 'pay', 'done', '1', 1)",
                row,
            )

        self.database.submit(Work(None, do)).result()
        of.committed = True

    @staticmethod
    def id(name: str, number: int) -> str:
        return f"{name}/0/0" if number == 1 else f"{name}/0/0.{number}"

    @invariant()
    def the_table_is_what_was_asked_and_decided(self) -> None:
        for name, of in getattr(self, "model", {}).items():
            rows = sorted(self.people.of(name), key=lambda each: each.round)
            assert [(row.round, row.status) for row in rows] == list(enumerate(of.rounds, 1))
            assert [canonical(name, row.proposal) for row in rows] == of.proposals
            assert len(rows) <= 1 + of.wanted, "asked again without policy"
            if of.epoch:
                assert self.leases.status(name) == ("parked" if of.parked else "open")
        waiting = {name for name, of in getattr(self, "model", {}).items() if of.parked}
        if hasattr(self, "people"):
            assert {each.thread_id for each in self.people.pending()} == waiting
            assert self.leases.standing() == len(self.held)


RequestMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestRequestMachine = RequestMachine.TestCase


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
@settings(deadline=None)
def test_a_proposal_has_one_text(proposal: object):
    text = canonical("a", proposal)
    turned = dict(reversed(proposal.items())) if isinstance(proposal, dict) else proposal
    assert canonical("a", turned) == text


@given(st.text())
@settings(deadline=None)
def test_what_somebody_wrote_cannot_act_on_a_terminal(text: str):
    assert shown(text).isprintable()
    assert shown(text)
