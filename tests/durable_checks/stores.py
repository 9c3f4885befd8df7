"""What a database must do for checkpoints, leases and groups of writes."""

import contextlib
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_rows import LONG_S, claimed, lapse, row
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database, Work
from streamlanes.durable.errors import Closed, DurableError, LeaseLost, NewerVersion, StepTaken
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.values import Checkpoint, Message


class StoreChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_what_was_appended_is_there_in_order(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        messages = (Message("k", "mail", "hello"),)
        for step in range(3):
            kept = store.append(lease, row(step, "a", b'{"n":%d}' % step, *messages)).result()
            assert kept.epoch == lease.epoch == 1
        assert [one.step for one in store.history("a")] == [0, 1, 2]
        assert store.latest("a") == Checkpoint("a", 2, b'{"n":2}', messages, epoch=1)
        assert store.latest("b") is None
        assert list(store.history("b")) == []

    def test_a_step_is_appended_once(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        store.append(lease, row(0)).result()
        assert store.append(lease, row(0)).result().step == 0, "the very same again is no error"
        with pytest.raises(StepTaken, match="execution a: step 0 has a checkpoint already"):
            store.append(lease, row(0, "a", b"[]")).result()
        assert [one.state for one in store.history("a")] == [b"{}"]

    def test_a_step_that_is_refused_sends_nothing_and_ends_nothing(self, database: Database):
        store, leases, lease = Checkpoints(database), Leases(database), claimed(database)
        mail, other = Message("a/0/0", "mail", "hello"), Message("a/0/1", "mail", "other")
        store.append(lease, row(0, "a", b"{}", mail)).result()
        for refused in (
            row(0, "a", b"[]", mail),
            row(0, "a", b"[]", other),
            row(0, "a", b"{}", mail, other),
            row(0, "a", b"{}"),
            Checkpoint("a", 0, b"{}", (mail,), version=2),
        ):
            with pytest.raises(StepTaken):
                store.append(lease, refused, last=True).result()
        assert Dispatcher(database, leases, {}).counts() == {"waiting": 1}
        assert leases.status("a") == "open"
        assert store.append(lease, row(1), last=True).result().step == 1, "and the lease is as good as before"

    def test_prune_keeps_the_newest(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        for step in range(5):
            store.append(lease, row(step)).result()
        assert store.prune("a", 2).result() == 3
        assert [one.step for one in store.history("a")] == [3, 4]
        assert store.prune("a", 2).result() == 0
        with pytest.raises(DurableError, match="keep 1 or more"):
            store.prune("a", 0)

    def test_a_lost_lease_writes_nothing(self, database: Database):
        store, leases, old = Checkpoints(database), Leases(database), claimed(database)
        lapse(database, "a")
        with pytest.raises(LeaseLost, match=r"execution a: the lease of w .epoch 1. lapsed"):
            store.append(old, row(0)).result()
        assert leases.beat(old).result() is False, "and cannot be renewed"
        new = claimed(database, owner="w")  # under the same name too
        assert (new.epoch, new.token != old.token) == (2, True)
        for write in (
            lambda: store.append(old, row(0)),
            lambda: store.append(old, row(0), last=True),
            lambda: store.update(old, lambda _: b"{}"),
        ):
            with pytest.raises(LeaseLost):
                write().result()
        assert leases.release(old).result() is False
        assert list(store.history("a")) == []
        assert leases.status("a") == "open"
        assert store.append(new, row(0)).result().epoch == 2

    def test_an_update_that_outlasts_its_lease_is_kept_or_refused(self, database: Database):
        """SQLite's clock stands still in a transaction and PostgreSQL's does not; neither says "kept" of
        what is not."""
        store, lease = Checkpoints(database), claimed(database, lease_s=0.2)

        def slowly(state: bytes | None) -> bytes:
            time.sleep(0.4)
            return b"{}"

        kept = []
        with contextlib.suppress(LeaseLost):
            kept.append(store.update(lease, slowly).result())
        assert list(store.history("a")) == kept

    def test_one_lease_at_a_time(self, database: Database):
        leases = Leases(database)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: leases.claim("a", f"w{n}", LONG_S).result(), range(24)))
        assert sum(one is not None for one in found) == 1

    def test_any_open_execution_is_claimed_once(self, database: Database):
        leases = Leases(database)
        for number in range(5):
            assert leases.create(f"e{number}").result()
        assert not leases.create("e0").result()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: leases.claim_any("w", LONG_S).result(), range(9)))
        taken = Counter(one.lease.thread_id for one in found if one)
        assert taken == {f"e{number}": 1 for number in range(5)}
        assert leases.standing() == 5
        assert leases.release(next(one.lease for one in found if one)).result()
        assert leases.claim_any("w", LONG_S).result() is not None

    def test_the_reaper_frees_what_lapsed(self, database: Database):
        leases = Leases(database)
        claimed(database, "a")
        claimed(database, "b")
        lapse(database, "a")
        assert list(leases.reap().result()) == ["a"]
        assert list(leases.reap().result()) == []
        assert leases.standing() == 1
        assert leases.claim_any("w").result().lease.thread_id == "a"

    def test_the_last_step_ends_the_execution(self, database: Database):
        store, leases, lease = Checkpoints(database), Leases(database), claimed(database)
        store.append(lease, row(0), last=True).result()
        assert (leases.status("a"), leases.open()) == ("done", 0)
        assert leases.claim("a", "w").result() is None
        assert store.append(lease, row(0), last=True).result().step == 0, "an answer lost, asked again"
        with pytest.raises(LeaseLost):
            store.append(lease, row(1)).result()

    def test_a_last_step_that_was_kept_before_is_no_end_by_itself(self, database: Database):
        """The step is there, its lease is another's, and the execution goes on: nothing ended it."""
        store, leases, lease = Checkpoints(database), Leases(database), claimed(database)
        store.append(lease, row(0)).result()
        lapse(database, "a")
        assert leases.claim("a", "v", LONG_S).result() is not None
        with pytest.raises(LeaseLost):
            store.append(lease, row(0), last=True).result()
        assert leases.status("a") == "open"

    def test_a_lock_is_held_by_one_and_is_no_work(self, database: Database):
        leases = Leases(database)
        lock = leases.lock("dispatcher", "w", LONG_S).result()
        assert lock is not None
        assert leases.lock("dispatcher", "v", LONG_S).result() is None
        assert leases.claim_any("w").result() is None
        assert leases.release(lock.lease).result()
        assert leases.lock("dispatcher", "v", LONG_S).result() is not None

    def test_rows_of_a_newer_version_are_refused_and_the_lease_is_let_go(self, database: Database):
        store, leases, lease = Checkpoints(database), Leases(database), claimed(database)
        store.append(lease, Checkpoint("a", 0, b"{}", version=9)).result()
        leases.release(lease).result()
        for ask in (lambda: store.latest("a"), lambda: leases.claim("a", "w").result()):
            with pytest.raises(NewerVersion, match="execution a: step 0 was written by runtime version 9"):
                ask()
        database.submit(Work(None, lambda _: None)).result()  # what was queued before is done
        assert leases.standing() == 0

    def test_sixty_four_threads_update_one_state(self, database: Database):
        """Acceptance case G1: each reads and then writes, and no update is lost."""
        store, lease = Checkpoints(database), claimed(database)

        def increment(state: bytes | None) -> bytes:
            return json.dumps({"n": json.loads(state or b'{"n":0}')["n"] + 1}).encode()

        def fifty(_: int) -> int:
            return sum(store.update(lease, increment).result() is not None for _ in range(50))

        with ThreadPoolExecutor(64) as pool:
            answered = sum(pool.map(fifty, range(64)))
        assert answered == 3200
        latest = store.latest("a")
        assert latest is not None
        assert (latest.step, json.loads(latest.state)) == (3199, {"n": 3200})
        assert database.counts.commits < 3200, "they shared commits"

    def test_one_bad_request_costs_the_others_of_its_group_nothing(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        gate = threading.Event()
        holding = database.submit(Work(None, lambda _: gate.wait(30)))

        def fail(_: object) -> None:
            raise RuntimeError("mine alone")

        bad = [
            database.submit(Work("a", fail)),
            database.submit(Work("a", lambda tx: tx.run("SELECT nothing FROM nowhere", {}))),
        ]
        good = [store.append(lease, row(step)) for step in range(5)]
        gate.set()
        holding.result()
        assert [one.result().step for one in good] == [0, 1, 2, 3, 4]
        with pytest.raises(RuntimeError, match="mine alone"):
            bad[0].result()
        with pytest.raises(DurableError, match="execution a"):
            bad[1].result()

    def test_work_that_fails_leaves_nothing_behind(self, database: Database):
        def half(transaction: object) -> None:
            transaction.run("DELETE FROM executions", {})
            raise RuntimeError

        claimed(database)
        with pytest.raises(RuntimeError):
            database.submit(Work(None, half)).result()
        assert Leases(database).status("a") == "open"

    def test_a_closed_store_says_so(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        last = store.append(lease, row(0))
        database.close()
        assert last.result().step == 0, "what was queued is carried out"
        with pytest.raises(Closed, match="open the store again"):
            store.append(lease, row(1))
        with pytest.raises(Closed, match="open the store again"):
            store.latest("a")
