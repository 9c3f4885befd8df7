"""A worker is killed in mid-step: its lease lapses, another worker goes on from the last checkpoint."""

from collections.abc import Sequence

from streamlanes.chaos.place import place
from streamlanes.chaos.plan import How, Kill, Size
from streamlanes.chaos.trial import run_trial
from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.points import Point

STEPS = 7


def act(stage: Stage) -> Sequence[Figure]:
    """A real SIGKILL when a step has its result and the store has not: that step is done again, its effect
    and its message are not."""
    steps = max(STEPS, stage.crash_at)
    kill = Kill(0, Point.BEFORE_CHECKPOINT, How.KILL, stage.crash_at, "sqlite")
    with place("sqlite", str(stage.folder / "store.db"), "", stage.launcher) as at:
        trial = run_trial(kill, Size(executions=1, steps=steps), at)
    counts = trial.counts
    return [
        Figure(f"workers killed in step {stage.crash_at} of {steps}", 1, int(trial.struck)),
        Figure("executions finished", 1, 1 - counts.unfinished),
        Figure("steps done again", 1, counts.redone),
        Figure("steps, effects and messages lost", 0, counts.lost),
        Figure("effects and messages that happened twice", 0, counts.duplicated),
    ]
