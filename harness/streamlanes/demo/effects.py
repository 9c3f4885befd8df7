"""Naive against guarded effects: a receiver does what it is told and then loses its answer, each time."""

from collections.abc import Sequence

from streamlanes.demo.figures import Compare, Figure, Stage
from streamlanes.effects_trial import Sent, run_senders

CALLS = 20


def act(stage: Stage) -> Sequence[Figure]:
    """Each way of keeping the key: right ones make an effect a call, wrong ones two or more."""
    return [_figure(sent) for sent in run_senders(CALLS, stage.folder)]


def _figure(sent: Sent) -> Figure:
    what = f"effects of {CALLS} calls: {sent.says}"
    if sent.must_duplicate:
        return Figure(what, 2 * CALLS, sent.effects, Compare.AT_LEAST)
    return Figure(what, CALLS, sent.effects)
