"""The families of measurements: a table of names, imported only when chosen."""

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
