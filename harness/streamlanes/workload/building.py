"""From a workload to its schedule."""

import numpy as np

from streamlanes.errors import UserError
from streamlanes.workload.arrivals import starts_ns
from streamlanes.workload.schedule import MAX_TOKENS, Schedule
from streamlanes.workload.shape import Phase, Workload


def build(load: Workload, calls: int) -> Schedule:
    """The schedule of this workload. Every quantity has a random stream of its own, so that setting
    one does not move the others."""
    streams = [np.random.default_rng([load.seed, which]) for which in range(5)]
    counts = np.clip(np.rint(load.tokens.draw(streams[0], calls)), 1, 100_000).astype(np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    if first[-1] > MAX_TOKENS:
        raise UserError(f"the workload has {first[-1]:,} tokens, more than {MAX_TOKENS:,}; set fewer")
    start = starts_ns(load, calls, streams[1])
    gap_ns = load.gap_ms.draw(streams[2], int(first[-1])) * 1e6
    offset = np.cumsum(gap_ns)
    # From running sums over all calls to sums within each call: the first token has no gap before it.
    offset -= np.repeat(offset[first[:-1]], counts)
    head_ns = load.ttft_ms.draw(streams[3], calls) * 1e6
    period_ns = load.gap_ms.median * 1e6
    if load.phase is Phase.SEEDED:
        head_ns = head_ns + streams[4].random(calls) * period_ns
    else:
        head_ns = np.ceil((start + head_ns) / period_ns) * period_ns - start
    offset += np.repeat(head_ns, counts)
    return Schedule(start_ns=start, first=first, offset_ns=np.rint(offset).astype(np.int64))
