"""The moments at which a worker's death matters most, by name.

Code calls `reach` where it passes one. Nothing happens there, unless somebody watches: the chaos
tool kills its own process at a point, so that a test does not hope for luck.
"""

import enum
from collections.abc import Callable


class Point(enum.StrEnum):
    """Where a worker can die."""

    BEFORE_EFFECT = "before-effect"  # the key is stored, nothing was sent
    AFTER_EFFECT = "after-effect"  # the receiver has done it, no record of that is kept
    BEFORE_CHECKPOINT = "before-checkpoint"  # the step has its result, the store does not
    AFTER_CHECKPOINT = "after-checkpoint"  # the step is kept, the worker does not go on
    AFTER_SEND = "after-send"  # a message is delivered, the outbox does not know
    IN_HEARTBEAT = "in-heartbeat"  # the lease is about to be renewed
    IN_COMMIT = "in-commit"  # a group is written and not committed
    AFTER_COMMIT = "after-commit"  # a group is committed and nobody was told
    BEFORE_PARK = "before-park"  # a proposal is there, nobody was asked
    AFTER_PARK = "after-park"  # a person is asked, the worker has not let go
    AFTER_DECISION = "after-decision"  # a decision is taken up, nothing was done about it
    BEFORE_ANSWER = "before-answer"  # an agent has its reply, its queue does not
    AFTER_ANSWER = "after-answer"  # the reply is in its out-queue, nobody has it in an in-queue
    AFTER_DISPATCH = "after-dispatch"  # the mail is handed on, the worker does not go on


OF_STEPS = (
    Point.BEFORE_EFFECT,
    Point.AFTER_EFFECT,
    Point.BEFORE_CHECKPOINT,
    Point.AFTER_CHECKPOINT,
    Point.AFTER_SEND,
    Point.IN_HEARTBEAT,
    Point.IN_COMMIT,
    Point.AFTER_COMMIT,
)
"""Those that executions with checkpoints, effects and an outbox pass."""

NOT_TESTED = "a process crash is not a power loss: the operating system kept what was written"
"""What no strike at a point shows."""

_watcher: Callable[[Point], None] | None = None


def reach(point: Point) -> None:
    """Say that the point is passed now, in this thread."""
    if _watcher is not None:
        _watcher(point)


def watch(watcher: Callable[[Point], None] | None) -> None:
    """Have `watcher` called at every point of this process; None ends it."""
    global _watcher  # noqa: PLW0603  # one process, one watcher
    _watcher = watcher
