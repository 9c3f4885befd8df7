"""The loop that wakes agents: as many at once as it has places, in an event loop.

Only an agent that is awake has a task. While nobody is, the loop waits for one event and one timer,
for any number of agents: the event is a wake-up that ended here and may have made mail, the timer is
for mail that other processes dispatch, and for leases of workers that died.
"""

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.agents.rules import BadReply
from streamlanes.durable.agents.values import Handler, Stage, Wake
from streamlanes.durable.bell import Bell
from streamlanes.durable.errors import CapReached, LeaseLost, StateError
from streamlanes.durable.fence import lost
from streamlanes.durable.heart import Heart
from streamlanes.durable.leases import LEASE_S
from streamlanes.durable.looping import Looping
from streamlanes.durable.people import Interrupted
from streamlanes.durable.points import Point, reach
from streamlanes.durable.tracing import SpanKind, noted

ASKS = 3
"""How often an agent is asked for a reply that may be dispatched, before it is parked."""
PLACES = 64
POLL_S = 0.25
WAKE_UP, REPLY = "wake-up", "reply"
"""What spans are named."""


@dataclass(slots=True)
class Worked:
    """What a worker did.

    wakes: wake-ups that ended with their dispatch. refused: replies that must not be dispatched.
    parked: agents that wait for a person now. lost: wake-ups that went to another worker.
    awake: most tasks at once.
    """

    wakes: int = 0
    refused: int = 0
    parked: int = 0
    lost: int = 0
    awake: int = 0


class AgentWorker:
    """Wakes the agents of one queue.

    handler: the agent, called once a wake-up with its whole batch; what it raises parks the agent.
    places: most agents awake at once. poll_s: how soon mail of other processes is seen at the latest.
    dispatched: told of each wake-up whose dispatch is durable.
    """

    def __init__(
        self,
        queue: AgentQueue,
        handler: Handler,
        *,
        owner: str | None = None,
        places: int = PLACES,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        dispatched: Callable[[Wake], None] = lambda wake: None,
    ) -> None:
        self.owner = owner or f"{os.getpid()}-{secrets.token_hex(2)}"
        self.worked = Worked()
        self._queue = queue
        self._handler = handler
        self._places = places
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._dispatched = dispatched
        self._trace = queue.trace
        self._bell = Bell()

    async def run(self, *, until_quiet: bool = True) -> Worked:
        """Wake agents until no agent of the queue has anything to do, here or at another worker; without
        `until_quiet` until it is cancelled. Raises what the store raises; wake-ups under way lapse then.

        Raises CapReached where only agents are left that a cap keeps from being woken; without
        `until_quiet` it waits for the cap to be raised.
        """
        waits, heart = Looping(), Heart(self._queue, self._lease_s)
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                self._bell.silence()
                free = self._places - len(tasks)
                taken = await waits.result(self._queue.take(self.owner, free, self._lease_s)) if free else []
                for wake in taken:
                    heart.hold(wake.lease)
                    task = asyncio.create_task(self._one(wake, waits, heart))
                    task.add_done_callback(lambda _: self._bell.ring())
                    tasks.add(task)
                self.worked.awake = max(self.worked.awake, len(tasks))
                if not tasks and until_quiet and self._queue.busy() == (held := self._queue.held_back()):
                    if held:
                        raise _capped(held)
                    return self.worked
                await self._bell.wait(self._poll_s)
                for task in [one for one in tasks if one.done()]:
                    tasks.discard(task)
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            heart.close()

    def look(self) -> None:
        """Look for mail now; in the event loop."""
        self._bell.ring()

    async def _one(self, wake: Wake, waits: Looping, heart: Heart) -> None:
        """One wake-up, from its batch to its dispatch."""
        try:
            with noted(self._trace, wake.lease, SpanKind.CLAIM, self.owner):
                pass  # of no length: a worker that dies could not note the end
            with noted(self._trace, wake.lease, SpanKind.STEP, WAKE_UP, step=wake.number):
                if wake.stage is Stage.PROCESSING:
                    await self._answer_or_park(wake, waits)
                await waits.result(self._queue.dispatch(wake))
                reach(Point.AFTER_DISPATCH)
            self.worked.wakes += 1
            self._dispatched(wake)
        except Interrupted:
            self.worked.parked += 1
        except LeaseLost:
            self.worked.lost += 1
        finally:
            heart.drop(wake.lease)

    async def _answer_or_park(self, wake: Wake, waits: Looping) -> None:
        """Have a reply that is kept. Raises Interrupted where there is none and the agent waits for a
        person now."""
        fault = await self._answer(wake, waits)
        if fault is None:
            return
        if not await waits.result(self._queue.park(wake, fault)):
            raise lost(wake.lease)
        raise Interrupted(fault)

    async def _answer(self, wake: Wake, waits: Looping) -> str | None:
        """Have a reply that is kept; or why there is none."""
        faults: tuple[str, ...] = ()
        for asked in range(1, ASKS + 1):
            try:
                key = wake.reply_key
                with noted(self._trace, wake.lease, SpanKind.ATTEMPT, REPLY, key=key, attempt=asked):
                    reply = await self._handler(wake, faults)
                    reach(Point.BEFORE_ANSWER)
                    await waits.result(self._queue.answer(wake, reply, asked))
                reach(Point.AFTER_ANSWER)
                return None
            except BadReply as error:
                faults = error.faults
                self.worked.refused += 1
            except StateError as error:
                faults = (error.what,)
                self.worked.refused += 1
            except LeaseLost:
                raise
            except Exception as error:  # of the agent's: a bug there must not end the others' work
                return f"{type(error).__name__}: {error}"
        return f"asked {ASKS} times: {'; '.join(faults)}"


def _capped(agents: int) -> CapReached:
    what = f"{agents} agents have mail and a cap on what may be spent keeps them from it"
    return CapReached(None, what, "raise it with `streamlanes durable cap` to go on")
