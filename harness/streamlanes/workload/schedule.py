"""The schedule: every intended start and due time, and what follows from them alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ns = npt.NDArray[np.int64]

MAX_TOKENS = 20_000_000
"""Tokens of one cell: three tables of 8 bytes a token must fit in memory (480 MB)."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Every intended start and due time of a cell.

    start_ns[call], from the origin, ascending. first[call]: the row of a call's first token;
    first[calls] is the token count. offset_ns[row]: when the token is due after its call's start.
    """

    start_ns: Ns
    first: Ns
    offset_ns: Ns

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return len(self.start_ns)

    @property
    def tokens(self) -> int:
        """How many tokens all calls have together."""
        return len(self.offset_ns)

    @property
    def life_ns(self) -> Ns:
        """From each call's intended start to its last token's due time."""
        life: Ns = self.offset_ns[self.first[1:] - 1]
        return life

    @property
    def ideal_wall_s(self) -> float:
        """First intended start to last due time: the wall of a backend without any cost."""
        return float((self.start_ns + self.life_ns).max() - self.start_ns.min()) / 1e9

    @property
    def peak_in_flight(self) -> int:
        """The most calls at once if none is late."""
        return max(1, peak_in_flight(self.start_ns, self.start_ns + self.life_ns))

    @property
    def rate_per_s(self) -> float:
        """The total rate: where all calls stream together, the sum of each call's own token rate; where
        calls come and go, all tokens over the time in which calls arrive.

        A call of one token has no rate; where no call has one, tokens over the ideal wall.
        """
        arriving_s = float(self.start_ns.max() - self.start_ns.min()) / 1e9
        if arriving_s > 0 and self.peak_in_flight < self.calls:
            return self.tokens / arriving_s
        counts = np.diff(self.first)
        span = self.life_ns - self.offset_ns[self.first[:-1]]
        several = (counts > 1) & (span > 0)
        if not several.any():
            return self.tokens / max(self.ideal_wall_s, 1e-9)
        return float(((counts[several] - 1) / (span[several] / 1e9)).sum())

    @property
    def median_gap_ms(self) -> float | None:
        """The median time between a call's tokens that are due apart; None where none are."""
        within = np.ones(self.tokens, dtype=np.bool_)
        within[self.first[:-1]] = False
        gaps_ns = np.diff(self.offset_ns, prepend=0)[within]
        gaps_ns = gaps_ns[gaps_ns > 0]
        return float(np.median(gaps_ns)) / 1e6 if len(gaps_ns) else None

    def head(self, calls: int) -> "Schedule":
        """The first `calls` calls alone."""
        return Schedule(
            start_ns=self.start_ns[:calls],
            first=self.first[: calls + 1],
            offset_ns=self.offset_ns[: self.first[calls]],
        )

    def in_chunks(self, size: int) -> "Schedule":
        """The same where `size` tokens come together in each chunk: each is due when the last of its chunk
        is. A call's last chunk may have fewer."""
        if size == 1:
            return self
        counts = np.diff(self.first)
        place = np.arange(self.tokens) - np.repeat(self.first[:-1], counts)
        last = np.minimum(place - place % size + size, np.repeat(counts, counts)) - 1
        row = np.repeat(self.first[:-1], counts) + last
        return Schedule(start_ns=self.start_ns, first=self.first, offset_ns=self.offset_ns[row])


def peak_in_flight(start_ns: Ns, end_ns: Ns) -> int:
    """The most intervals [start, end) that overlap at one instant."""
    times = np.concatenate((start_ns, end_ns))
    steps = np.concatenate((np.ones(len(start_ns)), -np.ones(len(end_ns))))
    order = np.lexsort((steps, times))  # an end before a start at the same instant
    return int(np.cumsum(steps[order]).max(initial=0))
