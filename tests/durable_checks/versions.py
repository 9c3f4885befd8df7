"""What a database must do for runtime versions side by side."""

import pytest

from durable_checks.shop import Shop
from durable_rows import LONG_S, claimed, row
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.errors import OtherVersion, Parked
from streamlanes.durable.leases import Leases
from streamlanes.durable.people import People
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.durable.versions import Phase, Versions, point_of


class VersionChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_executions_stay_on_the_version_they_began_with(self, database: Database):
        old, new = Worker(database, version=1), Worker(database, version=2)
        versions = Versions(database)
        old.leases.create("before").result()
        versions.share({1: 0.5, 2: 0.5}).result()
        names = [f"e{number}" for number in range(40)]
        for created in [new.leases.create(name) for name in names]:
            created.result()
        wanted = {name: 1 if point_of(name) < 0.5 else 2 for name in names} | {"before": 1}
        assert {name: old.leases.version(name) for name in wanted} == wanted
        assert set(wanted.values()) == {1, 2}
        versions.share({2: 1.0}).result()
        assert new.leases.create("after").result()
        assert new.leases.version("after") == 2
        assert {name: old.leases.version(name) for name in wanted} == wanted, "where they were"
        for worker in (old, new):
            ran = []
            while one := worker.leases.claim_any("w", LONG_S).result():
                ran.append(one.lease.thread_id)
                last = row(0, one.lease.thread_id)
                worker.store.append(one.lease, last, last=True).result()
            assert set(ran) == {
                name for name in [*wanted, "after"] if old.leases.version(name) == worker.version
            }
        assert old.leases.left() == 0
        old.close()
        new.close()

    def test_a_worker_of_another_version_is_told(self, database: Database):
        shop, new = Shop(database), Worker(database, version=2, lease_s=LONG_S)
        with pytest.raises(Parked):
            shop.run(shop.agent())
        with pytest.raises(
            OtherVersion, match="execution a: it stays on version 1, this worker has version 2"
        ):
            run_with_checkpoint(shop.agent(), "a", new)
        People(database).decide("a/0/0", True, "Ada").result()
        with pytest.raises(OtherVersion):
            run_with_checkpoint(shop.agent(), "a", new)
        assert shop.run(shop.agent())["approved"] is True, "an approval outlives a deployment"
        new.close()

    def test_the_version_stands_in_each_checkpoint(self, database: Database):
        worker = Worker(database, version=7, lease_s=LONG_S)

        async def agent(state: object, step: Step) -> object:
            return Last(step.version) if step.number == 2 else step.version

        assert run_with_checkpoint(agent, "a", worker) == 7
        assert [each.version for each in worker.store.history("a")] == [7, 7, 7]
        worker.store.update(claimed_of(worker, "b"), lambda _: b"{}").result()
        assert [each.version for each in worker.store.history("b")] == [7]
        worker.close()

    def test_a_version_drains_once_it_has_no_share(self, database: Database):
        now = [1000.0]
        versions, leases = Versions(database, lambda: now[0]), Leases(database)
        store = Checkpoints(database, now=lambda: now[0])
        names = ["a", "b", "c"]
        leases_of = {name: claimed(database, name) for name in names}
        (only,) = versions.standing()
        assert (only.phase, only.open, only.drained_s, only.left_s) == (Phase.ACTIVE, 3, None, None)
        versions.share({1: 0.9, 2: 0.1}).result()
        split = versions.standing()
        assert [(each.version, each.share, each.phase) for each in split] == [
            (1, 0.9, Phase.ACTIVE), (2, pytest.approx(0.1), Phase.ACTIVE)
        ]  # fmt: skip
        assert all("never drains" in (each.why or "") for each in split)
        versions.share({2: 1.0}).result()
        assert versions.standing()[0].why == "none of its executions has ended since it was closed"
        now[0] += 10.0
        store.append(leases_of["a"], row(0, "a"), last=True).result()
        old = versions.standing()[0]
        assert (old.phase, old.open, old.done, old.left_s) == (Phase.DRAINING, 2, 1, 20.0)
        assert leases.open() == 2
        now[0] += 30.0
        for name in names[1:]:
            store.append(leases_of[name], row(0, name), last=True).result()
        now[0] += 1000.0
        versions.share({2: 1.0}).result()
        old = versions.standing()[0]
        assert (old.phase, old.drained_s, old.why) == (Phase.DRAINED, 40.0, None)

    def test_a_lock_has_no_version(self, database: Database):
        old, new = Leases(database, 1), Leases(database, 2)
        lock = new.lock("dispatcher", "w", LONG_S).result()
        assert lock is not None
        assert new.release(lock.lease).result()
        assert old.lock("dispatcher", "w", LONG_S).result() is not None
        assert list(Versions(database).standing()) == []


def claimed_of(worker: Worker, name: str) -> object:
    """A lease of a worker's version."""
    found = worker.leases.claim(name, worker.owner, LONG_S).result()
    assert found is not None
    return found.lease
