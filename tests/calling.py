"""One or more calls of a client against an address, through the real job and receiver."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs_fakes import small_schedule, tables
from streamlanes.backends import Waits
from streamlanes.backends.base import drive
from streamlanes.cell import load
from streamlanes.clients import CLIENTS
from streamlanes.clients.base import Setting
from streamlanes.jobs.io import IoJob
from streamlanes.samples import Outcome

FORMS = [(name, waits) for name, info in CLIENTS.items() if info.chooses for waits in info.forms]
"""Every form of every library over HTTP/1.1, with a pool of the cell's size."""


@dataclass(frozen=True)
class Ended:
    """What became of a call. stamped: the columns that have a stamp. first_token, first_visible: when its
    first token was received, and its first one of text. unmarked: ok, and nobody said its dialect's mark."""

    outcome: Outcome
    tokens: int
    usage: int
    stamped: frozenset[str]
    first_token: int
    first_visible: int
    unmarked: bool


class Calling:
    """A client that is opened for a few calls."""

    def __init__(
        self,
        client: str,
        waits: Waits,
        address: tuple[str, int],
        *,
        calls: int = 1,
        tokens: float = 3.0,
        tls_ca: str | None = None,
        keep_alive: bool | None = None,
    ) -> None:
        self.waits = waits
        self._timetable, self._samples = tables(small_schedule(calls, tokens=tokens))
        setting = Setting(
            self._timetable, (address,), False, tls_ca=tls_ca, calls=calls, keep_alive=keep_alive,
            api=CLIENTS[client].dialect or "openai",
        )  # fmt: skip
        self.client: Any = load(CLIENTS[client].forms[waits])(setting)
        self.job = IoJob(setting, self._samples, self.client)
        self._calls = calls

    def run(self, between: Callable[[], None] = lambda: None) -> list[Ended]:
        """Open, call one after the other, close. between: done before it closes."""
        if self.waits is Waits.ASYNC:
            asyncio.run(self._arun(between))
        else:
            drive(self.job.open())
            for call in range(self._calls):
                drive(self.job(call))
            between()
            drive(self.job.close())
        return self.ended()

    async def _arun(self, between: Callable[[], None]) -> None:
        await self.job.open()
        for call in range(self._calls):
            await self.job(call)
        await asyncio.to_thread(between)
        await self.job.close()

    def cancelled(self, when: Callable[[], Awaitable[None]], then: Callable[[], None]) -> list[Ended]:
        """Open, start the first call, cancel it; `then` is done before the client closes."""

        async def main() -> None:
            await self.job.open()
            task = asyncio.create_task(self.job(0))
            await when()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            await asyncio.to_thread(then)
            await self.job.close()

        asyncio.run(main())
        return self.ended()

    def tokens_so_far(self) -> int:
        return sum(1 for stamp in self._samples["received"] if stamp)

    def ended(self) -> list[Ended]:
        """Every call's end; the tables are given back."""
        made = [
            Ended(
                outcome=Outcome(self._samples["outcome"][call]),
                tokens=self._samples["count"][call],
                usage=self._samples["usage"][call],
                stamped=frozenset(
                    name for name in ("connected", "sent", "first_event") if self._samples[name][call]
                ),
                first_token=self._samples["received"][self._timetable["first"][call]],
                first_visible=self._samples["first_visible"][call],
                unmarked=bool(self._samples["no_sentinel"][call]),
            )
            for call in range(self._calls)
        ]
        del self.job, self.client
        self._timetable.close()
        self._samples.close()
        gc.collect()  # what was not closed says so now, not in another test
        return made


def names(forms: Sequence[tuple[str, Waits]]) -> list[str]:
    return [f"{client}-{waits}" for client, waits in forms]
