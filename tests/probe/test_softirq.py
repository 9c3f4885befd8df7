"""Whether soft interrupts are charged apart: the comparison, with clocks that a test sets."""

import pytest

from streamlanes.probe import softirq


@pytest.mark.parametrize(
    ("plain", "network", "apart"), [(1.0, 0.7, True), (1.0, 0.99, False), (0.6, 0.58, False)]
)
def test_only_a_gap_between_network_and_plain_work_counts(
    monkeypatch: pytest.MonkeyPatch, plain: float, network: float, apart: bool
):
    shares = iter([plain - 0.3] * 4 + [plain] + [network - 0.3] * 4 + [network])
    monkeypatch.setattr(softirq, "_cpu_share", lambda work: next(shares))
    assert softirq.charged_apart() is apart


def test_it_can_be_tried_here():
    assert softirq.charged_apart() in (True, False)
