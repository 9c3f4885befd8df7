"""The job of the mixed lane: a streaming call, then the post-processing of its text."""

from typing import Any

from streamlanes.clients.base import Client, Setting
from streamlanes.jobs.io import IoJob
from streamlanes.jobs.post import PostJob
from streamlanes.samples import Table


class MixedJob(PostJob):
    """Runs one call and hands its text over. The call's own outcome is the stream's; what became of its
    text stands in columns of its own.

    The text is made beforehand, as many words as the call has tokens: a receiver keeps none.
    """

    def __init__(self, setting: Setting, samples: Table, client: Client, **asked: Any) -> None:
        super().__init__(setting.schedule, samples, asked)
        self._stream = IoJob(setting, samples, client)

    async def open(self) -> None:
        """What the streams share is made in this process."""
        await self._stream.open()

    async def __call__(self, call: int) -> None:
        """The call to its end, then its text."""
        await self._stream(call)
        await self._post(call)

    async def close(self) -> None:
        """It is let go."""
        await self._stream.close()
