"""The outbox: failures wait, dead letters stay, order is by due time."""

import random
from pathlib import Path

import pytest

from durable_rows import LONG_S, claimed, row
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Message


class Draw(random.Random):
    """The longest wait that may be drawn."""

    def uniform(self, a: float, b: float) -> float:
        return b


class Clock:
    """Moved by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("target", ["mail", "nobody"])
def test_a_message_that_fails_waits_longer_and_longer_and_then_stays(tmp_path: Path, target: str):
    clock = Clock()
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL, clock=clock)
    messages = Message("bad", target, "x"), Message("good", "post", "y")
    Checkpoints(database).append(claimed(database), row(0, "a", b"{}", *messages)).result()
    tried: list[str] = []

    def fail(key: str, payload: str) -> None:
        tried.append(key)
        raise OSError("no route")

    backoff = Backoff(attempts=3, first_s=1.0)
    sent: list[str] = []
    senders = {"mail": fail, "post": lambda key, _: sent.append(key)}
    dispatcher = Dispatcher(database, Leases(database), senders, backoff)
    lock = dispatcher.lock("w", LONG_S)
    assert lock is not None
    assert dispatcher.send_due(lock) == 1
    assert dispatcher.counts() == {"sent": 1, "waiting": 1}
    for _ in range(5):
        clock.now_s += 10.0
        assert dispatcher.send_due(lock) == 0
    assert dispatcher.counts() == {"sent": 1, "failed": 1}
    assert tried == (["bad"] * 3 if target == "mail" else [])
    assert sent == ["good"]
    database.close()


def test_a_failure_that_is_noted_twice_is_counted_once(tmp_path: Path):
    """As when a connection is lost at the commit and the same is sent again."""
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL)
    Checkpoints(database).append(claimed(database), row(0, "a", b"{}", Message("k", "mail", "x"))).result()
    dispatcher = Dispatcher(database, Leases(database), {})
    lock = dispatcher.lock("w", LONG_S)
    assert lock is not None
    for _ in range(2):
        dispatcher._note_failure(lock, "k", 1)
    assert list(database.read("SELECT attempts FROM outbox", {})) == [(1,)]
    database.close()


def test_a_message_that_waits_outlives_a_restart_of_the_machine(tmp_path: Path):
    """Its clock begins at 0 then: what was due in a minute is not due only after as long as it ran before."""
    clock, sent = Clock(), []
    clock.now_s = 1_000_000.0
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL, clock=clock)
    Checkpoints(database).append(claimed(database), row(0, "a", b"{}", Message("k", "mail", "x"))).result()

    def fails_at_first(key: str, payload: str) -> None:
        if clock.now_s > 1000:
            raise OSError("no route")
        sent.append(key)

    leases = Leases(database)
    backoff = Backoff(first_s=60.0, most_s=60.0)
    dispatcher = Dispatcher(database, leases, {"mail": fails_at_first}, backoff, Draw())
    lock = dispatcher.lock("w", LONG_S)
    assert lock is not None
    assert dispatcher.send_due(lock) == 0
    clock.now_s += 1.0
    assert dispatcher.send_due(lock) == 0
    assert dispatcher.counts() == {"waiting": 1}
    clock.now_s = 0.0
    again = dispatcher.lock("w", LONG_S)
    assert again is not None
    assert dispatcher.send_due(again) == 1
    assert sent == ["k"]
    database.close()
