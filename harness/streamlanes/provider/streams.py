"""The streams in flight: what is sent when, with the true send times."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from streamlanes.provider import script
from streamlanes.provider.ask import Ask
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault, fault_of
from streamlanes.provider.frames import WORDS, Frames, call_id, token
from streamlanes.provider.lateness import lateness_ms
from streamlanes.provider.limit import Limit
from streamlanes.provider.sending import reset, sender
from streamlanes.provider.wheel import Wheel
from streamlanes.provider.writes import Then, Write
from streamlanes.samples import Table

now_ns = time.perf_counter_ns

RELEASED_PER_TICK = 50
"""Held streams let go per tick, so that the end of a memory pass is no thundering herd."""

_PLAIN = Behaviour()
_WORDS = len(WORDS)


class Stream:
    """One call being answered. Tokens are due at `base_ns` (when the request was seen) plus the
    call's offsets: a provider never catches up for a caller that came late.

    first, row, stop: where its tokens begin in the schedule, where the next one stands, and where they end.
    usual: how far that next one is nothing but a token, so that `Streams._turn` sends it: from the second
    to the last but one of an answer that is one token an event, unless it is held or over. shift: what the
    row's word is counted from. writes: what is sent, for an answer that is something else; None for the
    others, which are rendered from call and row. upcoming: the next of them. sent: where its send times go.
    fd: what its usual tokens are written to (see `sender`), until that once does not take all of one.
    """

    __slots__ = (
        "base_ns", "call", "call_id", "fd", "first", "frames", "keep", "over", "prompt_tokens", "row", "send",
        "sent", "shift", "stop", "transport", "upcoming", "usual", "writes",
    )  # fmt: skip

    def __init__(
        self,
        call: int,
        rows: tuple[int, int],
        base_ns: int,
        transport: asyncio.Transport,
        keep: bool,
        ask: Ask,
        sent: memoryview,
    ) -> None:
        self.call = call
        self.sent = sent
        self.call_id = call_id(call)
        self.frames: Frames = ask.frames
        self.prompt_tokens = ask.prompt_tokens
        self.first, self.stop = rows
        self.row = self.first
        self.usual = 0
        self.shift = call - self.first
        self.keep = keep  # whether the connection stays open behind the stream
        self.base_ns = base_ns
        self.transport = transport
        self.send, self.fd = sender(transport)
        self.over = False
        self.writes: Iterator[Write] | None = None
        self.upcoming: Write | None = None


@dataclass
class Counts:
    """What the provider has seen so far."""

    requests: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    tokens: int = 0
    abandoned: int = 0  # streams whose caller left before the end
    unmarked: int = 0  # requests whose prompt named no call
    faults: Counter[str] = field(default_factory=Counter)


class Streams:
    """All streams of one provider process, driven by one wheel.

    hold: the memory pass: nothing is sent after a call's first token until `release`, and no call fails.
    marked_only: in a cell every index is somebody's call: a request whose prompt names none leaves no times.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        schedule: Table,
        stamps: Table,
        tick_ns: int,
        hold: bool,
        behaviour: Behaviour = _PLAIN,
        *,
        marked_only: bool = False,
    ) -> None:
        self.counts = Counts()
        self.holding = hold
        self.behaviour = behaviour.without_faults() if hold else behaviour
        per_s = self.behaviour.limit_per_s
        self._limit = None if per_s is None else Limit(per_s)
        self.calls = len(schedule["start"])
        self._next_call = 0
        self._held: list[Stream] = []
        self._first = schedule["first"]
        self._offset = schedule["offset"]
        self._accepted = stamps["accepted"]
        self._seen = stamps["seen"]
        self._sent = stamps["sent"]
        self._marked_only = marked_only
        self._unkept = memoryview(bytearray(8 * len(self._sent) if marked_only else 0)).cast("q")
        self._tick_ns = tick_ns
        self._wheel = Wheel(loop, tick_ns, self._turn)

    def begin(self, ask: Ask, accepted_ns: int, transport: asyncio.Transport, keep: bool = True) -> Stream:
        """Start answering. Without an index the next one is taken; one beyond the schedule wraps around
        (someone's own client may make any number of calls). A call that is asked for again has the times
        of the last request (decision 13)."""
        call = ask.call
        if call is None:
            self.counts.unmarked += 1
            call = self._next_call
            self._next_call += 1
        row = call % self.calls
        first, stop = self._first[row], self._first[row + 1]
        base_ns = now_ns()
        if ask.call is None and self._marked_only:
            sent = self._unkept
        else:
            sent = self._sent
            if self._seen[row]:
                sent[first:stop] = memoryview(bytes(8 * (stop - first))).cast("q")
            self._accepted[row] = accepted_ns
            self._seen[row] = base_ns
        stream = Stream(call, (first, stop), base_ns, transport, keep, ask, sent)
        counts = self.counts
        counts.requests += 1
        counts.in_flight += 1
        counts.peak_in_flight = max(counts.peak_in_flight, counts.in_flight)
        self._wheel.at(base_ns + self._first_due_ns(stream, ask), stream)
        return stream

    def _first_due_ns(self, stream: Stream, ask: Ask) -> int:
        """When the first write is due after the request; puts the answer together where it is unusual."""
        behaviour = self.behaviour
        fault = fault_of(behaviour.seed, stream.call, behaviour.faults) if behaviour.faults else None
        if self._limit is not None and not self._limit.admits(stream.base_ns):
            fault = Fault.STATUS_429
        if fault is None and ask.stream and behaviour.tokens_per_chunk == 1:
            first: int = self._offset[stream.row]
            return first
        if fault is not None:
            self.counts.faults[fault] += 1
        call = script.Call(
            call=stream.call,
            call_id=stream.call_id,
            frames=stream.frames,
            prompt_tokens=stream.prompt_tokens,
            offsets_ns=self._offset[stream.row : stream.stop].tolist(),
            gzip=ask.gzip,
        )
        if ask.stream:
            stream.writes = script.stream(call, fault, behaviour, apart=self.holding)
        else:
            stream.writes = script.whole(call, fault, behaviour)
        stream.upcoming = next(stream.writes)
        return stream.upcoming.due_ns

    def _turn(self, due: list[Stream], now: int) -> None:
        """Send what is due of these streams. As a rule that is one token of a stream in the middle: what is
        done for it here, in one loop, is what a token costs the provider.

        A caller that leaves ends its stream (`abandon`) before its descriptor is another's: connections say
        that they are lost first, and close their socket then.
        """
        offset, slots, tick_ns = self._offset, self._wheel.slots, self._tick_ns
        up_ns, write, clock, words, tokens = tick_ns - 1, os.write, now_ns, _WORDS, 0
        for stream in due:
            row = stream.row
            upcoming = row + 1
            if upcoming >= stream.usual or (due_ns := stream.base_ns + offset[upcoming]) <= now:
                self._fire(stream, now)
                continue
            if (fd := stream.fd) < 0 and stream.transport.is_closing():
                self._fire(stream, now)
                continue
            data = stream.call_id.join(stream.frames.tokens[(stream.shift + row) % words])
            stream.row = upcoming
            tokens += 1
            stream.sent[row] = clock()
            if fd < 0:
                stream.send(data)
            else:
                try:
                    taken = write(fd, data)
                except OSError:  # `send` meets it too, and knows what to do
                    taken = 0
                if taken != len(data):
                    stream.fd = -1
                    stream.send(data[taken:])
            slot = slots.get((due_ns + up_ns) // tick_ns)
            if slot is not None:
                slot.append(stream)
            else:
                self._wheel.at(due_ns, stream)
        self.counts.tokens += tokens

    def _fire(self, stream: Stream, now: int) -> None:
        """Send what is due of a stream, whatever that is. Several tokens that fell into this tick go in one
        write, as from a server that has them all; a write each would cost it more than a client takes to
        read them."""
        if stream.over:
            return
        if stream.transport.is_closing():
            self.abandon(stream)
            return
        if stream.writes is not None:
            self._write(stream, stream.writes, now)
            return
        row, offset, frames = stream.row, self._offset, stream.frames
        pieces = [frames.first(stream.call_id, stream.prompt_tokens)] if row == stream.first else []
        while row < stream.stop:
            pieces.append(token(frames, stream.call, row - stream.first))
            row += 1
            if self.holding or (row < stream.stop and stream.base_ns + offset[row] > now):
                break
        ends = row == stream.stop and not self.holding  # one that was held has its end left to send
        if ends:
            pieces.append(frames.last(stream.call_id, stream.prompt_tokens, row - stream.first))
        data = b"".join(pieces)
        at = now_ns()
        for each in range(stream.row, row):
            stream.sent[each] = at
        self.counts.tokens += row - stream.row
        stream.row = row
        if ends:
            self._finish(stream, data)
            return
        stream.send(data)
        if self.holding:
            self._held.append(stream)
        else:
            stream.usual = stream.stop
            if stream.fd >= 0 and stream.transport.get_write_buffer_size():
                stream.fd = -1  # nothing may overtake what the socket did not take
            self._wheel.at(stream.base_ns + offset[row], stream)

    def _write(self, stream: Stream, writes: Iterator[Write], now: int) -> None:
        """`_fire` for an answer that was put together: the writes that are due, each by itself."""
        while (write := stream.upcoming) is not None and not stream.transport.is_closing():
            at = now_ns()
            for row in range(stream.row, stream.row + write.tokens):
                stream.sent[row] = at
            self.counts.tokens += write.tokens
            stream.row += write.tokens
            if write.then is not Then.MORE:
                self._finish(stream, write.data, write.then)
                return
            stream.send(write.data)
            stream.upcoming = next(writes)
            if self.holding and write.tokens:
                self._held.append(stream)
                return
            due_ns = stream.base_ns + stream.upcoming.due_ns
            if due_ns > now:
                self._wheel.at(due_ns, stream)
                return
        self.abandon(stream)

    def _finish(self, stream: Stream, data: bytes, then: Then = Then.END) -> None:
        """Write the end of a stream, and close its connection as that wants it."""
        stream.send(data)
        stream.over = True
        stream.usual = 0
        self.counts.in_flight -= 1
        if then is Then.RESET:
            reset(stream.transport)
        elif then is Then.CLOSE or not stream.keep:
            stream.transport.close()

    def abandon(self, stream: Stream) -> None:
        """The caller's connection is gone."""
        if not stream.over:
            stream.over = True
            stream.usual = 0
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

    def stats(self) -> dict[str, object]:
        """What `/sim/stats` answers: counts, this process' CPU seconds, its own lateness in ms."""
        counts = self.counts
        return {
            "requests": counts.requests,
            "in_flight": counts.in_flight,
            "peak_in_flight": counts.peak_in_flight,
            "tokens": counts.tokens,
            "abandoned": counts.abandoned,
            "unmarked": counts.unmarked,
            "faults": dict(counts.faults),
            "cpu_s": time.process_time(),
            "lateness_ms": lateness_ms(self._first, self._offset, self._seen, self._sent),
        }

    def close(self) -> None:
        """Stop sending."""
        self._wheel.close()
