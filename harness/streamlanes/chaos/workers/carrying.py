"""What modes share: threads that carry executions out, and one that sends what the outbox holds."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError, LeaseLost, Parked
from streamlanes.durable.opening import open_database
from streamlanes.durable.outbox import Dispatcher, Send
from streamlanes.durable.running import Agent, Worker, carry_on
from streamlanes.durable.values import RUNTIME_VERSION
from streamlanes.durable.waits import Blocking, drive

POLL_S = 0.02

Beside = Callable[[Database, Worker], None]
"""What else a worker's process does, in a thread of its own, until nothing is left."""


def carry_out(
    task: Mapping[str, Any],
    agent: Agent,
    senders: Mapping[str, Send],
    beside: Sequence[Beside] = (),
    version: int = RUNTIME_VERSION,
) -> None:
    """Carry out whatever is open, until no execution is left and all messages are sent."""
    database = open_database(task["store"], schema=task["schema"])
    worker = Worker(database, task["owner"], task["lease_s"], version)
    say("up")
    threads = [threading.Thread(target=_execute, args=(worker, agent)) for _ in range(task["threads"])]
    threads.append(threading.Thread(target=_dispatch, args=(database, worker, senders)))
    threads += [threading.Thread(target=each, args=(database, worker)) for each in beside]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    worker.close()
    database.close()


def _execute(worker: Worker, agent: Agent) -> None:
    while worker.leases.left():
        claimed = worker.leases.claim_any(worker.owner, worker.lease_s).result()
        if claimed is None:
            time.sleep(POLL_S)
            continue
        name = claimed.lease.thread_id
        say("claimed", thread_id=name, epoch=claimed.lease.epoch)
        try:
            drive(carry_on(agent, claimed, worker, Blocking()))
            say("done", thread_id=name)
        except Parked:
            say("parked", thread_id=name)
        except LeaseLost:
            say("lost", thread_id=name)
        except Exception as error:  # its lease is let go, somebody tries again
            say("failed", thread_id=name, error=f"{type(error).__name__}: {error}")


def _dispatch(database: Database, worker: Worker, senders: Mapping[str, Send]) -> None:
    dispatcher = Dispatcher(database, worker.leases, senders)
    while worker.leases.left() or dispatcher.counts().get("waiting"):
        lock = dispatcher.lock(worker.owner, worker.lease_s)
        if lock is None:
            time.sleep(POLL_S)
            continue
        worker.heart.hold(lock)
        try:
            while worker.leases.left() or dispatcher.counts().get("waiting"):
                if not dispatcher.send_due(lock):
                    time.sleep(POLL_S)
        except LeaseLost:
            continue
        except DurableError as error:
            say("failed", thread_id=lock.thread_id, error=str(error))
        finally:
            worker.heart.drop(lock)
        worker.leases.release(lock).result()
