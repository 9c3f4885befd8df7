"""The streams in flight: what is sent when, with the true send times."""

import asyncio
import os
import time
from dataclasses import dataclass

from streamlanes.provider import frames
from streamlanes.provider.wheel import Wheel
from streamlanes.samples import Table

now_ns = time.perf_counter_ns

RELEASED_PER_TICK = 50
"""Held streams let go per tick, so that the end of a memory pass is no thundering herd."""


class Stream:
    """One call being answered. Tokens are due at `base_ns` (when the request was seen) plus the
    call's offsets: a provider never catches up for a caller that came late."""

    __slots__ = ("base_ns", "call", "call_id", "fd", "k", "keep", "over", "row", "stop", "transport")

    def __init__(
        self, call: int, rows: tuple[int, int], base_ns: int, transport: asyncio.Transport, keep: bool
    ) -> None:
        self.call = call
        self.call_id = frames.call_id(call)
        self.row, self.stop = rows  # where the next token stands in the schedule, and the end
        self.keep = keep  # whether the connection stays open behind the stream
        self.k = 0
        self.base_ns = base_ns
        self.transport = transport
        self.fd = transport.get_extra_info("socket").fileno()
        self.over = False


@dataclass
class Counts:
    """What the provider has seen so far."""

    requests: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    tokens: int = 0
    abandoned: int = 0  # streams whose caller left before the end


class Streams:
    """All streams of one provider process, driven by one wheel.

    hold: the memory pass: nothing is sent after a call's first token until `release`.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, schedule: Table, stamps: Table, tick_ns: int, hold: bool
    ) -> None:
        self.counts = Counts()
        self.holding = hold
        self.calls = len(schedule["start"])
        self._next_call = 0
        self._held: list[Stream] = []
        self._first = schedule["first"]
        self._offset = schedule["offset"]
        self._accepted = stamps["accepted"]
        self._seen = stamps["seen"]
        self._sent = stamps["sent"]
        self._tick_ns = tick_ns
        self._wheel = Wheel(loop, tick_ns, self._fire)

    def begin(
        self, call: int | None, accepted_ns: int, transport: asyncio.Transport, keep: bool = True
    ) -> Stream:
        """Start answering. Without an index the next free one is taken; one beyond the schedule
        wraps around (someone's own client may make any number of calls)."""
        if call is None:
            call = self._next_call
            self._next_call += 1
        row = call % self.calls
        if call >= self.calls:  # the schedule begins again: what it sent before is of another call
            for token in range(self._first[row], self._first[row + 1]):
                self._sent[token] = 0
        base_ns = now_ns()
        self._accepted[row] = accepted_ns
        self._seen[row] = base_ns
        stream = Stream(call, (self._first[row], self._first[row + 1]), base_ns, transport, keep)
        counts = self.counts
        counts.requests += 1
        counts.in_flight += 1
        counts.peak_in_flight = max(counts.peak_in_flight, counts.in_flight)
        self._wheel.at(base_ns + self._offset[stream.row], stream)
        return stream

    def _fire(self, stream: Stream, now: int) -> None:
        """Send what is due: one token as a rule. Several that fell into this tick go in one write, as from
        a server that has them all; a write each would cost it more than a client takes to read them."""
        if stream.over:
            return
        if stream.transport.is_closing():
            self.abandon(stream)
            return
        row, offset = stream.row, self._offset
        pieces = [frames.first(stream.call_id)] if stream.k == 0 else []
        while row < stream.stop:
            pieces.append(frames.token(stream.call, stream.call_id, stream.k))
            stream.k += 1
            row += 1
            if self.holding or (row < stream.stop and stream.base_ns + offset[row] > now):
                break
        ends = row == stream.stop and not self.holding  # one that was held has its end left to send
        if ends:
            pieces.append(frames.last(stream.call_id))
        data = b"".join(pieces)
        at = now_ns()
        for sent in range(stream.row, row):
            self._sent[sent] = at
        self.counts.tokens += row - stream.row
        stream.row = row
        if ends:
            self._finish(stream, data)
            return
        self._write(stream, data)
        if self.holding:
            self._held.append(stream)
        else:
            self._wheel.at(stream.base_ns + offset[row], stream)

    def _finish(self, stream: Stream, data: bytes) -> None:
        """Write the end of a stream."""
        self._write(stream, data)
        stream.over = True
        self.counts.in_flight -= 1
        if not stream.keep:
            stream.transport.close()

    def _write(self, stream: Stream, data: bytes) -> None:
        """Straight to the socket, so that the send time is true: a transport's write may wait for the
        loop's next turn. What the socket does not take goes the transport's way."""
        if stream.transport.get_write_buffer_size() == 0:
            try:
                taken = os.write(stream.fd, data)
            except BlockingIOError:
                taken = 0
            except OSError:  # the caller left; the transport notices it too and ends the stream
                return
            if taken == len(data):
                return
            data = data[taken:]
        stream.transport.write(data)

    def abandon(self, stream: Stream) -> None:
        """The caller's connection is gone."""
        if not stream.over:
            stream.over = True
            self.counts.in_flight -= 1
            self.counts.abandoned += 1

    def release(self) -> int:
        """End the hold: held streams send all that is left, some at each tick. Returns their number."""
        self.holding = False
        held, self._held = self._held, []
        now = now_ns()
        for i, stream in enumerate(held):
            stream.base_ns = 0  # everything has been due for long
            self._wheel.at(now + (1 + i // RELEASED_PER_TICK) * self._tick_ns, stream)
        return len(held)

    def lateness_ms(self) -> dict[str, float | int | None]:
        """This process' view of its own punctuality, over every token sent so far by any process of
        the run: sent minus due, against the unrounded due time."""
        late: list[float] = []
        for call, seen in enumerate(self._seen):
            if seen:
                for row in range(self._first[call], self._first[call + 1]):
                    if self._sent[row]:
                        late.append((self._sent[row] - seen - self._offset[row]) / 1e6)
        late.sort()
        if not late:
            return {"p50": None, "p99": None, "max": None, "count": 0}
        return {
            "p50": late[len(late) // 2],
            "p99": late[min(len(late) - 1, int(len(late) * 0.99))],
            "max": late[-1],
            "count": len(late),
        }

    def close(self) -> None:
        """Stop sending."""
        self._wheel.close()
