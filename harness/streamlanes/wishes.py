"""The wishes that the command line has for a profile."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from streamlanes.backends import BACKENDS
from streamlanes.clients import CALL
from streamlanes.errors import UserError
from streamlanes.fitting import fits
from streamlanes.lanes import lane
from streamlanes.lanes.base import Lane, Usual
from streamlanes.profile import CellsTable, KneeTable, Matrix, Profile, distinct

CUSTOM = "custom"
"""The name of a profile whose matrix came from the command line."""

T = TypeVar("T", bound=Matrix)


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks of a profile.

    Any of backends, clients, functions, calls, workload, lane and settings replaces the profile's matrix,
    with one repetition. What is not named is as usual in the lane; backends and client that it leaves open
    come from the profile, of the backends those that fit the client. For a function all backends that fit it
    are taken. knee: likewise, and in place of cells of the matrix their knees are sought.
    """

    backends: list[str] = []
    clients: list[str] = []
    functions: list[str] = []
    calls: list[int] = []
    workload: str | None = None
    lane: str | None = None
    settings: dict[str, list[Any]] = {}
    repeats: int | None = None
    budget_s: float | None = None
    knee: bool = False

    def applied(self, profile: Profile) -> Profile:
        """The profile with these wishes granted."""
        run = msgspec.structs.replace(
            profile.run,
            lane=self.lane or profile.run.lane,
            repeats=self.repeats or profile.run.repeats,
            budget_s=self.budget_s if self.budget_s is not None else profile.run.budget_s,
        )
        changed: dict[str, Any] = {"run": run}
        asked = (
            *(self.backends, self.clients, self.functions, self.calls),
            *(self.workload, self.lane, self.settings),
        )
        if self.knee:
            if self.repeats:
                raise UserError(
                    "--repeats means nothing to --knee: a search repeats what is in doubt; leave it out"
                )
            changed |= {"name": CUSTOM, "cells": [], "knee": self._matrix(profile, KneeTable)}
        elif any(asked):
            cells = self._matrix(profile, CellsTable, repeats=self.repeats or 1)
            changed |= {"name": CUSTOM, "cells": cells, "knee": []}
        else:
            each: dict[str, Any] = {"repeats": self.repeats} if self.repeats else {}
            each |= {"budget_s": None} if self.budget_s is not None else {}  # the run's own holds
            changed["cells"] = [msgspec.structs.replace(table, **each) for table in profile.cells]
        return msgspec.structs.replace(profile, **changed)

    def _matrix(self, profile: Profile, kind: type[T], **more: Any) -> list[T]:
        tables: list[Matrix] = [*profile.cells, *profile.knee]
        if not tables:
            raise UserError(f"profile {profile.name} names no cell to take the rest from")
        own = lane(self.lane or profile.run.lane)
        usual = own.usual
        names = list(usual.backends) or distinct(name for one in tables for name in one.backends)
        if kind is KneeTable:  # a bounded backend keeps fewer in flight than a knee is sought with
            names = [name for name in names if name not in BACKENDS or not BACKENDS[name].bounded]
        replaced = {usual.instead.get(axis) for axis in self.settings}
        kept = {axis: list(values) for axis, values in usual.sweep.items() if axis not in replaced}
        sweep = kept | self.settings
        return [
            kind(
                backends=self.backends or ([] if client == CALL else _known_to_fit(own, names, client)),
                client=client,
                call=function,
                workload=self.workload or ("trace" if "trace" in self.settings else usual.workload),
                calls=self.calls or [usual.calls],
                set={axis: values[0] for axis, values in sweep.items() if len(values) == 1},
                sweep={axis: values for axis, values in sweep.items() if len(values) > 1},
                **more,
            )
            for client, function in self._ways(usual, tables)
        ]

    def _ways(self, usual: Usual, tables: Sequence[Matrix]) -> list[tuple[str, str | None]]:
        """Clients, `call` once for each function: those that were named, else the usual or the profile's."""
        clients = self.clients or ([CALL] if self.functions else [usual.client or tables[0].client])
        if self.functions and CALL not in clients:
            clients = [*clients, CALL]
        functions = self.functions or distinct(each.call for each in tables if each.call)
        own: list[str | None] = [*functions] or [None]
        return [(client, function) for client in clients for function in (own if client == CALL else [None])]


def _known_to_fit(own: Lane, names: list[str], client: str) -> list[str]:
    """Those of the usual backends that the client has a form for; all where it has one for none."""
    return [name for name in names if fits(own, name, client)] or names
