"""What an execution did, out of its tables: workflows, traced workers, and those that nobody traced."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from durable_rows import LONG_S, claimed, lapse, row
from replay_world import AT_ONCE, Died, World
from streamlanes.durable import audit as audits
from streamlanes.durable.activities import activity
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database, Work
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.durable.spans import KEPT, LOST, Span, Story, story
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.telemetry import span_lines
from streamlanes.durable.tracing import OK, SpanKind
from streamlanes.durable.values import Checkpoint


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "store.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


def flush(database: SQLite) -> None:
    """Wait for the spans that ride along."""
    database.submit(Work(None, lambda _: None)).result()


def told(database: SQLite, thread_id: str = "a") -> Story:
    flush(database)
    found = story(database, thread_id)
    assert found is not None
    return found


def run_agent(database: SQLite, *, traced: bool) -> None:
    """Two steps with an effect that fails once in the first; the first try of the second step raises."""
    worker, tried = Worker(database, "w", LONG_S, traced=traced), []

    def pay(key: str, payload: object) -> Answer:
        tried.append(key)
        if len(tried) == 1:
            raise OSError("lost")
        return Answer("paid", 10, 20)

    effect = Effect("pay", pay, backoff=Backoff(first_s=0.0))

    async def agent(state: object, step: Step) -> object:
        if step.number == 0:
            return await step.call(effect, 1)
        tried.append("second")
        if tried.count("second") == 1:
            raise RuntimeError("a fault")
        return Last(state)

    with pytest.raises(RuntimeError):
        run_with_checkpoint(agent, "a", worker)
    run_with_checkpoint(agent, "a", worker)
    worker.close()


def test_a_traced_worker_tells_steps_attempts_owners_and_times(database: SQLite):
    run_agent(database, traced=True)
    found = told(database)
    assert (found.status, found.epochs, found.workflow, found.owner) == ("done", 2, None, "w")
    seen = [(span.kind, span.step, span.attempt, span.epoch, span.outcome) for span in found.spans]
    assert seen == [
        (SpanKind.CLAIM, None, 0, 1, OK),
        (SpanKind.ATTEMPT, None, 1, 1, "OSError"),
        (SpanKind.ATTEMPT, None, 2, 1, OK),
        (SpanKind.STEP, 0, 0, 1, OK),
        (SpanKind.STEP, 1, 0, 1, "RuntimeError"),
        (SpanKind.CLAIM, None, 0, 2, OK),
        (SpanKind.STEP, 1, 0, 2, OK),
    ]
    assert all(span.owner == "w" and span.version == 1 and span.took_s is not None for span in found.spans)
    assert [span.tokens for span in found.spans if span.tokens] == [(10, 20)]


def test_a_worker_that_is_not_traced_writes_no_spans_and_times_are_none(database: SQLite):
    run_agent(database, traced=False)
    assert list(database.read("SELECT count(*) FROM spans", {})) == [(0,)]
    found = told(database)
    seen = [(span.kind, span.step, span.attempt, span.outcome, span.began_s) for span in found.spans]
    assert seen == [
        (SpanKind.STEP, 0, 0, KEPT, None),
        (SpanKind.STEP, 1, 0, KEPT, None),
        (SpanKind.ATTEMPT, None, 1, "failed", None),
        (SpanKind.ATTEMPT, None, 2, OK, None),
    ]
    made = span_lines(found)
    assert (list(made.lines), made.left_out) == ([], 4)


def run_workflow(database: SQLite) -> None:
    """An activity that fails once, one in which the worker dies, then the end."""
    world, tried = World(dies_at=1), []
    dies = world.doing("dies")

    @activity(backoff=AT_ONCE)
    def flaky() -> None:
        tried.append(1)
        if len(tried) == 1:
            raise OSError

    def both() -> None:
        flaky()
        dies()

    worker = Worker(database, "w", LONG_S)
    with pytest.raises(Died):
        run_or_replay(both, EventLog(worker, "a"))
    run_or_replay(both, EventLog(worker, "a"))
    worker.close()


def test_a_workflows_log_tells_all_of_it(database: SQLite):
    run_workflow(database)
    found = told(database)
    assert (found.status, found.epochs, found.workflow) == ("done", 2, "both")
    seen = [(span.kind, span.name, span.key, span.attempt, span.epoch, span.outcome) for span in found.spans]
    assert seen == [
        (SpanKind.CLAIM, "w", "", 0, 1, OK),
        (SpanKind.ATTEMPT, "flaky", "0/1", 1, 1, "OSError"),
        (SpanKind.ATTEMPT, "flaky", "0/1", 2, 1, OK),
        (SpanKind.CLAIM, "w", "", 0, 2, OK),
        (SpanKind.ATTEMPT, "dies", "0/2", 1, 1, LOST),
        (SpanKind.ATTEMPT, "dies", "0/2", 2, 2, OK),
    ]
    assert {span.owner for span in found.spans} == {"w"}
    lost = next(span for span in found.spans if span.outcome == LOST)
    assert lost.began_s is not None
    assert lost.took_s is None


def attributes(span: dict[str, object]) -> dict[str, object]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


@pytest.mark.parametrize("run", [run_workflow, lambda database: run_agent(database, traced=True)])
def test_spans_are_open_telemetry_lines(database: SQLite, run):
    run(database)
    found = told(database)
    made = span_lines(found)
    assert made.left_out == 0
    spans = []
    for line in made.lines:
        (resource,) = json.loads(line)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        (span,) = scope["spans"]
        spans.append(span)
    assert len(spans) == len(found.spans) + 1
    root, *others = spans
    assert "parentSpanId" not in root
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans)
    for span in spans:
        assert len(span["traceId"]) == 32 == len(bytes.fromhex(span["traceId"])) * 2
        assert len(bytes.fromhex(span["spanId"])) == 8
        assert span["traceId"] == root["traceId"]
        assert isinstance(span["startTimeUnixNano"], str)
        begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        assert int(root["startTimeUnixNano"]) <= begin <= end <= int(root["endTimeUnixNano"])
    assert all(span["parentSpanId"] in ids for span in others)
    assert attributes(root)["gen_ai.conversation.id"] == "a"
    tools = [attributes(span) for span in others if span["name"].startswith("execute_tool ")]
    assert {tool["gen_ai.operation.name"] for tool in tools} == {"execute_tool"}
    failed = [span for span in others if span["status"]]
    assert {attributes(span)["error.type"] for span in failed} >= {"OSError"}
    assert all(span["status"]["code"] == 2 for span in failed)
    assert span_lines(told(database)) == made, "the same execution has the same ids"


def test_attempts_lie_under_their_step_and_tokens_add_up(database: SQLite):
    run_agent(database, traced=True)
    spans = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in
             span_lines(told(database)).lines]  # fmt: skip
    step = next(span for span in spans if span["name"] == "step 0")
    tools = [span for span in spans if span["name"] == "execute_tool pay"]
    assert [tool["parentSpanId"] for tool in tools] == [step["spanId"]] * 2
    assert attributes(spans[0])["gen_ai.usage.output_tokens"] == "20"
    assert attributes(spans[0])["gen_ai.operation.name"] == "invoke_agent"


def test_nobody_is_told_of_what_is_not_there(database: SQLite):
    assert story(database, "nowhere") is None
    assert audits.audit(database, "nowhere") is None


# Audit


def audited(database: SQLite) -> audits.Audit:
    flush(database)
    found = audits.audit(database, "a")
    assert found is not None
    return found[0]


def test_what_workers_wrote_has_no_problem(database: SQLite):
    run_agent(database, traced=True)
    found = audited(database)
    assert (found.steps, found.claims, found.redone, list(found.versions)) == (2, 2, 2, [1])
    assert (found.in_doubt, found.problems) == (0, ())
    assert audits.executions(database) == ["a"]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM checkpoints WHERE step = 1", "steps 1 to 1 are missing"),
        ("UPDATE checkpoints SET epoch = 0 WHERE step = 2", "written under claim 0, after one under claim 1"),
        ("UPDATE checkpoints SET epoch = 9 WHERE step = 2", "step 2 is of claim 9, there were 1"),
        ("DELETE FROM checkpoints", "done and nothing is kept"),
        (
            "INSERT INTO effects (key, thread_id, name, status, answer, epoch) "
            "VALUES ('k', 'a', 'pay', 'claimed', '', 1)",
            "done and 1 effects have no answer",
        ),
    ],
)
def test_what_cannot_be_is_found(database: SQLite, statement: str, says: str):
    store, lease = Checkpoints(database), claimed(database)
    for step in range(2):
        store.append(lease, row(step)).result()
    store.append(lease, Checkpoint("a", 2, b"{}"), last=True).result()
    assert audited(database).problems == ()
    database.submit(Work(None, lambda tx: tx.run(statement, {}))).result()
    (problem,) = audited(database).problems
    assert says in problem


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM events WHERE number = 3", "event 3 of its log is missing"),
        ("DELETE FROM events WHERE kind = 'ended'", "it is done, and the end of its log is missing"),
        ("DELETE FROM events", "it is done and nothing is kept of it"),
        (
            "UPDATE events SET epoch = 0 WHERE number = 3",
            "event 3 was written under claim 0, after one under",
        ),
        ("UPDATE events SET epoch = 9 WHERE kind = 'ended'", "is of claim 9, there were 2"),
    ],
)
def test_what_cannot_be_of_a_workflow_is_a_problem_in_one_line(database: SQLite, statement: str, says: str):
    run_workflow(database)
    assert audited(database).problems == ()
    database.submit(Work(None, lambda tx: tx.run(statement, {}))).result()
    (problem,) = audited(database).problems
    assert says in problem


def test_a_worker_that_goes_on_meanwhile_is_no_problem(database: SQLite, monkeypatch: pytest.MonkeyPatch):
    """Its next claim, and a step under it, come between the audit's readings."""
    Checkpoints(database).append(claimed(database), row(0)).result()

    def then_goes_on(_: Database, thread_id: str) -> Story | None:
        found = story(database, thread_id)
        lapse(database, thread_id)
        Checkpoints(database).append(claimed(database), row(1)).result()
        return found

    monkeypatch.setattr(audits, "story", then_goes_on)
    found = audited(database)
    assert (found.steps, found.claims, found.problems) == (2, 2, ())


def test_latencies_fall_into_buckets_and_failures_into_classes():
    def span(took_s: float | None, outcome: str = OK, attempt: int = 1) -> Span:
        return Span(SpanKind.ATTEMPT, "pay", None, "k", attempt, 1, "w", 1, 0.0, took_s, outcome)

    spans = [span(0.001), span(0.0011), span(0.5, "OSError"), span(None, LOST, 2), span(1e6)]
    claim = Span(SpanKind.CLAIM, "w", None, "", 0, 1, "w", 1, 0.0, 0.0, OK)
    found = audits.latencies([claim, *spans])
    assert list(found) == ["pay"]
    pay = found["pay"]
    assert (pay.spans, pay.untimed, pay.retries, pay.lost) == (5, 1, 1, 1)
    assert pay.failures == {"OSError": 1}
    assert pay.buckets == [1, 1, *[0] * 7, 1, *[0] * 7, 1]
