"""The words of trace and audit."""

from streamlanes import trace_lines
from streamlanes.durable.audit import Audit, latencies
from streamlanes.durable.spans import KEPT, LOST, Span, Story
from streamlanes.durable.tracing import OK, SpanKind

CLAIM = Span(SpanKind.CLAIM, "w", None, "", 0, 1, "w", 1, 0.5, 0.0, OK)
STEP = Span(SpanKind.STEP, "", 3, "", 0, 1, None, 1, None, None, KEPT)
PAID = Span(SpanKind.ATTEMPT, "pay", None, "a/0/0", 2, 1, "w", 1, 1.0, 0.003, OK)
LEFT = Span(SpanKind.ATTEMPT, "pay", None, "a/0/0", 1, 1, "w", 1, 1.0, None, LOST)


def test_a_row_a_span_and_the_sum():
    said = trace_lines.story_lines(Story("a", None, "open", "w", 2, [CLAIM, STEP, PAID]))
    assert said[1].split() == ["1970-01-01T00:00:00.500Z", "0.0", "ms", "claim", "1", "w", "1", "ok"]
    assert said[2].split() == ["-", "-", "step", "3", "1", "-", "1", "kept"]
    assert said[3].split()[:6] == ["1970-01-01T00:00:01.000Z", "3.0", "ms", "pay", "a/0/0", "2"]
    assert "ANSWER  execution a: open, 2 claims, last w" in said
    assert said[-1] == "NOTE    times that nobody kept are '-'; a worker made with traced=True keeps them"


def test_a_workflow_that_raised_says_so():
    said = trace_lines.story_lines(Story("a", "order", "open", "w", 1, [CLAIM], ["ValueError", "OSError"]))
    assert said[-1] == "NOTE    the workflow raised 2 times, at last OSError"


def test_an_audit_has_latencies_problems_and_the_sum():
    fine = Audit("a", None, "done", 3, 1, 2, [1], 0, ())
    wrong = Audit("b", None, "done", 0, 1, 0, [], 1, ("it is done and nothing is kept of it",))
    said = trace_lines.audit_lines([fine, wrong], latencies([STEP, PAID, LEFT]))
    assert said[1].split() == ["step", "3", "1", "-", "-", "1", "0", "0", "-"]
    assert said[2].split() == ["pay", "2", "<=", "4", "ms", "<=", "4", "ms", "1", "1", "1", "-"]
    assert said[-2] == "WRONG   b: it is done and nothing is kept of it"
    assert said[-1] == (
        "ANSWER  2 executions, 2 steps or attempts begun again, 1 effects in doubt, 1 things that cannot be"
    )


def test_an_agent_has_wake_ups_and_may_have_no_owner():
    wake = Span(SpanKind.STEP, "wake-up", 3, "", 0, 3, None, None, None, None, KEPT)
    said = trace_lines.story_lines(Story("g0.a0", None, "idle", "", 3, [wake], agent=True))
    assert said[1].split() == ["-", "-", "wake-up", "3", "3", "-", "-", "kept"]
    assert "ANSWER  agent g0.a0: idle, 3 wake-ups, last -" in said
    assert said[-1].endswith("a queue made with trace=Trace(database) keeps them")
    assert list(latencies([wake])) == ["wake-up"]
