"""When a call that the provider refused is made again. Pure."""

import enum
import random

from streamlanes.durable.backoff import Backoff


class Retry(enum.StrEnum):
    """What a step does about a 429."""

    NONE = "none"  # it fails, and its execution with it
    AT_ONCE = "at-once"  # it asks again, and again
    BACKOFF = "backoff"  # it waits before it asks again, twice as long each time, drawn anew


WAITS = Backoff(first_s=0.5, most_s=8.0)
"""For as long as the cell runs: how often it may ask is not bounded."""


def wait_s(retry: Retry, attempt: int, draw: random.Random) -> float | None:
    """How long to wait after attempt number `attempt`, the first of which is 1; None to give up."""
    if retry is Retry.NONE:
        return None
    return WAITS.wait_s(attempt, draw) if retry is Retry.BACKOFF else 0.0
