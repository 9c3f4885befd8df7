"""What workflows do to the world, and their logs."""

from dataclasses import dataclass, field

from durable_rows import LONG_S
from streamlanes.durable.activities import Activity, activity
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.database import Database
from streamlanes.durable.events import Events
from streamlanes.durable.replay import EventLog
from streamlanes.durable.running import Worker

AT_ONCE = Backoff(attempts=3, first_s=0.0, most_s=0.0)


class Died(BaseException):
    """A worker's death, in the place where it would be."""


@dataclass
class World:
    """What activities do to the world: they count, and die or fail where they are told to.

    dies_at: execution, from 1 and over all activities, in which the worker dies.
    """

    dies_at: int = 0
    ran: list[str] = field(default_factory=list)

    def doing(self, name: str, backoff: Backoff = AT_ONCE) -> Activity:
        @activity(name=name, backoff=backoff)
        def do(value: object = None) -> object:
            self.ran.append(name)
            if len(self.ran) == self.dies_at:
                raise Died
            return {"done": name, "value": value}

        return do


def log(database: Database, thread_id: str = "a", **more: object) -> tuple[Worker, EventLog]:
    worker = Worker(database, "w", LONG_S)
    return worker, EventLog(worker, thread_id, **more)


def kinds(database: Database, thread_id: str = "a") -> list[str]:
    return [event.kind.value for event in Events(database).read(thread_id)]
