"""The families of measurements: a table of names, imported only when chosen."""

from collections.abc import Iterable
from importlib import import_module

from streamlanes.errors import unknown
from streamlanes.lanes.base import Lane

LANES = {
    "io": "streamlanes.lanes.io:LANE",
    "cpu": "streamlanes.lanes.cpu:LANE",
    "mixed": "streamlanes.lanes.mixed:LANE",
    "durable": "streamlanes.lanes.durable:LANE",
    "chaos": "streamlanes.lanes.chaos:LANE",
}


def lane(name: str) -> Lane:
    """The lane of this name; raises UserError with the nearest name if there is none."""
    if name not in LANES:
        raise unknown("lane", name, LANES)
    module, attribute = LANES[name].split(":")
    found: Lane = getattr(import_module(module), attribute)
    return found


def lanes_of(names: Iterable[str]) -> list[Lane]:
    """The lanes with these names, each once, in the table's order. Raises UserError as `lane` does."""
    wanted = set(names)
    return [lane(name) for name in [*LANES, *sorted(wanted - LANES.keys())] if name in wanted]
