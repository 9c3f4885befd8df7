"""A person approves: an execution waits for days or a moment, and holds nothing meanwhile."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.errors import Parked
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point, watch
from streamlanes.durable.posting import Caller
from streamlanes.durable.receiver import Receiver
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint

COMMAND = [sys.executable, "-c", "from streamlanes.cli import main; main()", "durable"]


class Died(BaseException):
    """A worker's death."""


@dataclass(frozen=True)
class Scene:
    """A store, and a receiver of payments."""

    store: str
    url: str
    caller: Caller

    def life(self, name: str, reapprove: bool, dies_at: Point | None = None) -> str:
        """One life of a worker, with a store of its own opening; how it ended."""

        def pay(key: str, payload: object) -> Answer:
            return Answer(self.caller.post(f"{self.url}/guarded", {"ref": name}, key))

        async def agent(state: object, step: Step) -> object:
            proposal = {"pay": name, "usd": 100}
            said = await step.propose(Effect("pay", pay), proposal, reapprove_on_resume=reapprove)
            return Last({"paid": said.approved})

        def die(point: Point) -> None:
            if point is dies_at:
                raise Died

        with closing(open_database(self.store)) as database, closing(Worker(database)) as worker:
            watch(die)
            try:
                run_with_checkpoint(agent, name, worker)
            except (Parked, Died) as end:
                return type(end).__name__.lower()
            finally:
                watch(None)
            return "done"

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command of `streamlanes durable` on the store."""
        return subprocess.run(
            [*COMMAND, *words, "--db", self.store], capture_output=True, text=True, check=False
        )

    def holding(self, name: str) -> tuple[int, list[str], int]:
        """Leases that anybody holds, requests that are pending, and how often a person was asked of one."""
        with closing(open_database(self.store)) as database, closing(Worker(database)) as worker:
            pending = [each.id for each in worker.people.pending()]
            return worker.leases.standing(), pending, len(worker.people.of(name))


def act(stage: Stage) -> Sequence[Figure]:
    """An approval by command, between two workers that know nothing of each other; and the same under the
    policy that a worker which resumes asks again, with a worker that dies in between."""
    receiver = Receiver()
    try:
        with closing(Caller()) as caller:
            scene = Scene(str(stage.folder / "store.db"), receiver.url, caller)
            return [*_approved(scene, receiver), *_asked_again(scene, receiver)]
    finally:
        receiver.close()


def _approved(scene: Scene, receiver: Receiver) -> list[Figure]:
    name = "order-1"
    first = scene.life(name, reapprove=False)
    held, pending, _ = scene.holding(name)
    before = receiver.ledger("guarded")[name]
    approved = scene.command("approve", *pending[:1], "--by", "demo")
    again = scene.command("approve", *pending[:1], "--by", "demo")
    killed = scene.life(name, reapprove=False, dies_at=Point.AFTER_DECISION)
    last = scene.life(name, reapprove=False)
    _, _, asked = scene.holding(name)
    return [
        Figure("a worker comes to the proposal", "parked", first),
        Figure("leases held while a person is asked", 0, held),
        Figure("payments before the approval", 0, before),
        Figure("exit code of approve", 0, approved.returncode),
        Figure("exit code of approving it once more", 2, again.returncode),
        Figure("a worker dies with the approval in hand", "died", killed),
        Figure("the next worker", "done", last),
        Figure("times a person was asked", 1, asked),
        Figure("payments", 1, receiver.ledger("guarded")[name]),
    ]


def _asked_again(scene: Scene, receiver: Receiver) -> list[Figure]:
    name = "order-2"
    ends = [scene.life(name, reapprove=True)]
    for dies_at in (Point.AFTER_DECISION, None):
        _, pending, _ = scene.holding(name)
        scene.command("approve", *pending[:1], "--by", "demo")
        ends.append(scene.life(name, True, dies_at))
        if dies_at is not None:
            ends.append(scene.life(name, reapprove=True))
    _, _, asked = scene.holding(name)
    return [
        Figure("the same, where policy asks again", "parked, died, parked, done", ", ".join(ends)),
        Figure("times a person was asked then", 2, asked),
        Figure("payments then", 1, receiver.ledger("guarded")[name]),
    ]
