"""Acceptance cases A7 and A8 in a run: how answers end and what they count, in both dialects."""

import itertools
from collections import Counter

import msgspec
import pytest

from streamlanes.cells import Axes, Cell
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault, fault_of
from streamlanes.record import Record, StatusName
from streamlanes.recording import record
from streamlanes.wire import DIALECTS

CALLS, TOKENS, BEFORE = 40, 10, 5
ENDS = dict.fromkeys((Fault.NO_DONE, Fault.CUT_INSIDE, Fault.CUT_BETWEEN, Fault.RESET), 0.25)
FORMS = [("asyncio", "streams"), ("uvloop", "floor"), ("threads", "streams"), ("threads", "floor")]


def ten_of_each() -> Behaviour:
    """A provider that ends ten of the calls in each way, the bad ones after 5 of their 10 tokens."""
    for seed in itertools.count():
        if set(Counter(fault_of(seed, call, ENDS) for call in range(CALLS)).values()) == {10}:
            return Behaviour(seed=seed, faults=ENDS, at=BEFORE / TOKENS)
    raise AssertionError


def measured(bench: Bench, backend: str, client: str, behaviour: Behaviour | None, **axes: object) -> Record:
    what = Cell(
        lane="io",
        backend=backend,
        client=client,
        workload="lesson",
        calls=CALLS,
        axes=msgspec.convert({"ttft_ms": 20, "gap_ms": 5, "tokens": TOKENS, **axes}, Axes),
        memory=False,
        budget_s=60,
        provider=behaviour,
    )
    made = record(what, LANE, {}, bench.measure(what))
    assert made.status.name is StatusName.OK
    assert made.counts["attempts"] == CALLS
    return made


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize(("backend", "client"), FORMS)
def test_a8_only_what_said_that_it_was_over_is_ok(bench: Bench, backend: str, client: str, api: str):
    made = measured(bench, backend, client, ten_of_each(), api=api)
    assert made.counts["ok"] == made.counts["no_sentinel"] == 10
    assert (made.counts["truncated"], made.counts["reset"]) == (20, 10)
    for series in ("e2e_ms", "ttft_ms", "first_event_ms", "first_visible_ms"):
        assert made.latency[series]["count"] == 10
    assert made.latency["lateness_ms"]["count"] == 10 * TOKENS
    # A reset may overtake what came before it. Of the others all came, and half an event is no token.
    at_most = 10 * TOKENS + 30 * BEFORE
    assert at_most - 10 * BEFORE <= made.counts["tokens"] <= at_most
    assert made.counts["lost_tokens"] == made.counts["extra_tokens"] == 0


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_a8_an_sdk_that_does_not_say_the_mark_has_no_count_of_it(bench: Bench, client: str):
    made = measured(bench, "asyncio", client, Behaviour(faults={Fault.NO_DONE: 1.0}))
    assert made.counts["ok"] == CALLS
    if client == "anthropic":
        assert made.counts["no_sentinel"] == CALLS
    else:
        assert made.counts["no_sentinel"] is None
        assert "does not say" in made.missing["counts.no_sentinel"]


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize(("backend", "client"), FORMS)
def test_a7_the_providers_count_is_the_authority(bench: Bench, backend: str, client: str, api: str):
    made = measured(bench, backend, client, None, api=api)
    counts = made.counts
    assert made.cell.axes["api"] == api
    assert counts["ok"] == CALLS
    assert counts["usage_tokens"] == counts["tokens"] == counts["expected_tokens"] == CALLS * TOKENS
    assert counts["without_usage"] == counts["no_sentinel"] == 0
    assert counts["lost_tokens"] == counts["extra_tokens"] == 0


@pytest.mark.parametrize("api", DIALECTS)
def test_chunks_of_several_tokens_are_told_apart_from_tokens(bench: Bench, api: str):
    made = measured(bench, "asyncio", "streams", Behaviour(tokens_per_chunk=4), api=api)
    counts = made.counts
    assert counts["usage_tokens"] == counts["tokens"] == counts["expected_tokens"] == CALLS * TOKENS
    assert made.latency["inter_chunk_ms"]["count"] == CALLS * 2, "three chunks: 4, 4 and 2 tokens"
    assert made.latency["lateness_ms"]["count"] == CALLS * TOKENS
