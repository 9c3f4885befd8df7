"""The loop that the harness is compared with: the same client, reads and decoding, and no measuring.

Tokens are counted, not stamped. What is left is done once a call: its begin, sent and end, without
which the cell could not be accounted for. The client reads the clock once a read under both jobs.
"""

from streamlanes.clients.base import Client, Setting, now_ns
from streamlanes.jobs.base import Job
from streamlanes.jobs.io import Receiver
from streamlanes.samples import Table
from streamlanes.wire import dialect


class BareReceiver(Receiver):
    """A receiver that stamps no token."""

    __slots__ = ()

    def feed(self, body: bytes, now_ns: int) -> bool:
        """Count the tokens of `body`; True once the stream has said that it is over."""
        fold = self._fold
        for event in self._events.feed(body):
            if fold.add(event):
                self.count += 1
        return fold.over


class BareJob(Job):
    """Runs one call. It catches nothing: a call that goes wrong ends the cell."""

    def __init__(self, setting: Setting, samples: Table, client: Client) -> None:
        self._setting = setting
        self._samples = samples
        self._client = client
        self._dialect = dialect(setting.api)

    async def __call__(self, call: int) -> None:
        """Run the call to its end."""
        self._samples["begin"][call] = now_ns()
        await self._client.stream(BareReceiver(call, self._setting, self._samples, self._dialect))
