"""The outbox: failures wait, dead letters stay, order is by due time."""

from pathlib import Path

import pytest

from durable_rows import LONG_S, claimed, row
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Message


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
