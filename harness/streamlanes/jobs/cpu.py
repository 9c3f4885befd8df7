"""The job of the CPU lane: one document, which is there from the start."""

from typing import Any

from streamlanes.clients.base import Client, Setting, now_ns
from streamlanes.jobs.post import PostJob
from streamlanes.samples import Outcome, Table


class CpuJob(PostJob):
    """Processes one document; called with its index."""

    def __init__(self, setting: Setting, samples: Table, client: Client, **asked: Any) -> None:
        super().__init__(setting.schedule, samples, asked)
        self._samples = samples
        self._mishaps = setting.mishaps

    async def __call__(self, call: int) -> None:
        """Hand the document over and wait for its vector."""
        samples = self._samples
        samples["begin"][call] = now_ns()
        how = Outcome.JOB_ERROR
        try:
            if await self._post(call):
                how = Outcome.OK
        except Exception as error:
            how = Outcome.JOB_ERROR
            if self._mishaps is not None:
                self._mishaps.error(error)
        except BaseException:  # cancelled or torn down: the document is accounted for all the same
            how = Outcome.CANCELLED
            raise
        finally:
            samples["end"][call] = now_ns()
            samples["outcome"][call] = how
