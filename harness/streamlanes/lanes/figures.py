"""How a lane declares its figures, a row each, and the rows that several lanes have."""

from collections.abc import Callable
from typing import Any

from streamlanes.distributions import MEMBERS
from streamlanes.facts import Missing
from streamlanes.lanes.base import Better, Metric, Pool
from streamlanes.metrics import Calls
from streamlanes.readings import spin_drift
from streamlanes.record import Quality
from streamlanes.samples import Outcome

LOWER, HIGHER, NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER

Figure = float | int | str | Missing
Of = Callable[[Any], Figure]
"""From the lane's view to a figure."""


def figure(  # a figure's declaration, in a row
    path: str, unit: str, better: Better, text: str, of: Of, quality: Quality = Quality.MEASURED
) -> Metric:
    """A figure whose repetitions pool to their median."""
    return Metric(path=path, unit=unit, better=better, help=text, of=of, quality=quality)


def count(path: str, text: str, of: Of, better: Better = NEITHER) -> Metric:
    """A count, whose repetitions pool to the largest."""
    return Metric(path=path, unit="", better=better, help=text, pool=Pool.MAX, of=of)


def series(path: str, name: str, text: str) -> tuple[Metric, ...]:
    """A distribution of milliseconds, which the view has under this name (Calls.distribution)."""

    def member(which: str) -> Of:
        return lambda view: view.distribution(name)[which]

    units = {"early_share": "", "count": "samples"}
    return tuple(
        figure(
            f"{path}.{which}",
            units.get(which, "ms"),
            NEITHER if which in units or which == "min" else LOWER,
            f"{text}: {which}",
            member(which),
        )
        for which in MEMBERS
    )


def divided(one: float | Missing, other: float | Missing) -> float | Missing:
    """A quotient; the first reason where one part is missing."""
    for each in (one, other):
        if isinstance(each, Missing):
            return each
    assert not isinstance(one, Missing) and not isinstance(other, Missing)  # noqa: PT018
    return one / other if other else Missing("there is nothing to divide by")


def ended(how: Outcome) -> Callable[[Calls], int]:
    """How many calls ended so."""
    return lambda calls: int((calls.stamps.outcome == how).sum())


def jobs(units: str, ok: str, job_error: str) -> tuple[Metric, ...]:
    """The counts of jobs that are no calls. units: what they are called; ok, job_error: what these two say
    of them."""
    return (
        count("counts.calls", f"{units} asked for", lambda view: view.facts.calls),
        count("counts.started", f"{units} that began", lambda view: int((view.stamps.begin > 0).sum())),
        count("counts.unaccounted_calls", f"{units} that never began",
              lambda view: int((view.stamps.begin == 0).sum()), LOWER),
        count("counts.ok", f"{units} {ok}", ended(Outcome.OK), HIGHER),
        count("counts.job_error", f"{units} {job_error}", ended(Outcome.JOB_ERROR), LOWER),
        count("counts.cancelled", f"{units} whose job was cancelled", ended(Outcome.CANCELLED), LOWER),
        count("counts.unfinished", f"{units} that began and had not ended when the cell was over",
              lambda view: int(((view.stamps.begin > 0) & (view.stamps.outcome == 0)).sum()), LOWER),
    )  # fmt: skip


SPIN_DRIFT = figure(
    "time.spin_drift",
    "",
    LOWER,
    "by what share a fixed loop took longer at one end of the cell than at the other",
    lambda view: spin_drift(view.timed),
    Quality.SAMPLED,
)
