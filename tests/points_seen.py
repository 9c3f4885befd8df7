"""What others see, and what the caller was told, while a commit passes its points."""

import threading
from collections.abc import Callable

from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.leases import Leases
from streamlanes.durable.points import Point, watch
from streamlanes.durable.values import Checkpoint


def seen_at_points(database: Database, rows: Callable[[], int]) -> dict[Point, tuple[int, bool]]:
    """For each point of one append: how many checkpoints another connection sees there (`rows`), and
    whether the caller was answered."""
    claimed = Leases(database).claim("a", "w", 600.0).result()
    assert claimed is not None
    seen: dict[Point, tuple[int, bool]] = {}
    asked = threading.Event()

    def look(point: Point) -> None:
        assert asked.wait(30)
        seen[point] = (rows(), future.done())

    watch(look)
    try:
        future = Checkpoints(database).append(claimed.lease, Checkpoint("a", 0, b"{}"))
        asked.set()
        future.result()
    finally:
        watch(None)
    return seen
