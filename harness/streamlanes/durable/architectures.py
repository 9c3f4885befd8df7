"""The architectures: a table of names, imported only when chosen."""

from dataclasses import dataclass
from importlib import import_module

from streamlanes.durable.architecture import Architecture, Grounds

CHECKPOINTS = "checkpoints"
"""The architecture where nobody names one."""


@dataclass(frozen=True, kw_only=True)
class ArchitectureInfo:
    """What must be known of an architecture without importing it.

    target: "module:attribute" of what is made from Grounds. stores: those it works on ("none", "sqlite",
    "postgres"). waits: how its jobs may wait ("async", "blocking"). needs: imports it cannot do without,
    beside those of its store.
    """

    target: str
    stores: tuple[str, ...] = ("sqlite", "postgres")
    waits: tuple[str, ...] = ("async", "blocking")
    needs: tuple[str, ...] = ()


ARCHITECTURES = {
    CHECKPOINTS: ArchitectureInfo(
        target="streamlanes.durable.stepping:Stepping", stores=("none", "sqlite", "postgres")
    ),
    "replay": ArchitectureInfo(target="streamlanes.architectures.replaying:Replaying", waits=("async",)),
    "queue": ArchitectureInfo(target="streamlanes.architectures.queue:Queue", waits=("async",)),
    "actors": ArchitectureInfo(target="streamlanes.architectures.actors:Actors", waits=("async",)),
    "rows": ArchitectureInfo(
        target="streamlanes.architectures.web:Web",
        stores=("postgres",),
        waits=("async",),
        needs=("fastapi", "uvicorn"),
    ),
}

UNKEPT = "streamlanes.durable.unkept:Unkept"
"""What runs where nothing is to be kept."""


def open_architecture(name: str, grounds: Grounds | None) -> Architecture:
    """The architecture of this name on these grounds; without any the one that keeps nothing."""
    module, attribute = (UNKEPT if grounds is None else ARCHITECTURES[name].target).split(":")
    make = getattr(import_module(module), attribute)
    made: Architecture = make() if grounds is None else make(grounds)
    return made
