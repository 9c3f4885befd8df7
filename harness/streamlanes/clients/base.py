"""What a job needs of a client, in both forms."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from streamlanes import wire
from streamlanes.mishaps import Mishaps
from streamlanes.samples import Outcome, Table

now_ns: Callable[[], int] = time.perf_counter_ns
"""CLOCK_MONOTONIC in nanoseconds on Linux: one clock for every process of the machine."""

Address = tuple[str, int]


class Into(Protocol):
    """Where a client hands what it receives: one call's receiver.

    A client that reads bytes sends `request` to `path` and feeds the answer's body. One whose library
    decodes by itself sends `prompt` its own way, and says of each chunk that it came (`event`) and
    what it brought (`tokens`: text, or reasoning, which is not visible), of the stream what the
    provider counted (`used`), that the model's own end was seen (`finished`; not `marked` where all that
    is known of it is a finish reason), or an error object (`failed`). Both end the call once: `closed` when
    the answer is over, `end` for any other outcome. A call whose end was not seen is never ok.
    """

    call: int

    @property
    def prompt(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def request(self) -> bytes: ...
    def stamp(self, column: str, now_ns: int) -> None: ...
    def feed(self, body: bytes, now_ns: int) -> bool: ...
    def event(self, now_ns: int) -> None: ...
    def tokens(self, count: int, now_ns: int, *, visible: bool = True) -> None: ...
    def used(self, output_tokens: int | None) -> None: ...
    def finished(self, *, marked: bool = True) -> None: ...
    def failed(self) -> None: ...
    def closed(self, now_ns: int, *, reset: bool = False) -> None: ...
    def end(self, how: Outcome, now_ns: int) -> None: ...


class Client(Protocol):
    """How a job waits for its tokens. `stream` returns when the call has ended; the blocking form is
    the same coroutine function, whose waits block and never yield."""

    async def stream(self, into: Into) -> None: ...


@runtime_checkable
class Sharing(Client, Protocol):
    """A client that keeps something for all calls of a process, such as a pool of connections: made
    before the first one, let go after the last, both in the event loop if there is one."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True)
class Setting:
    """What a client is opened with. Picklable: the workers of a pool get it too.

    addresses: where the provider listens (IP literals: no look-up by name inside a cell).
    hold: the memory pass, in which calls wait after their first token until they are released.
    tls_ca: path of the PEM certificate to trust; None for plain HTTP.
    calls: how many there are in all, which is what a pool is sized to.
    keep_alive: whether a connection is kept for a later call; None: as the client does by itself.
    api: the dialect that is spoken, by its name in `wire`. tokens_per_chunk: how many tokens a chunk of
    the provider's brings. call: the function that client `call` calls, "module:function". mishaps: where
    what went wrong is noted.
    """

    schedule: Table
    addresses: tuple[Address, ...]
    hold: bool
    tls_ca: str | None = None
    calls: int = 1
    keep_alive: bool | None = None
    api: str = wire.DEFAULT
    tokens_per_chunk: int = 1
    call: str | None = None
    mishaps: Mishaps | None = None

    def address(self, call: int) -> Address:
        """The provider's address for this call."""
        return self.addresses[call % len(self.addresses)]

    def origin(self, call: int) -> str:
        """The same as a URL begins with it."""
        host, port = self.address(call)
        return f"{'http' if self.tls_ca is None else 'https'}://{host}:{port}"


ON_TIME_NS = 2_000_000
"""A start this close to the intended one counts as on time: two grains of a millisecond timer."""


def model_start_ns(intended_ns: int, begun_ns: int) -> int:
    """When a simulated model saw a call that needs no network: at the intended start if the call was
    on time, else when it began, for a model never catches up for a late caller (nor would a pool
    whose calls waited in its queue have any waves)."""
    return intended_ns if begun_ns - intended_ns <= ON_TIME_NS else begun_ns


HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
READ_BYTES = 16 * 1024
"""What one read asks for. A blocking read allocates it beforehand, so it is no larger than common."""


def refused(status: int) -> Outcome:
    """The outcome of an answer that is no success; a redirect is none that a stream can follow."""
    if status < 400:
        return Outcome.PROTOCOL_ERROR
    return Outcome.STATUS_5XX if status >= 500 else Outcome.STATUS_4XX
