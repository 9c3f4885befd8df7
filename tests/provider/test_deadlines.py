"""Who owes a request: told once, when its own time is over."""

from streamlanes.provider.deadlines import Deadlines


class Loop:
    """A loop with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self._calls: list[tuple[float, object]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when, callback):
        handle = Handle()
        self._calls.append((when, callback, handle))
        return handle

    def until(self, now: float) -> int:
        """Move the clock; returns how often somebody was called."""
        called = 0
        while due := sorted((c for c in self._calls if c[0] <= now and not c[2].over), key=lambda c: c[0]):
            when, callback, handle = due[0]
            handle.over = True
            self.now = when
            callback()
            called += 1
        self.now = now
        return called


class Handle:
    over = False

    def cancel(self) -> None:
        self.over = True


class Caller:
    def __init__(self) -> None:
        self.told = 0

    def too_late(self) -> None:
        self.told += 1


def test_each_is_told_once_when_its_time_is_over():
    loop, callers = Loop(), [Caller() for _ in range(3)]
    deadlines = Deadlines(loop, limit_s=8)
    for at, caller in enumerate(callers):
        loop.until(at)
        deadlines.begin(caller)
        deadlines.begin(caller)
    loop.until(6)
    deadlines.paid(callers[1])
    assert [caller.told for caller in callers] == [0, 0, 0]
    loop.until(8)
    assert [caller.told for caller in callers] == [1, 0, 0]
    loop.until(100)
    assert [caller.told for caller in callers] == [1, 0, 1]


def test_nobody_is_looked_for_when_nobody_owes():
    loop, caller = Loop(), Caller()
    deadlines = Deadlines(loop, limit_s=8)
    deadlines.begin(caller)
    deadlines.paid(caller)
    assert loop.until(100) == 1
    assert loop.until(1000) == 0
    deadlines.begin(caller)
    deadlines.close()
    assert loop.until(2000) == 0
    assert caller.told == 0


def test_many_debts_are_looked_at_in_few_turns():
    loop, callers = Loop(), [Caller() for _ in range(1000)]
    deadlines = Deadlines(loop, limit_s=8)
    for k, caller in enumerate(callers):
        loop.until(k / 100)
        deadlines.begin(caller)
    assert loop.until(30) <= 12
    assert {caller.told for caller in callers} == {1}
