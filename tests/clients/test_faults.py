"""Every fault of the provider, through every library: one outcome, the same for all of them."""

from collections.abc import Iterator

import pytest

from calling import FORMS, Calling, names
from fault_outcomes import OUTCOMES
from serving import Serving
from streamlanes.backends import Waits
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault
from streamlanes.provider.http2 import Http2
from streamlanes.samples import Outcome

FORMS_AND_HTTP2 = [*FORMS, ("httpx-http2", Waits.ASYNC), ("httpx-http2", Waits.BLOCKING)]
TOKENS = 6


@pytest.fixture(scope="module")
def failing() -> Iterator[dict[Fault, Serving]]:
    up = {
        fault: Serving(
            behaviour=Behaviour(faults={fault: 1.0}, slow_headers_ms=20, stall_ms=20),
            tokens=float(TOKENS),
            http2=Http2,
        )
        for fault in Fault
    }
    yield up
    for each in up.values():
        each.close()


@pytest.mark.parametrize(("client", "waits"), FORMS_AND_HTTP2, ids=names(FORMS_AND_HTTP2))
@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_one_outcome(failing: dict[Fault, Serving], client: str, waits: Waits, fault: Fault):
    before = failing[fault].stats()["requests"]
    (ended,) = Calling(client, waits, failing[fault].address, tokens=float(TOKENS)).run()
    assert ended.outcome is OUTCOMES.get(fault, Outcome.OK)
    if ended.outcome is Outcome.OK:
        assert (ended.tokens, ended.usage) == (TOKENS, TOKENS)
    after = failing[fault].stats()
    assert after["requests"] - before == 1, "nothing is tried again"
    assert after["in_flight"] == 0
