"""How long to wait before the next attempt: exponential, with full jitter. Pure."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Attempts and the waits between them.

    attempts: most attempts in all. first_s: longest wait before the second; it doubles from there.
    most_s: no wait is longer. Each wait is drawn evenly from nothing to that, so that callers that
    failed together do not come back together.
    """

    attempts: int = 4
    first_s: float = 0.1
    most_s: float = 10.0

    def wait_s(self, attempt: int, draw: random.Random) -> float:
        """The wait after attempt number `attempt`, the first of which is 1."""
        return draw.uniform(0.0, min(self.most_s, self.first_s * 2.0 ** min(attempt - 1, 60)))
