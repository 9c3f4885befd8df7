"""A claim-table queue with a state store: a job a step, consumers that know nothing of each other."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict

from streamlanes.architectures.claims import Claims, Delivery
from streamlanes.architectures.endings import Endings
from streamlanes.durable.architecture import Grounds, Steps
from streamlanes.durable.bell import Bell
from streamlanes.durable.state import encode
from streamlanes.durable.waits import Waits

VISIBLE_S = 30.0
"""How long a job is kept from others, unless its consumer lives to renew that."""
POLL_S = 0.1
"""How soon a job is seen that another process put there, or whose consumer died."""
LOOKS = 3
"""At what is worked on, in the time that a claim lasts: the first that finds a job may come two thirds in."""


class Queue:
    """One process of consumers, as many at once as there are executions."""

    def __init__(self, grounds: Grounds, visible_s: float = VISIBLE_S, poll_s: float = POLL_S) -> None:
        self._grounds = grounds
        self._visible_s = visible_s
        self._poll_s = poll_s
        self._redelivered = 0
        self._dropped = 0

    def open(self) -> None:
        """Open the database and make the tables."""
        self._database = self._grounds.open_database()
        self.durability = self._database.durability
        self._claims = Claims(self._database)
        self._claims.lay().result()

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Start who claims."""
        self._steps, self._waits = steps, waits
        self._endings = Endings()
        self._bell = Bell()
        self._consumers: dict[asyncio.Task[None], Delivery] = {}
        self._beside = [asyncio.create_task(each) for each in (self._claim(), self._renew())]
        for task in self._beside:
            self._endings.watch(task)

    async def run(self, execution: int) -> None:
        """Put the first job there and wait until the last one is consumed."""
        ended = self._endings.expect(execution)
        await self._waits.result(self._claims.put(execution))
        self._bell.ring()
        await ended

    def left(self) -> Mapping[int, int]:
        """Jobs consumed, by execution."""
        return self._claims.consumed()

    def facts(self) -> Mapping[str, int | float]:
        """The database's counts, deliveries beyond a job's first, and those that came second."""
        return {
            **asdict(self._database.counts),
            "redelivered": self._redelivered,
            "dropped": self._dropped,
        }

    async def stop(self) -> None:
        """End the consumers; what they have comes again when their claims lapse."""
        going = [*self._beside, *self._consumers]
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    async def _claim(self) -> None:
        """A consumer for each job that is claimed, while there are places."""
        while True:
            self._bell.silence()
            free = self._grounds.executions - len(self._consumers)
            if free:
                for delivery in await self._waits.result(self._claims.claim(free, self._visible_s)):
                    self._redelivered += delivery.times > 1
                    task = asyncio.create_task(self._consume(delivery))
                    self._consumers[task] = delivery
                    task.add_done_callback(self._over)
            await self._bell.wait(self._poll_s)

    async def _renew(self) -> None:
        """Keep jobs from others whose steps take long: those that were there a look ago. The others, most of
        all, cost nothing by it."""
        before: set[Delivery] = set()
        while True:
            await asyncio.sleep(self._visible_s / LOOKS)
            now = set(self._consumers.values())
            if long := now & before:
                await self._waits.result(self._claims.renew(long, self._visible_s))
            before = now

    async def _consume(self, delivery: Delivery) -> None:
        """Do a step, keep it, and have the next one there."""
        execution, step = delivery.execution, delivery.step
        try:
            made = await self._steps.work(execution, step)
            state = encode(f"e{execution}", made.state)
            if not await self._waits.result(self._claims.consume(delivery, state, last=made.last)):
                self._dropped += 1
                return
            self._steps.kept(execution, step)
            if made.last:
                self._endings.over(execution)
        except Exception as error:
            self._endings.over(execution, error)

    def _over(self, task: "asyncio.Task[None]") -> None:
        """Its place is free, and the next job may be there."""
        del self._consumers[task]
        self._bell.ring()
