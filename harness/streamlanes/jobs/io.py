"""The job of the I/O lane: one streaming call, every token stamped."""

from streamlanes.clients.base import Client, now_ns
from streamlanes.jobs.base import Job
from streamlanes.samples import Outcome, Table
from streamlanes.wire.openai import ChatFold, ProtocolError, request_body
from streamlanes.wire.sse import EventDecoder, EventTooLong


class Receiver:
    """One call's token accounting; every client hands it what arrives. No I/O.

    `feed` takes body bytes, `tokens` takes what a library has decoded already. Tokens beyond the
    schedule are counted and not stamped.
    """

    __slots__ = ("_events", "_fold", "_limit", "_received", "_row", "_samples", "call", "count", "ended")

    def __init__(self, call: int, schedule: Table, samples: Table) -> None:
        self.call = call
        self.count = 0
        self.ended = False
        self._samples = samples
        self._received = samples["received"]
        first = schedule["first"]
        self._row = first[call]  # where the next token's stamp goes
        self._limit = first[call + 1]
        self._events = EventDecoder()
        self._fold = ChatFold()

    @property
    def request(self) -> bytes:
        """The body of the request; the prompt names the call, so that every client carries the index."""
        return request_body(f"[call {self.call}] Say something.")

    def stamp(self, column: str, now_ns: int) -> None:
        """Note an event of the call itself: "connected" or "sent"."""
        self._samples[column][self.call] = now_ns

    def feed(self, body: bytes, now_ns: int) -> bool:
        """Take body bytes received at now_ns; True once the stream has said that it is over.

        Raises ProtocolError or EventTooLong for bytes that are no such stream.
        """
        fold = self._fold
        for data in self._events.feed(body):
            if fold.add(data):
                self.count += 1
                row = self._row
                if row < self._limit:
                    self._received[row] = now_ns
                    self._row = row + 1
        return fold.done

    def tokens(self, count: int, now_ns: int) -> None:
        """Take `count` tokens received at now_ns."""
        for _ in range(count):
            if self._row < self._limit:
                self._received[self._row] = now_ns
                self._row += 1
        self.count += count

    def closed(self, now_ns: int, *, reset: bool = False) -> None:
        """The stream's bytes are over: ok if it said so before, else how it was cut."""
        if self._fold.error is not None:
            how = Outcome.PROVIDER_ERROR
        elif self._fold.ended:
            how = Outcome.OK
        else:
            how = Outcome.RESET if reset else Outcome.TRUNCATED
        self.end(how, now_ns)

    def end(self, how: Outcome, now_ns: int) -> None:
        """The call is over; the first end counts."""
        if self.ended:
            return
        self.ended = True
        self._samples["count"][self.call] = self.count
        self._samples["end"][self.call] = now_ns
        self._samples["outcome"][self.call] = how


class IoJob(Job):
    """Runs one call; called with its index. Pickled, it opens its tables again in the other process."""

    def __init__(self, schedule: Table, samples: Table, client: Client) -> None:
        self._schedule = schedule
        self._samples = samples
        self._client = client

    async def __call__(self, call: int) -> None:
        """Run the call to its end; whatever goes wrong becomes its outcome."""
        self._samples["begin"][call] = now_ns()
        into = Receiver(call, self._schedule, self._samples)
        try:
            await self._client.stream(into)
        except (ProtocolError, EventTooLong):
            into.end(Outcome.PROTOCOL_ERROR, now_ns())
        except Exception:
            into.end(Outcome.JOB_ERROR, now_ns())
        except BaseException:  # cancelled or torn down: the call is accounted for all the same
            into.end(Outcome.CANCELLED, now_ns())
            raise
        into.end(Outcome.JOB_ERROR, now_ns())  # for a client that returned without an end
