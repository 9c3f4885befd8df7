"""Where people, versions and caps meet replay and spans."""

import pytest

from streamlanes.durable.activities import activity
from streamlanes.durable.audit import audit, latencies
from streamlanes.durable.database import Work
from streamlanes.durable.errors import OtherVersion, Parked
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.tracing import OK, PARKED, SpanKind


@pytest.fixture
def database(tmp_path):
    made = SQLite(tmp_path / "s.db")
    yield made
    made.close()


def test_a_step_that_asks_a_person_is_no_failure_and_not_redone(database: SQLite):
    worker = Worker(database, version=3, traced=True)

    async def agent(state: object, step: Step) -> object:
        return Last((await step.interrupt("really?")).approved)

    with pytest.raises(Parked):
        run_with_checkpoint(agent, "a", worker)
    worker.people.decide("a/0/0", True, "Ada").result()
    assert run_with_checkpoint(agent, "a", worker) is True
    worker.close()
    database.submit(Work(None, lambda _: None)).result()  # spans ride in commits that nobody waits for
    found = audit(database, "a")
    assert found is not None
    seen, spans = found
    assert [span.outcome for span in spans if span.kind is SpanKind.STEP] == [PARKED, OK]
    assert (seen.redone, seen.versions, list(seen.problems)) == (0, [3], [])
    assert not latencies(spans)["step 0"].failures


def test_a_workflow_stays_on_its_runtime_version_too(database: SQLite):
    @activity
    def work() -> int:
        return 1

    def fails() -> int:
        work()
        raise RuntimeError("not yet")

    old, new = Worker(database), Worker(database, version=2)
    with pytest.raises(RuntimeError):
        run_or_replay(fails, EventLog(old, "a"))
    with pytest.raises(OtherVersion, match="it stays on version 1, this worker has version 2"):
        run_or_replay(fails, EventLog(new, "a"))
    old.close()
    new.close()


def test_who_takes_any_execution_takes_no_workflow(database: SQLite):
    """An agent would begin it anew, from no state: its code and its log are a workflow's."""

    def fails() -> int:
        raise RuntimeError("not yet")

    worker = Worker(database)
    with pytest.raises(RuntimeError):
        run_or_replay(fails, EventLog(worker, "a"))
    worker.leases.create("b").result()
    claimed = worker.leases.claim_any("w").result()
    assert claimed is not None
    assert claimed.lease.thread_id == "b"
    assert worker.leases.claim_any("w").result() is None
    assert worker.leases.status("a") == "open"
    worker.close()
