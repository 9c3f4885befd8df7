"""What an agent did, out of its tables: traced wake-ups, and those that nobody traced."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from durable_checks.agents import lapse, queue_of
from streamlanes.durable import audit as audits
from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.agents.values import Letter, Reply, Wake
from streamlanes.durable.agents.work import REPLY, WAKE_UP, AgentWorker
from streamlanes.durable.database import Work
from streamlanes.durable.spans import KEPT, Story, story
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.telemetry import span_lines
from streamlanes.durable.tracing import OK, PARKED, SpanKind, Trace
from streamlanes.trace_lines import story_lines

CLAIM, STEP, ATTEMPT = SpanKind.CLAIM, SpanKind.STEP, SpanKind.ATTEMPT


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "agents.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


async def handler(wake: Wake, faults: Sequence[str]) -> Reply:
    """a0 writes to nobody first and then to b0, which raises; others say nothing."""
    if wake.agent == "b0":
        raise ValueError("no idea")
    if wake.agent != "a0":
        return Reply((), None)
    return Reply([Letter("b0" if faults else "nobody", "x")], None, 10, 20, 0.5)


def run(database: SQLite, *, traced: bool) -> None:
    queue_of(database).post("a0", "go", "k").result()
    queue = AgentQueue(database, Trace(database, 3) if traced else None)
    asyncio.run(AgentWorker(queue, handler, owner="w").run())
    database.submit(Work(None, lambda _: None)).result()  # spans ride in commits that nobody waits for


def told(database: SQLite, name: str) -> Story:
    found = story(database, name)
    assert found is not None
    return found


def test_a_traced_worker_tells_wake_ups_attempts_owners_versions_and_times(database: SQLite):
    run(database, traced=True)
    found = told(database, "a0")
    assert (found.agent, found.workflow, found.status, found.owner, found.epochs) == (
        True, None, "idle", "w", 1
    )  # fmt: skip
    assert [(span.kind, span.name, span.step, span.attempt, span.outcome) for span in found.spans] == [
        (CLAIM, "w", None, 0, OK),
        (ATTEMPT, REPLY, None, 1, "BadReply"),
        (ATTEMPT, REPLY, None, 2, OK),
        (STEP, WAKE_UP, 1, 0, OK),
    ]
    assert all(span.owner == "w" and span.version == 3 and span.took_s is not None for span in found.spans)
    assert [span.tokens for span in found.spans] == [None, None, (10, 20), None]
    failed = told(database, "b0")
    assert failed.status == PARKED
    assert [(span.kind, span.outcome) for span in failed.spans] == [
        (CLAIM, OK), (ATTEMPT, "ValueError"), (STEP, PARKED)
    ]  # fmt: skip
    assert told(database, "a1").spans == [], "nobody wrote to it"
    assert story(database, "nobody") is None


def test_a_wake_up_of_a_worker_that_died_is_told_by_the_next(database: SQLite):
    queue_of(database)
    queue = AgentQueue(database, Trace(database))
    queue.post("a1", "go", "k").result()
    queue.take("dead", 1, 600.0).result()
    lapse(database, "a1")
    asyncio.run(AgentWorker(queue, handler, owner="v").run())
    queue.post("a1", "again", "k2").result()
    asyncio.run(AgentWorker(queue, handler, owner="u").run())
    database.submit(Work(None, lambda _: None)).result()
    found = told(database, "a1")
    assert [(span.step, span.owner) for span in found.spans if span.kind is STEP] == [(1, "v"), (2, "u")]
    assert (found.owner, found.epochs) == ("u", 2)
    assert story_lines(found)[-1] == "ANSWER  agent a1: idle, 2 wake-ups, last u"


def test_wake_ups_that_nobody_traced_are_told_without_times(database: SQLite):
    run(database, traced=False)
    assert list(database.read("SELECT count(*) FROM spans", {})) == [(0,)]
    found = told(database, "a0")
    assert [(span.kind, span.step, span.attempt, span.outcome, span.tokens) for span in found.spans] == [
        (ATTEMPT, None, 2, OK, (10, 20)),  # its cost is in the ledger
        (STEP, 1, 0, KEPT, None),
    ]
    assert told(database, "b0").spans == [], "a wake-up that has not ended"
    assert "a queue made with trace=Trace(database) keeps them" in story_lines(found)[-1]
    assert "ANSWER  agent a0: idle, 1 wake-ups, last -" in story_lines(found)


def test_its_spans_are_open_telemetry_lines(database: SQLite):
    run(database, traced=True)
    made = span_lines(told(database, "a0"))
    assert made.left_out == 0
    spans = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in made.lines]
    names = ["invoke_agent", "claim", "execute_tool reply", "execute_tool reply", "wake-up 1"]
    assert [span["name"] for span in spans] == names
    assert [span["parentSpanId"] for span in spans[2:4]] == [spans[4]["spanId"]] * 2
    said = {one["key"]: next(iter(one["value"].values())) for one in spans[0]["attributes"]}
    assert said["gen_ai.agent.id"] == "a0"
    assert said["gen_ai.agent.version"] == "3"
    assert said["gen_ai.usage.output_tokens"] == "20"


def test_traced_agents_are_audited(database: SQLite):
    run(database, traced=True)
    assert audits.executions(database) == ["a0", "b0"]
    found = [audits.audit(database, name) for name in ("a0", "b0")]
    told = [one for one in found if one is not None]
    assert [(one.steps, one.claims, one.redone, list(one.versions)) for one, _ in told] == [
        (None, 1, 1, [3]), (None, 1, 0, [3])
    ]  # fmt: skip
    assert not any(one.problems for one, _ in told)
    latencies = audits.latencies([span for _, spans in told for span in spans])
    assert {name: (each.spans, each.retries) for name, each in latencies.items()} == {
        REPLY: (3, 1), WAKE_UP: (2, 0)
    }  # fmt: skip
    assert latencies[REPLY].failures == {"BadReply": 1, "ValueError": 1}
    assert not latencies[WAKE_UP].failures, "who waits for a person has not failed"
