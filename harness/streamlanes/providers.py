"""The parent's side of the simulated provider: start it fresh for a pass, ask it, let it go."""

import contextlib
import http.client
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from streamlanes.certificate import Certificate
from streamlanes.children import Child, Gone, Launcher
from streamlanes.probe.cpu import process_cpu_ns
from streamlanes.provider.behaviour import Behaviour
from streamlanes.samples import Table

HOST = "127.0.0.1"
TICK_NS = 1_000_000
START_S = 30.0
ANSWER_S = 30.0


class Providers:
    """The provider processes of one pass.

    ports, tls_ports: of each process; calls go to the latter where there are any, questions never.
    """

    def __init__(
        self, children: Sequence[Child], ports: Sequence[Sequence[int]], tls_ports: Sequence[Sequence[int]]
    ) -> None:
        self._children = children
        self._ports = ports
        self._calls = tls_ports if any(tls_ports) else ports
        self._last_ns: dict[int, int] = {}

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where calls go: every such port of every process, processes in turn."""
        return [(HOST, port) for turn in zip(*self._calls, strict=True) for port in turn]

    def cpu_ns(self) -> int:
        """CPU of all provider processes so far."""
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                self._last_ns[child.pid] = process_cpu_ns(child.pid)
        return sum(self._last_ns.values())

    def ended(self, within_s: float = 0.0) -> str | None:
        """How a provider process ended that should still serve, now or within that time; None while all
        live."""
        for child in self._children:
            if child.ended(within_s):
                return f"the provider's process ended in mid-run: {child.ending()}"
        return None

    def stats(self) -> tuple[Mapping[str, Any], ...]:
        """What each process says of itself; empty when one does not answer."""
        try:
            return tuple(self._ask(ports[0], "GET", "/sim/stats") for ports in self._ports)
        except (OSError, http.client.HTTPException, ValueError):
            return ()

    def release(self) -> None:
        """End the hold of the memory pass."""
        for ports in self._ports:
            self._ask(ports[0], "POST", "/sim/release")

    @staticmethod
    def _ask(port: int, method: str, path: str) -> Mapping[str, Any]:
        connection = http.client.HTTPConnection(HOST, port, timeout=ANSWER_S)
        with contextlib.closing(connection):
            connection.request(method, path)
            answer: Mapping[str, Any] = json.loads(connection.getresponse().read(1 << 20))
            return answer


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What providers a pass has.

    processes: how many. ports: of each, for calls. hold: the memory pass. cpus: those they may run on, None
    for all. certificate: calls come over TLS, and one plain port more is there for the questions. behaviour:
    None for providers that do as they should. http2: whether they speak that too.
    """

    processes: int
    ports: int
    hold: bool
    cpus: Sequence[int] | None
    certificate: Certificate | None = None
    behaviour: Behaviour | None = None
    http2: bool = False


@contextlib.contextmanager
def providers(launcher: Launcher, schedule: Table, stamps: Table, wanted: Wanted) -> Iterator[Providers]:
    """Fresh provider processes, gone at the end of the block. Raises Gone when one does not come up."""
    certificate = wanted.certificate
    spec = {
        "schedule": {"path": schedule.path, "columns": schedule.columns},
        "stamps": {"path": stamps.path, "columns": stamps.columns},
        "host": HOST,
        "ports": [0] * (1 if certificate else wanted.ports),
        "tls_ports": [0] * (wanted.ports if certificate else 0),
        "certificate": certificate and [certificate.trusted, certificate.key],
        "tick_ns": TICK_NS,
        "hold": wanted.hold,
        "http2": wanted.http2,
        "behaviour": msgspec.to_builtins(wanted.behaviour or Behaviour()),
    }
    children: list[Child] = []
    try:
        for _ in range(wanted.processes):
            child = Child(launcher, [sys.executable, "-P", "-m", "streamlanes.provider"], wanted.cpus)
            children.append(child)
            child.say(spec)
        try:
            heard = [_ready(child) for child in children]
        except Gone as gone:
            raise Gone(f"the provider does not start: {gone}") from None
        yield Providers(children, *zip(*heard, strict=True))
    finally:
        for child in children:
            child.end(grace_s=1.0)


def _ready(child: Child) -> tuple[list[int], list[int]]:
    """Its plain ports and its TLS ports. Raises Gone when it does not come up."""
    word = child.hear(START_S)
    if word is None:
        raise Gone(f"no answer in {START_S:.0f} s")
    if word["word"] != "ready":
        raise Gone(str(word.get("reason")))
    return [int(port) for port in word["ports"]], [int(port) for port in word["tls_ports"]]
