"""Leases and fences through random interleavings, on a clock that also jumps, held against a model."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.errors import DurableError, LeaseLost, StepTaken
from streamlanes.durable.leases import Leases
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Checkpoint, Claimed, Lease, named

LEASE_S = 10.0
NAMES = st.sampled_from(["a", "b"])


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class LeaseMachine(RuleBasedStateMachine):
    """Workers claim, write, sleep and wake up; the model knows who may write."""

    leases_taken = Bundle("leases_taken")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.database = SQLite(self.folder / "s.db", synchronous=Synchronous.NORMAL, clock=self.clock)
        self.store, self.leases = Checkpoints(self.database), Leases(self.database)
        self.holder: dict[str, tuple[str, float]] = {}  # execution -> token, expires
        self.epochs: dict[str, int] = {}
        self.rows: dict[str, list[int]] = {"a": [], "b": []}  # epochs of the rows, in the order of steps
        self.done: set[str] = set()

    def teardown(self) -> None:
        self.database.close()
        shutil.rmtree(self.folder)

    def good(self, lease: Lease) -> bool:
        token, expires = self.holder.get(lease.thread_id, ("", 0.0))
        return token == lease.token and self.clock.now_s < expires

    def free(self, name: str) -> bool:
        """Lapsed, or reaching so far ahead that the clock must have been set back."""
        _, expires = self.holder.get(name, ("", 0.0))
        return expires <= self.clock.now_s or expires > self.clock.now_s + 2 * LEASE_S

    @rule(target=leases_taken, name=NAMES, owner=st.sampled_from(["w", "v"]))
    def claim(self, name: str, owner: str) -> Lease | None:
        found = self.leases.claim(name, owner, LEASE_S).result()
        assert (found is not None) == (name not in self.done and self.free(name))
        if found is None:
            return None
        return self.taken(name, found)

    @rule(target=leases_taken)
    def claim_any(self) -> Lease | None:
        """Of those that are there; which of them is the store's choice."""
        free = {name for name in self.epochs if name not in self.done and self.free(name)}
        found = self.leases.claim_any("w", LEASE_S).result()
        assert (found is not None) == bool(free)
        if found is None:
            return None
        assert found.lease.thread_id in free
        return self.taken(found.lease.thread_id, found)

    def taken(self, name: str, found: Claimed) -> Lease:
        self.epochs[name] = self.epochs.get(name, 0) + 1
        assert found.lease.epoch == self.epochs[name]
        assert (found.latest.step + 1 if found.latest else 0) == len(self.rows[name])
        self.holder[name] = (found.lease.token, self.clock.now_s + LEASE_S)
        return found.lease

    @rule(lease=leases_taken, last=st.booleans())
    def append(self, lease: Lease | None, last: bool) -> None:
        if lease is None:
            return
        rows = self.rows[lease.thread_id]
        future = self.store.append(lease, Checkpoint(lease.thread_id, len(rows), b"{}"), last=last)
        if self.good(lease):
            assert future.result().epoch == lease.epoch
            rows.append(lease.epoch)
            if last:
                self.done.add(lease.thread_id)
                del self.holder[lease.thread_id]
        else:
            with pytest.raises(LeaseLost):
                future.result()

    @rule(lease=leases_taken, last=st.booleans())
    def append_over_another(self, lease: Lease | None, last: bool) -> None:
        if lease is None or not self.rows[lease.thread_id]:
            return
        with pytest.raises(StepTaken if self.good(lease) else LeaseLost):
            self.store.append(lease, Checkpoint(lease.thread_id, 0, b"[1]"), last=last).result()

    @rule(lease=leases_taken)
    def beat(self, lease: Lease | None) -> None:
        if lease is not None:
            assert self.leases.beat(lease).result() == self.good(lease)
            if self.good(lease):
                self.holder[lease.thread_id] = (lease.token, self.clock.now_s + LEASE_S)

    @rule(lease=consumes(leases_taken))
    def release(self, lease: Lease | None) -> None:
        if lease is not None:
            held = self.holder.get(lease.thread_id, ("", 0.0))[0] == lease.token
            assert self.leases.release(lease).result() == held
            if held:
                del self.holder[lease.thread_id]

    @rule()
    def reap(self) -> None:
        lapsed = {name for name in self.holder if self.free(name)}
        assert set(self.leases.reap().result()) == lapsed
        for name in lapsed:
            del self.holder[name]

    @rule(seconds=st.sampled_from([0.5, 5.0, 9.9, 10.0, 25.0, -5.0, -100.0]))
    def move_the_clock(self, seconds: float) -> None:
        self.clock.now_s = max(0.0, self.clock.now_s + seconds)

    @rule()
    def restart_the_machine(self) -> None:
        self.clock.now_s = 0.0

    @invariant()
    def rows_are_what_good_leases_wrote(self) -> None:
        for name, epochs in getattr(self, "rows", {}).items():
            ended = self.leases.status(name) == "done"
            assert ended == (name in self.done)
            history = self.store.history(name)
            assert [one.step for one in history] == list(range(len(epochs)))
            assert [one.epoch for one in history] == epochs == sorted(epochs)


LeaseMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestLeaseMachine = LeaseMachine.TestCase


def test_what_was_claimed_before_a_restart_of_the_machine_is_claimed_after_it(tmp_path: Path):
    clock = Clock()
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL, clock=clock)
    leases = Leases(database)
    for name, lease_s in (("short", 1.0), ("long", 100.0)):
        assert leases.claim(name, "w", lease_s).result() is not None
    assert leases.claim_any("v", LEASE_S).result() is None
    clock.now_s = 0.0
    found = [leases.claim_any("v", LEASE_S).result() for _ in range(3)]
    assert [one and one.lease.thread_id for one in found] == ["short", "long", None]
    database.close()


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\0"])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(DurableError, match="is no thread_id; give it 1 to 200 printable characters"):
        named(name)
