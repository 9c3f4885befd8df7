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


_watcher: Callable[[Point], None] | None = None


def reach(point: Point) -> None:
    """Say that the point is passed now, in this thread."""
    if _watcher is not None:
        _watcher(point)


def watch(watcher: Callable[[Point], None] | None) -> None:
    """Have `watcher` called at every point of this process; None ends it."""
    global _watcher  # noqa: PLW0603  # one process, one watcher
    _watcher = watcher
