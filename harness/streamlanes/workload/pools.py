"""What a bounded pool makes of a schedule when nothing costs anything."""

import numpy as np

from streamlanes.workload.schedule import Ns, Schedule


def predicted_wall_s(schedule: Schedule, width: int) -> float:
    """The wall of a pool that runs `width` calls at a time and costs nothing else: a queue in order
    of arrival in front of `width` servers, each call holding one for its life."""
    return float(_pool_ends(schedule, width).max() - schedule.start_ns.min()) / 1e9


def admitted(schedule: Schedule, width: int, budget_s: float) -> int:
    """How many calls a pool of this width can finish within the budget, in whole waves of `width`;
    at least one wave."""
    fit = int((_pool_ends(schedule, width) - schedule.start_ns.min() <= budget_s * 1e9).sum())
    if fit < schedule.calls:
        fit = max(width, fit // width * width)
    return min(schedule.calls, fit)


def _pool_ends(schedule: Schedule, width: int) -> Ns:
    free = np.zeros(min(width, schedule.calls), dtype=np.int64)
    ends = np.empty(schedule.calls, dtype=np.int64)
    for call, (start, life) in enumerate(zip(schedule.start_ns, schedule.life_ns, strict=True)):
        slot = int(free.argmin())
        ends[call] = free[slot] = max(free[slot], start) + life
    return ends
