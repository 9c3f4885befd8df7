"""An outbox delivers a message twice, and what it asks for happens once."""

import time
from collections.abc import Sequence

from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.opening import open_database
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.points import Point, watch
from streamlanes.durable.posting import Caller
from streamlanes.durable.receiver import Receiver
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint

LEASE_S = 0.2
POLL_S = 0.02


class Died(BaseException):
    """The dispatcher's death, between its sending and its noting that it did."""


async def agent(state: object, step: Step) -> object:
    """One step that sends one message."""
    step.send("mail", "the book is on its way")
    return Last("sent")


def act(stage: Stage) -> Sequence[Figure]:
    """The first dispatcher dies after it has sent; the next one cannot know that, and sends again."""
    receiver, caller = Receiver(), Caller()
    database = open_database(str(stage.folder / "store.db"))
    worker = Worker(database)
    delivered: list[str] = []

    def mail(key: str, payload: str) -> None:
        delivered.append(key)
        caller.post(f"{receiver.url}/guarded", {"ref": payload}, key)

    dispatcher = Dispatcher(database, worker.leases, {"mail": mail})
    try:
        run_with_checkpoint(agent, "demo", worker)
        died = _death(dispatcher)
        sent = _dispatch(dispatcher)
        effects = receiver.ledger("guarded").total()
        left = dispatcher.counts().get("waiting", 0)
    finally:
        worker.close()
        database.close()
        caller.close()
        receiver.close()
    return [
        Figure("dispatchers that died after sending", 1, int(died)),
        Figure("messages that the next one sent", 1, sent),
        Figure("deliveries", 2, len(delivered)),
        Figure("keys they had", 1, len(set(delivered))),
        Figure("effects at the receiver", 1, effects),
        Figure("messages left in the outbox", 0, left),
    ]


def _death(dispatcher: Dispatcher) -> bool:
    """Send, and die before that is noted; whether it came to that."""

    def die(point: Point) -> None:
        if point is Point.AFTER_SEND:
            raise Died

    watch(die)
    try:
        _dispatch(dispatcher)
    except Died:
        return True
    finally:
        watch(None)
    return False


def _dispatch(dispatcher: Dispatcher) -> int:
    """Wait for the lock of whoever had it, then send what is due."""
    while (lock := dispatcher.lock("demo", LEASE_S)) is None:
        time.sleep(POLL_S)
    return dispatcher.send_due(lock)
