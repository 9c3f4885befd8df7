"""How a cell went as a whole, and how it was to go: walls, and calls at once. Pure."""

from streamlanes.facts import Facts, Missing
from streamlanes.metrics import Calls
from streamlanes.samples import Outcome
from streamlanes.workload import predicted_wall_s


def in_flight_target(facts: Facts) -> int:
    """The peak that the schedule asks for, or the pool's width where that is smaller."""
    asked = facts.timed.schedule.peak_in_flight
    return asked if facts.width is None else min(asked, facts.width)


def incomplete(facts: Facts) -> Missing | None:
    """Why the whole of the cell has no wall, or None if it has."""
    if len(facts.timed.schedule.start_ns) < facts.calls:
        return Missing(f"only {facts.timed.schedule.calls} of {facts.calls} calls fit the budget")
    if not facts.drained:
        return Missing(f"over the budget of {facts.budget_s:.1f} s")
    failed = int((facts.timed.calls.outcome != Outcome.OK).sum())
    if failed:
        return Missing(f"{failed:,} of {facts.calls:,} calls did not end ok")
    return None


def wall_s(calls: Calls) -> float | Missing:
    """First intended start to the last call's end."""
    why = incomplete(calls.facts)
    return why if why else float(calls.stamps.end.max() - calls.start_ns.min()) / 1e9


def projected_wall_s(calls: Calls) -> float | Missing:
    """What the wall would have been: for a pool the admitted waves' pace, else the tokens' pace so far."""
    facts = calls.facts
    if incomplete(facts) is None:
        return Missing("the wall was measured")
    if facts.width is not None and facts.drained and calls.stamps.end.max() > 0:
        took = float(calls.stamps.end.max() - calls.start_ns.min()) / 1e9
        pace = took / predicted_wall_s(facts.timed.schedule, facts.width)
        return predicted_wall_s(facts.full_schedule, facts.width) * pace
    if not calls.tokens:
        return Missing("no token had come when the budget ended")
    done = calls.tokens / facts.full_schedule.tokens
    return float(facts.timed.over_ns - calls.start_ns.min()) / 1e9 / done


def predicted_s(facts: Facts) -> float | Missing:
    """The wall a pool of this width has without any cost of its own."""
    if facts.width is None:
        return Missing("not bounded")
    return predicted_wall_s(facts.full_schedule, facts.width)


def took_s(jobs: Calls) -> float | Missing:
    """First begin to the last end of jobs that have no due times; those that failed took their time too."""
    if not jobs.facts.drained:
        return Missing(f"over the budget of {jobs.facts.budget_s:.1f} s")
    return float(jobs.stamps.end.max() - jobs.stamps.begin.min()) / 1e9
