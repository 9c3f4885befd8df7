"""A provider's view of its own punctuality."""

from collections.abc import Sequence


def lateness_ms(
    first: Sequence[int], offset: Sequence[int], seen: Sequence[int], sent: Sequence[int]
) -> dict[str, float | int | None]:
    """Percentiles of sent minus due in ms, over every token sent so far by any process of the run, against
    the unrounded due time. first, offset: the schedule's; seen, sent: ns, 0 for what was not yet."""
    late: list[float] = []
    for call, seen_ns in enumerate(seen):
        if seen_ns:
            for row in range(first[call], first[call + 1]):
                if sent[row]:
                    late.append((sent[row] - seen_ns - offset[row]) / 1e6)
    late.sort()
    if not late:
        return {"p50": None, "p99": None, "max": None, "count": 0}
    return {
        "p50": late[len(late) // 2],
        "p99": late[min(len(late) - 1, int(len(late) * 0.99))],
        "max": late[-1],
        "count": len(late),
    }
