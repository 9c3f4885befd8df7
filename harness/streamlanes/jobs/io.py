"""The job of the I/O lane: one streaming call, every token stamped."""

from streamlanes.clients.base import Client, Setting, Sharing, now_ns
from streamlanes.jobs.base import Job
from streamlanes.samples import Outcome, Table
from streamlanes.wire import dialect
from streamlanes.wire.base import Brought, Dialect, ProtocolError
from streamlanes.wire.sse import EventTooLong

TEXT = Brought.TEXT


class Receiver:
    """One call's token accounting; every client hands it what arrives. No I/O.

    `feed` takes body bytes. A library that decodes by itself says `event`, `tokens`, `used`, `finished`
    and `failed` instead. A chunk that brings text or reasoning is a token, or the setting's
    `tokens_per_chunk` of them (a call's last chunk: the rest). Tokens beyond the schedule are counted
    and not stamped.
    """

    __slots__ = (
        "_bundle", "_dialect", "_events", "_fold", "_limit", "_opened", "_quick", "_received", "_row",
        "_samples", "_seen", "call", "count", "ended"
    )  # fmt: skip

    def __init__(self, call: int, setting: Setting, samples: Table, speaks: Dialect) -> None:
        self.call = call
        self.count = 0
        self.ended = False
        self._samples = samples
        self._received = samples["received"]
        first = setting.schedule["first"]
        self._row = first[call]  # where the next token's stamp goes
        self._limit = first[call + 1]
        self._bundle = setting.tokens_per_chunk
        self._dialect = speaks
        self._events = speaks.decoder()
        self._fold = speaks.fold()
        self._opened = False  # the first event has been stamped
        self._seen = False  # the first visible token has been stamped
        self._quick = False  # nothing is left to stamp but one token a chunk

    @property
    def prompt(self) -> str:
        """What is asked; it names the call, so that every client carries the index."""
        return f"[call {self.call}] Say something."

    @property
    def path(self) -> str:
        """Where the request goes."""
        return self._dialect.path

    @property
    def request(self) -> bytes:
        """The body of the request, with the prompt in it."""
        return self._dialect.request(self.prompt)

    def stamp(self, column: str, now_ns: int) -> None:
        """Note an event of the call itself: "connected" or "sent"."""
        self._samples[column][self.call] = now_ns

    def feed(self, body: bytes, now_ns: int) -> bool:
        """Take body bytes received at now_ns; True once the stream has said that it is over.

        Raises ProtocolError or EventTooLong for bytes that are no such stream.
        """
        fold = self._fold
        if not self._quick:
            for event in self._events.feed(body):
                self.event(now_ns)
                if brought := fold.add(event):
                    self.tokens(1, now_ns, visible=brought is TEXT)
            return fold.over
        for event in self._events.feed(body):
            if fold.add(event):
                self.count += 1
                row = self._row
                if row < self._limit:
                    self._received[row] = now_ns
                    self._row = row + 1
        return fold.over

    def event(self, now_ns: int) -> None:
        """Take an event of any kind, a token's too."""
        if not self._opened:
            self._opened = True
            self._samples["first_event"][self.call] = now_ns

    def tokens(self, count: int, now_ns: int, *, visible: bool = True) -> None:
        """Take `count` chunks received at now_ns that brought text, or (not visible) reasoning."""
        if self._quick and count == 1:
            self.count += 1
            row = self._row
            if row < self._limit:
                self._received[row] = now_ns
                self._row = row + 1
            return
        self.event(now_ns)
        if visible and not self._seen:
            self._seen = True
            self._quick = self._bundle == 1
            self._samples["first_visible"][self.call] = now_ns
        for _ in range(count):
            stop = min(self._row + self._bundle, self._limit)
            self.count += (stop - self._row) or self._bundle
            while self._row < stop:
                self._received[self._row] = now_ns
                self._row += 1

    def used(self, output_tokens: int | None) -> None:
        """Take the provider's own count of output tokens; the last one counts, None is none."""
        self._fold.use(output_tokens)

    def finished(self, *, marked: bool = True) -> None:
        """The model's own end was seen: the dialect's mark of it or, not marked, a finish reason alone."""
        if marked:
            self._fold.finish()
        else:
            self._fold.finish_reason = "said by the library"

    def failed(self) -> None:
        """An error object came in mid-stream."""
        self._fold.fail("said by the library")

    def closed(self, now_ns: int, *, reset: bool = False) -> None:
        """The stream's bytes are over: ok if it said so before, else how it was cut."""
        fold = self._fold
        if fold.error is not None:
            how = Outcome.PROVIDER_ERROR
        elif fold.ended:
            how = Outcome.OK
            if not self.ended and not fold.done:
                self._samples["no_sentinel"][self.call] = 1
        else:
            how = Outcome.RESET if reset else Outcome.TRUNCATED
        self.end(how, now_ns)

    def end(self, how: Outcome, now_ns: int) -> None:
        """The call is over; the first end counts."""
        if self.ended:
            return
        self.ended = True
        self._samples["count"][self.call] = self.count
        told = self._fold.usage_tokens
        self._samples["usage"][self.call] = -1 if told is None else told
        self._samples["end"][self.call] = now_ns
        self._samples["outcome"][self.call] = how


class IoJob(Job):
    """Runs one call; called with its index. Pickled, it opens its tables again in the other process."""

    def __init__(self, setting: Setting, samples: Table, client: Client) -> None:
        self._setting = setting
        self._samples = samples
        self._client = client
        self._dialect = dialect(setting.api)

    async def open(self) -> None:
        """What the calls share is made in this process."""
        if isinstance(self._client, Sharing):
            await self._client.open()

    async def close(self) -> None:
        """It is let go."""
        if isinstance(self._client, Sharing):
            await self._client.close()

    async def __call__(self, call: int) -> None:
        """Run the call to its end; whatever goes wrong becomes its outcome."""
        self._samples["begin"][call] = now_ns()
        into = Receiver(call, self._setting, self._samples, self._dialect)
        try:
            await self._client.stream(into)
        except (ProtocolError, EventTooLong):
            into.end(Outcome.PROTOCOL_ERROR, now_ns())
        except (Exception, SystemExit) as error:  # people's own code may exit: that is no end of the cell
            into.end(Outcome.JOB_ERROR, now_ns())
            if self._setting.mishaps is not None:
                self._setting.mishaps.error(error)
        except BaseException:  # cancelled or torn down: the call is accounted for all the same
            into.end(Outcome.CANCELLED, now_ns())
            raise
        into.end(Outcome.JOB_ERROR, now_ns())  # for a client that returned without an end
