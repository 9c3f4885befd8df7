"""Naive against guarded effects: a receiver does what it is told and then loses its answer, each time."""

from collections.abc import Sequence

from streamlanes.demo.figures import Compare, Figure, Stage
from streamlanes.effects_trial import run_senders

CALLS = 20


def act(stage: Stage) -> Sequence[Figure]:
    """Each way of keeping the key: right ones make an effect a call, wrong ones two or more."""
    return [
        Figure(f"{sent.name}: {sent.says}, effects of {CALLS} calls", 2 * CALLS, sent.effects, Compare.AT_LEAST)
        if sent.must_duplicate
        else Figure(f"{sent.name}: {sent.says}, effects of {CALLS} calls", CALLS, sent.effects)
        for sent in run_senders(CALLS, stage.folder)
    ]
