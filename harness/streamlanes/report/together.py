"""Which clients share their charts, and how lines are named then. Pure.

A client has charts of its own as a rule: a line is a backend. Libraries that no backend has both of (an
asynchronous one and a blocking one) are what people really choose between, so over the same transport they
are drawn as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamlanes.series import Line, Point, client_kind


@dataclass(frozen=True)
class _Group:
    """Clients so far, with the backends and the transports of their points."""

    clients: tuple[str, ...]
    backends: frozenset[str]
    transports: frozenset[bool]


def groups(clients: Sequence[str], points: Sequence[Point]) -> list[tuple[str, ...]]:
    """The clients in their order, those that are drawn together in one tuple."""
    made: list[_Group] = []
    for client in clients:
        mine = [point for point in points if point.client == client]
        backends = frozenset(point.line.backend for point in mine)
        transports = frozenset(bool(r.cell.axes.get("tls")) for point in mine for r in point.records)
        for place, group in enumerate(made):
            if (
                client_kind(client) == client_kind(group.clients[0]) == 0
                and transports == group.transports
                and not backends & group.backends
            ):
                made[place] = _Group((*group.clients, client), backends | group.backends, transports)
                break
        else:
            made.append(_Group((client,), backends, transports))
    return [group.clients for group in made]


def named(points: Sequence[Point]) -> list[Point]:
    """Points whose lines tell their client too, where there are several."""
    if len({point.client for point in points}) < 2:
        return list(points)
    return [
        replace(point, line=Line(point.line.backend, (("client", point.client), *point.line.variant)))
        for point in points
    ]
