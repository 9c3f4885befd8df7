"""What can go wrong, one line each: which execution, what happened, what to do."""

from typing import Self


class DurableError(Exception):
    """A failure that its reader can act on; nothing that was acknowledged is lost by it.

    execution: the thread_id it is about; None where it is about the store as a whole.
    what: what happened, without the rest of the line.
    """

    kind = "execution"
    whole = "the store"

    def __init__(self, execution: str | None, what: str, remedy: str) -> None:
        subject = self.whole if execution is None else f"{self.kind} {execution}"
        super().__init__(f"{subject}: {' '.join(what.split())}; {remedy}")
        self.execution = execution
        self.what = what
        self._parts = (what, remedy)

    def about(self, execution: str | None) -> Self:
        """The same failure, as one execution meets it."""
        return type(self)(execution, *self._parts)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.execution, *self._parts))


class StateError(DurableError):
    """A state that cannot be kept, or cannot be read back."""


class LeaseHeld(DurableError):
    """Somebody else works on the execution."""


class LeaseLost(DurableError):
    """The lease lapsed or went to another worker: the write changed 0 rows."""


class StepTaken(DurableError):
    """The step has a checkpoint already, another one."""


class NewerVersion(DurableError):
    """Written by a newer version than reads it."""


class NoStore(DurableError):
    """No tables of ours are where a store was named."""


class Corrupt(DurableError):
    """The database cannot be what was written."""


class Full(DurableError):
    """No room to write."""


class Unreachable(DurableError):
    """The database does not answer, or another process keeps it."""


class Forked(DurableError):
    """A store was taken across a fork."""


class Closed(DurableError):
    """The store was closed before the request was carried out."""


class InDoubt(DurableError):
    """An effect may or may not have happened, and nobody can be asked."""


class Diverged(DurableError):
    """Code asks for something else than its log, or its step's effects, hold at that place."""


class WorkflowChanged(DurableError):
    """The log was begun by another workflow, another version of it, or with another input."""


class LogCut(DurableError):
    """Events of a log are missing or cannot be read."""


class Misplaced(DurableError):
    """An activity or a reading was asked for where no workflow is carried out."""


class ActivityFailed(Exception):
    """What a workflow gets of an activity whose attempts are used up: the same at first and in replay.

    error: the class that the last attempt raised, by name. says: its text, shortened.
    """

    def __init__(self, name: str, error: str, says: str, attempts: int) -> None:
        super().__init__(f"activity {name} failed {attempts} times, at last with {error}: {says}")
        self.name, self.error, self.says, self.attempts = name, error, says, attempts

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.name, self.error, self.says, self.attempts))


class Parked(DurableError):
    """The execution waits for a person; nobody works on it, and nothing is wrong."""


class NoRequest(DurableError):
    """Nobody asked that."""


class AlreadyDecided(DurableError):
    """A person decided it before."""


class ProposalChanged(DurableError):
    """A step that is repeated proposes something else than a person decided on."""


class CapReached(DurableError):
    """As much was spent as may be."""


class OtherVersion(DurableError):
    """The execution stays on a runtime version that this worker does not have."""
