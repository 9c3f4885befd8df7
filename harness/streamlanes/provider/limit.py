"""The rate limit of a provider. Pure.

A bucket that fills at the limit, and holds a second of it. Every request takes from it, also one that
is refused, as at the providers people use: so callers that ask again and again at once can keep it
empty, and then nobody gets an answer. It never owes more than a second.
"""


class Limit:
    """per_s: requests a second."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._left = max(1.0, per_s)
        self._at_ns: int | None = None

    def admits(self, now_ns: int) -> bool:
        """Take a request from it; whether there was one left."""
        if self._at_ns is not None:
            filled = (now_ns - self._at_ns) / 1e9 * self._per_s
            self._left = min(max(1.0, self._per_s), self._left + filled)
        self._at_ns = now_ns
        admitted = self._left >= 1.0
        self._left = max(-self._per_s, self._left - 1.0)
        return admitted
