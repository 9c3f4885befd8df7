"""What another process does to a store in the tests: a module that a spawned one can import by its name."""

from durable_rows import row
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.leases import Leases
from streamlanes.durable.sqlite import SQLite, Synchronous


def claim_until_none_is_left(path: str, worker: str) -> int:
    """Claim executions and bring each to its end in five steps; returns how many."""
    database = SQLite(path, synchronous=Synchronous.NORMAL)
    store, taken = Checkpoints(database), 0
    while claimed := Leases(database).claim_any(worker, 600.0).result():
        name = claimed.lease.thread_id
        for step in range(5):
            store.append(claimed.lease, row(step, name), last=step == 4).result()
        taken += 1
    database.close()
    return taken
