"""What stands ready for one pass beside its provider: the lane's place, and the server in it."""

import contextlib
from collections.abc import Iterator
from importlib import import_module

import psutil

from streamlanes.cells import Cell
from streamlanes.errors import UserError
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import without_folders
from streamlanes.lanes.base import Lane, Place
from streamlanes.record import Status, StatusName


@contextlib.contextmanager
def placed_for(lane: Lane, cell: Cell) -> Iterator[Place]:
    """What the lane has ready for the pass; all gone at the end of the block. Raises CellEnded where it
    cannot be had."""
    if lane.place is None:
        yield Place()
        return
    module, attribute = lane.place.split(":")
    with contextlib.ExitStack() as stack:
        try:
            placed: Place = stack.enter_context(getattr(import_module(module), attribute)(cell))
        except UserError as error:
            reason = without_folders(str(error))
            raise CellEnded(Status(StatusName.UNSUPPORTED, reason)) from None
        yield placed


def server_processes(pid: int | None) -> tuple[int, ...]:
    """A server's processes as they are now. Each has a group of its own: they are found by their parent."""
    if pid is None:
        return ()
    try:
        process = psutil.Process(pid)
        return (pid, *(child.pid for child in process.children(recursive=True)))
    except psutil.NoSuchProcess:
        return ()
