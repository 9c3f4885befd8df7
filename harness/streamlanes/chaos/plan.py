"""What chaos does, and what it found: kills as a plan, their results, the verdict. Pure.

A kill is one trial: a worker strikes itself at a named point, its leases lapse, another worker goes
on, and then everything is counted: in the store, and in the ledger of the receiver, which nobody
killed. `trial` carries trials out.
"""

import enum
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from streamlanes.durable.points import Point

SCHEMA = "streamlanes.chaos/1"

SQLITE, POSTGRES = "sqlite", "postgres"
STORES = (SQLITE, POSTGRES)

MOST_HITS = {Point.IN_HEARTBEAT: 1}
"""How late a strike may come; a heartbeat comes only once or twice in a trial."""
HITS = 8
MOST_BEGUN = 5
"""Trials begun for each that struck, at most: workers that cannot start never do."""
MORE_BEGUN = 2
"""Trials that may be taken to strike before any has."""
STOOD_MOST_MS = 30_000.0
"""An execution that stood still for longer counts as unfinished, however it ended: somebody kept others
from it, whom only the end of the trial moved. The longest that is meant is a transaction of a stopped worker
on PostgreSQL, some 5 s."""
TRIED = 3
"""A place where so many trials were begun and none struck is one that workers do not pass."""


class Scenario(enum.StrEnum):
    """What the killed workers do; see scenarios/."""

    STEPS = "steps"  # agents with effects and messages
    APPROVAL = "approval"  # agents that ask a person before each effect
    RAINBOW = "rainbow"  # agents of two runtime versions at once
    REPLAY = "replay"  # workflows of activities and readings, over their logs
    QUEUE = "queue"  # agents that write to each other


OWN_COUNTS = {
    "asked_again": Scenario.APPROVAL,
    "unapproved": Scenario.APPROVAL,
    "wrong_version": Scenario.RAINBOW,
}
"""Counts that only one scenario can raise."""


class How(enum.StrEnum):
    """What strikes: SIGKILL ends a worker; SIGSTOP makes it sleep past its lease, then SIGCONT wakes it."""

    KILL = "SIGKILL"
    STOP = "SIGSTOP"


@dataclass(frozen=True)
class Kill:
    """One trial. hit: at which passage of the point the worker strikes."""

    number: int
    point: Point
    how: How
    hit: int
    store: str
    scenario: Scenario = Scenario.STEPS


@dataclass(frozen=True)
class Size:
    """What each trial carries out. pace_s: work in a step besides its effect and its message."""

    executions: int = 3
    steps: int = 5
    lease_s: float = 0.4
    pace_s: float = 0.02


@dataclass(frozen=True)
class Recovery:
    """How long an execution stood still after a strike, and in which parts, milliseconds.

    stood_ms: from the strike to the first new checkpoint, or where none was left to do, to the claim; None
    where nothing was left to claim.

    detection_ms: until a lapsed lease was found; None where the worker held none.
    detection_share: the same as a share of the lease.
    start_ms: until a new process was up. replay_ms: until it had claimed an execution and read where
    that stood. first_step_ms: until its first new checkpoint was durable; None where none was left to do.
    """

    detection_ms: float | None
    detection_share: float | None
    start_ms: float
    replay_ms: float | None
    first_step_ms: float | None
    stood_ms: float | None

    @property
    def late(self) -> bool:
        """Whether it stood still for longer than can be meant."""
        return self.stood_ms is not None and self.stood_ms > STOOD_MOST_MS


@dataclass(frozen=True)
class Counts:
    """What a trial came to. Effects are counted in the receiver's ledger.

    lost: effects, messages and checkpoints that are not there. duplicated: effects and messages that
    happened more than once, each time beyond the first. redone: steps that were begun again.
    false_done: executions called done that are not complete. unfinished: executions not done in time,
    or that nobody could go on with in time.
    asked_again: requests to a person beyond the first, where no policy wants that. unapproved: effects that
    happened though a person had not approved them. wrong_version: steps and checkpoints of another
    runtime version than their execution began with.
    """

    lost: int = 0
    duplicated: int = 0
    redone: int = 0
    false_done: int = 0
    unfinished: int = 0
    asked_again: int = 0
    unapproved: int = 0
    wrong_version: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong. What was redone did not: it costs time only."""
        return not any(count for name, count in asdict(self).items() if name != "redone")


@dataclass(frozen=True)
class Trial:
    """A kill and what came of it. struck: whether the worker passed the point at all.

    refused: executions that a worker found were no longer its own, so that its write changed nothing.
    errors: other errors that workers met, and how one ended that never came up.
    durability: of the store, as Database.durability.
    """

    kill: Kill
    struck: bool
    counts: Counts
    recovery: Recovery | None
    refused: int = 0
    errors: tuple[str, ...] = ()
    durability: str | None = None


@dataclass(frozen=True)
class Control:
    """A way of working that must fail, or must not, under the same kills: it shows that trials can tell.

    expected: what must be found, as names of Counts that must not be 0; none means clean.
    """

    name: str
    says: str
    expected: tuple[str, ...]
    counts: Counts

    @property
    def as_expected(self) -> bool:
        """Whether the control shows what it is there to show."""
        if not self.expected:
            return self.counts.clean
        return all(getattr(self.counts, name) for name in self.expected)


class ChaosPlan:
    """Kills over every place and both signals, evenly, in seeded order; on each store in turn.

    places: scenarios with their points. A kill whose worker never passed the point does not count, and
    another one takes its place, until so many were begun in vain that there is no hope (MOST_BEGUN).
    """

    def __init__(
        self,
        kills: int,
        stores: Sequence[str],
        places: Sequence[tuple[Scenario, Point]],
        seed: int = 1,
        hows: Sequence[How] = tuple(How),
    ) -> None:
        self.wanted = kills * len(stores)
        self._draw_seed = seed
        self._ways = [(scenario, point, how) for scenario, point in places for how in hows]
        self._stores = stores

    def next(self, done: Sequence[Trial]) -> Kill | None:
        """The next kill, after these; None when there have been enough."""
        return self.after(len(done), sum(trial.struck for trial in done))

    def after(self, begun: int, struck: int) -> Kill | None:
        """The kill with number `begun`, if `struck` are not enough yet and it may still be begun."""
        if struck >= self.wanted or begun >= MOST_BEGUN * min(self.wanted, struck + MORE_BEGUN):
            return None
        block, place = divmod(begun // len(self._stores), len(self._ways))
        ways = random.Random(f"{self._draw_seed} {block}").sample(self._ways, len(self._ways))
        scenario, point, how = ways[place]
        hit = random.Random(f"{self._draw_seed} {begun}").randint(1, MOST_HITS.get(point, HITS))
        return Kill(begun, point, how, hit, self._stores[begun % len(self._stores)], scenario)


@dataclass(frozen=True)
class Verdict:
    """All trials and controls together. wanted: kills that were asked for, over all stores."""

    trials: Sequence[Trial]
    controls: Sequence[Control]
    wanted: int = 0

    @property
    def counts(self) -> Counts:
        """The sum over all trials."""
        names = asdict(Counts())
        return Counts(**{name: sum(getattr(one.counts, name) for one in self.trials) for name in names})

    @property
    def kills(self) -> int:
        """Trials in which the worker struck."""
        return sum(trial.struck for trial in self.trials)

    @property
    def durability(self) -> dict[str, str | None]:
        """What each store promised, by its name here."""
        return {trial.kill.store: trial.durability for trial in self.trials}

    @property
    def short(self) -> str | None:
        """Why there are fewer kills than were asked for; None where there are enough."""
        return short(self.trials, self.wanted)

    @property
    def unreached(self) -> list[str]:
        """Places that no worker passed, however often it was tried: what was wanted there is not proven."""
        begun: dict[str, list[bool]] = {}
        for trial in self.trials:
            kill = trial.kill
            begun.setdefault(f"{kill.store}/{kill.scenario}/{kill.point}", []).append(trial.struck)
        return [place for place, struck in begun.items() if len(struck) >= TRIED and not any(struck)]

    @property
    def passed(self) -> bool:
        """Whether all kills happened and nothing went wrong, and each control showed what it is for."""
        whole = self.short is None and not self.unreached
        return whole and self.counts.clean and all(control.as_expected for control in self.controls)

    def fields(self) -> dict[str, object]:
        """For JSON."""
        said = {"wanted": self.wanted, "kills": self.kills, "durability": self.durability}
        problems = {"short": self.short, "unreached": self.unreached, "passed": self.passed}
        return {**said, **asdict(self.counts), **problems}


def short(trials: Sequence[Trial], wanted: int) -> str | None:
    """Why fewer workers were struck than wanted; None where there were enough."""
    struck = sum(trial.struck for trial in trials)
    if struck >= wanted:
        return None
    said = [error for trial in trials if not trial.struck for error in trial.errors]
    why = f": {said[0]}" if said else ""
    return f"only {struck} of {wanted} kills struck, in {len(trials)} trials{why}"
