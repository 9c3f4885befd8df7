"""The chaos lane: workers struck at a named point, what was lost or done twice, and the way back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from streamlanes.backends import BACKENDS
from streamlanes.clients import NOTHING
from streamlanes.durable.points import NOT_TESTED, OF_STEPS, Point
from streamlanes.errors import UserError, unknown
from streamlanes.facts import Missing
from streamlanes.lanes.answers import middle
from streamlanes.lanes.base import Asks, Better, Chart, Crew, Kind, Lane, Metric, Panel, Pool, Usual
from streamlanes.lanes.figures import LOWER, NEITHER, Figure
from streamlanes.record import Quality, Record, StatusName
from streamlanes.words import number, plain
from streamlanes.workload import AXES as OF_WORKLOADS
from streamlanes.workload import Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell
    from streamlanes.chaos.plan import Control, Recovery, Trial

STORES = ("sqlite-full", "postgres")
STORE, POINT, STRIKE, KILLS = "sqlite-full", Point.BEFORE_CHECKPOINT.value, "kill", 3
MOST = 100
"""Executions of a trial: each is a thread of its worker."""
TRIAL_S = 2.0
"""A trial takes about so long: two workers' starts, a lease that lapses, the steps."""
KILL_MOST_S = 60.0
"""A cell that takes longer for each of its kills begins no more trials."""


def store_of(cell: "Cell") -> str:
    """The store as chaos names it: "sqlite", "postgres"."""
    return (cell.axes.store or STORE).partition("-")[0]


def point_of(cell: "Cell") -> str:
    """Where its workers are struck."""
    return cell.axes.point or POINT


def strike_of(cell: "Cell") -> str:
    """How: "kill", "stop"."""
    return cell.axes.strike or STRIKE


def kills_of(cell: "Cell") -> int:
    """How many trials are struck."""
    return cell.axes.kills or KILLS


def budget_s(cell: "Cell") -> float:
    """After how long it begins no more of them."""
    return cell.budget_s or KILL_MOST_S * kills_of(cell)


@dataclass(frozen=True)
class Kills:
    """What a cell came to: its trials, and a retry without checkpoint and key in the same place, which must
    duplicate."""

    trials: "tuple[Trial, ...]"
    control: "Control"

    @property
    def struck(self) -> "list[Trial]":
        """Those in which the worker passed the point."""
        return [trial for trial in self.trials if trial.struck]

    def counted(self, name: str) -> int:
        """A count over all of them."""
        return sum(int(getattr(trial.counts, name)) for trial in self.trials)

    def way_back(self, name: str) -> float | Missing:
        """A part of the way back: the median over the trials that have it."""
        found: list[Recovery] = [trial.recovery for trial in self.struck if trial.recovery is not None]
        values = [value for each in found if (value := getattr(each, name)) is not None]
        return float(median(values)) if values else Missing(_WITHOUT[name])

    @property
    def total_ms(self) -> float | Missing:
        """From the strike to the first new step: the median over the trials that have every part."""
        names = ("detection_ms", "start_ms", "replay_ms", "first_step_ms")
        found = [trial.recovery for trial in self.struck if trial.recovery is not None]
        parts = [[getattr(each, name) for name in names] for each in found]
        whole = [sum(each) for each in parts if None not in each]
        return float(median(whole)) if whole else Missing("no trial has every part of the way back")

    @property
    def most_ms(self) -> float | Missing:
        """The longest that an execution stood still: medians hide it."""
        stood = [trial.recovery.stood_ms for trial in self.struck if trial.recovery is not None]
        known = [each for each in stood if each is not None]
        return max(known) if known else Missing("nothing was left to claim")


_WITHOUT = {
    "detection_ms": "no worker held a lease when it was struck",
    "detection_share": "no worker held a lease when it was struck",
    "start_ms": "no worker was struck",
    "replay_ms": "nothing was left to claim",
    "first_step_ms": "no step was left to do",
}


def _figure(name: str, unit: str, text: str, of: Callable[[Kills], Figure], better: Better = LOWER) -> Metric:
    return Metric(path=f"chaos.{name}", unit=unit, better=better, help=text, of=of)


def _count(name: str, text: str) -> Metric:
    return Metric(
        path=f"chaos.{name}", unit="", better=LOWER, help=text, pool=Pool.MAX,
        of=lambda kills: kills.counted(name),
    )  # fmt: skip


def _part(name: str, unit: str, text: str) -> Metric:
    return _figure(name, unit, f"{text}: median of the trials that have it", lambda k: k.way_back(name))


_METRICS = (
    _figure("kills", "", "trials in which the worker passed the point and was struck",
            lambda k: len(k.struck), NEITHER),
    _figure("not_struck", "", "trials that ended before the worker passed it so often; they do not count",
            lambda k: len(k.trials) - len(k.struck), NEITHER),
    _count("lost", "effects, messages and checkpoints that are not there"),
    _count("duplicated", "effects and messages beyond the first, in the receiver's own ledger"),
    _count("false_done", "executions called done that are not complete"),
    _count("unfinished", "executions not done in time"),
    _count("redone", "steps begun again: the price, not a fault"),
    _figure("redone_per_kill", "steps", "those over the kills",
            lambda k: k.counted("redone") / len(k.struck) if k.struck else Missing("no worker was struck")),
    _figure("refused", "", "executions that a worker found to be its own no more: its write changed nothing",
            lambda k: sum(trial.refused for trial in k.trials), NEITHER),
    _part("detection_ms", "ms", "from the strike until a lapsed lease was found"),
    _part("detection_share", "", "the same as a share of the lease"),
    _part("start_ms", "ms", "from there until a new worker's process was up"),
    _part("replay_ms", "ms", "from there until it had claimed an execution and read where that stood"),
    _part("first_step_ms", "ms", "from there until its first new step was kept"),
    Metric(
        path="chaos.way_back_ms", unit="ms", better=LOWER, quality=Quality.DERIVED,
        help="from the strike to the first new step: median of the trials that have all four parts",
        of=lambda k: k.total_ms,
    ),
    Metric(
        path="chaos.way_back_most_ms", unit="ms", better=LOWER, pool=Pool.MAX,
        help="from the strike to the first new step, or where none was left to do, to the claim: the longest",
        of=lambda k: k.most_ms,
    ),
    _figure(
        "control_duplicated", "",
        "effects that a retry from the start, without a key, made twice in the same place: 0 would mean that "
        "this cell can see no duplicate",
        lambda k: k.control.counts.duplicated, NEITHER,
    ),
)  # fmt: skip


def _answer(records: Sequence[Record]) -> list[str]:
    """By store: what all kills came to, and what one costs. Then what they do not show."""
    lines = []
    ended = [record for record in records if record.status.name is StatusName.OK]
    for name in dict.fromkeys(record.cell.axes["store"] for record in ended):
        some = [record for record in ended if record.cell.axes["store"] == name]
        kills, lost, twice, false, undone, redone = (
            sum(record.figure(f"chaos.{each}") or 0 for record in some)
            for each in ("kills", "lost", "duplicated", "false_done", "unfinished", "redone")
        )
        points = _many(len({record.cell.axes["point"] for record in some}), "point")
        lines.append(
            f"CHAOS   {name}: {_many(kills, 'kill')} at {points}: {plain(lost)} lost, "
            f"{plain(twice)} duplicated, {plain(false)} false done, {plain(undone)} unfinished; "
            f"{plain(redone)} steps redone"
        )
        lines += _way_back([record for record in some if record.cell.axes["strike"] == "kill"])
        lines += _longest(some)
    return [*lines, f"        {NOT_TESTED}"] if lines else []


def _many(count: float, what: str) -> str:
    return f"{plain(count)} {what}{'' if count == 1 else 's'}"


def _way_back(killed: Sequence[Record]) -> list[str]:
    """The parts of the way back after SIGKILL, medians over the points."""
    parts = []
    for name, word in (
        ("detection_ms", "detection"),
        ("start_ms", "start"),
        ("replay_ms", "replay"),
        ("first_step_ms", "first new step"),
    ):
        value, doubt = middle(killed, f"chaos.{name}")
        if value is not None:
            parts.append(f"{word} {number(value)} ms{doubt}")
    share, _ = middle(killed, "chaos.detection_share")
    lease = f" (a lease lapses after {share * 100:.0f} % of its length)" if share is not None else ""
    return [f"        the way back after a kill: {', '.join(parts)}{lease}"] if parts else []


def _longest(some: Sequence[Record]) -> list[str]:
    """How long an execution stood still at most, whatever struck."""
    found = [(value, one) for one in some if (value := one.figure("chaos.way_back_most_ms")) is not None]
    if not found:
        return []
    most_ms, record = max(found, key=lambda each: each[0])
    axes = record.cell.axes
    return [f"        the longest way back: {number(most_ms)} ms, {axes['strike']} at {axes['point']}"]


def _resolved(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    return {
        "store": cell.axes.store or STORE,
        "point": point_of(cell),
        "strike": strike_of(cell),
        "kills": kills_of(cell),
    }


def _check(cell: "Cell") -> None:
    """Raise UserError for what cannot be meant."""
    if cell.backend != "threads":
        raise UserError(f"a worker of lane chaos has a thread an execution, not {cell.backend}; leave -b out")
    if cell.axes.store is not None and cell.axes.store not in STORES:
        raise unknown("store of lane chaos", cell.axes.store, STORES)
    if cell.axes.point is not None and cell.axes.point not in OF_STEPS:
        raise unknown("point", cell.axes.point, OF_STEPS)
    if cell.calls > MOST:
        raise UserError(f"calls is {cell.calls:,}; a worker of lane chaos has {MOST} executions at most")


def _crew(cell: "Cell") -> Crew:
    needs = ("psycopg", "psycopg_pool") if store_of(cell) == "postgres" else ()
    return Crew(processes=2, needs=needs, extra="durable")


def _idle(axes: "Axes") -> tuple[str, ...]:
    """Nothing depends on anything."""
    return ()


def _about_s(cell: "Cell") -> float:
    """Trials one after the other, the control, a server up and down."""
    return TRIAL_S * kills_of(cell) + (4.5 if store_of(cell) == "postgres" else 1.5)


LANE = Lane(
    name="chaos",
    job="",  # measured_by
    unit="kill",
    counted="executions",
    view=lambda kills: kills,
    metrics=_METRICS,
    charts=(
        Chart(
            name="what-a-kill-costs",
            title="What does a kill cost?",
            kind=Kind.BARS,
            x="cell.calls",
            x_axis="executions",
            lines=("store", "point"),
            panels=(
                Panel(
                    y=("chaos.detection_ms", "chaos.start_ms", "chaos.replay_ms", "chaos.first_step_ms"),
                    labels=("detection", "start", "replay", "first new step"),
                    axis="from the kill to the first new step, ms",
                    log=False,
                ),
                Panel(y=("chaos.redone_per_kill",), axis="steps redone a kill", log=False),
            ),
            note="Detection waits for a lease of 0.4 s to lapse; it grows with the lease, the rest does not. "
            f"{NOT_TESTED[0].upper()}{NOT_TESTED[1:]}.",
        ),
    ),
    headline=(
        "chaos.kills",
        "chaos.lost",
        "chaos.duplicated",
        "chaos.false_done",
        "chaos.unfinished",
        "chaos.redone",
        "chaos.detection_ms",
        "chaos.way_back_ms",
    ),
    compared=("chaos.way_back_ms",),
    usual=Usual(
        backends=("threads",), client="none", workload="documents", calls=3,
        sweep={"point": tuple(each.value for each in OF_STEPS)},
    ),
    backends={"threads": BACKENDS["threads"]},
    clients={"none": NOTHING},
    asks=Asks(
        axes=("store", "point", "strike", "kills"),
        without=tuple(axis for axis in OF_WORKLOADS if axis != "seed"),
        idle=_idle,
        resolved=_resolved,
        check=_check,
        setting=lambda cell, schedule: {},
        crew=_crew,
    ),
    holds=False,
    about_s=_about_s,
    measured_by="streamlanes.chaos.cell:strike",
    doubts=frozenset(),  # nothing looks at the host beside its trials
    answer=_answer,
)  # fmt: skip
