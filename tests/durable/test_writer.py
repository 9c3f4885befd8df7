"""Group commit: who shares a commit, who is answered when, who fails with whom."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from streamlanes.durable.database import Request, Work, Write
from streamlanes.durable.errors import Closed, Unreachable
from streamlanes.durable.writer import Failed, GroupCommit, when_all_are_answered


def work(answer: object) -> Work[object]:
    return Work("a", lambda _: answer)


class Commits:
    """A database that keeps each group and can be held at the door."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.groups: list[list[object]] = []
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.fails = fails

    def __call__(self, requests: Sequence[Request]) -> Sequence[Any]:
        self.entered.set()
        assert self.gate.wait(30)
        answers = [one.do(None) if isinstance(one, Work) else one.answer(()) for one in requests]
        self.groups.append(answers)
        if self.fails is not None and "bad" in answers:
            raise self.fails
        return [Failed(ValueError(one)) if one == "own" else one for one in answers]


def gathered(commits: Commits, answers: Sequence[object], group: int = 1000) -> "list[Future[object]]":
    """The first request goes alone and is held; all others gather behind it."""
    writer = GroupCommit(commits, group)
    futures = [writer.submit(work("first"))]
    assert commits.entered.wait(30)
    futures += [writer.submit(work(answer)) for answer in answers]
    assert not any(future.done() for future in futures)
    commits.gate.set()
    writer.close()
    return futures


def test_what_waits_shares_one_commit():
    commits = Commits()
    futures = gathered(commits, [1, 2, 3])
    assert [future.result() for future in futures] == ["first", 1, 2, 3]
    assert commits.groups == [["first"], [1, 2, 3]]


def test_a_group_is_bounded_and_in_order():
    commits = Commits()
    gathered(commits, [1, 2, 3, 4, 5], group=2)
    assert commits.groups == [["first"], [1, 2], [3, 4], [5]]


def test_a_burst_that_still_comes_in_is_one_group(monkeypatch: pytest.MonkeyPatch):
    """Each time the writer gives way, as many come as here; it goes on once they are few."""
    commits = Commits()
    coming = iter([[4, 5], [6, 7, 8], [9], []])
    waits: list[float] = []

    def give_way(seconds: float) -> None:
        waits.append(seconds)
        for answer in next(coming):
            writer.submit(work(answer))

    monkeypatch.setattr("streamlanes.durable.writer.time.sleep", give_way)
    writer = GroupCommit(commits)
    writer.submit(work("first"))
    assert commits.entered.wait(30)
    futures = [writer.submit(work(answer)) for answer in (1, 2, 3)]
    commits.gate.set()
    for future in futures:
        future.result(30)
    assert commits.groups == [["first"], [1, 2, 3, 4, 5, 6, 7, 8, 9]]
    assert waits == [0, 0, 0], "nothing was waited for when one came alone, and none after few came"
    writer.close()


def test_one_of_a_group_fails_alone():
    commits = Commits(fails=RuntimeError("the database refuses"))
    futures = gathered(commits, [1, "bad", 2, "own"])
    assert [future.result() for future in (futures[0], futures[1], futures[3])] == ["first", 1, 2]
    with pytest.raises(RuntimeError, match="refuses"):
        futures[2].result()
    with pytest.raises(ValueError, match="own"):
        futures[4].result()
    assert commits.groups[2:] == [[1], ["bad"], [2], ["own"]], "in the order of their coming"


def test_a_database_that_is_away_fails_all_at_once():
    commits = Commits(fails=Unreachable(None, "gone", "wait"))
    futures = gathered(commits, [1, "bad", 2])
    assert all(isinstance(future.exception(), Unreachable) for future in futures[1:])
    assert len(commits.groups) == 2, "each would have waited its whole patience for the same end"


def test_a_request_that_was_given_up_is_not_carried_out():
    commits = Commits()
    writer = GroupCommit(commits)
    writer.submit(work("first"))
    assert commits.entered.wait(30)
    given_up, other = writer.submit(work("given up")), writer.submit(work("other"))
    assert given_up.cancel()
    commits.gate.set()
    assert other.result() == "other"
    writer.close()
    assert commits.groups == [["first"], ["other"]]


def test_a_writer_that_is_ended_leaves_nobody_waiting():
    def ends(_: object) -> None:
        raise SystemExit(1)

    commits = Commits()
    writer = GroupCommit(commits, group=2)
    first = writer.submit(work("first"))
    assert commits.entered.wait(30)
    given_up, *others = [
        writer.submit(each) for each in (work(0), Work("b", ends), work("beside"), work("behind"))
    ]
    assert given_up.cancel()
    commits.gate.set()
    assert first.result(30) == "first"
    for each in others:
        with pytest.raises(
            Closed, match=r"execution \w: its store was ended by SystemExit; open the store again"
        ):
            each.result(30)
    with pytest.raises(Closed):
        writer.submit(work(1))
    writer.close()
    assert commits.groups == [["first"]]


def beat(answer: object) -> Write[object]:
    return Write("a", (), lambda _: answer, urgent=True)


@pytest.mark.parametrize(
    ("group", "groups"),
    [
        (1, [["first"], ["b0", "b1", "b2"], [0], [1], [2]]),
        (2, [["first"], ["b0", "b1", "b2"], [0, 1], [2]]),
        (1000, [["first"], ["b0", "b1", "b2", 0, 1, 2]]),
    ],
)
def test_heartbeats_wait_for_no_step_and_share_a_commit(group: int, groups: list[list[object]]):
    commits = Commits()
    writer = GroupCommit(commits, group)
    futures = [writer.submit(work("first"))]
    assert commits.entered.wait(30)
    futures += [writer.submit(each) for n in range(3) for each in (work(n), beat(f"b{n}"))]
    commits.gate.set()
    writer.close()
    assert commits.groups == groups
    assert [future.result() for future in futures] == ["first", 0, "b0", 1, "b1", 2, "b2"]


def test_a_lone_heartbeat_wakes_the_writer():
    commits = Commits()
    commits.gate.set()
    writer = GroupCommit(commits, group=1)
    for number in range(3):
        assert writer.submit(beat(number)).result(30) == number
        assert writer.submit(work(number)).result(30) == number
    writer.close()
    assert commits.groups == [[0], [0], [1], [1], [2], [2]]


def test_a_heartbeat_at_a_writer_that_is_ended_is_answered():
    entered, go = threading.Event(), threading.Event()

    def ends(_: object) -> None:
        entered.set()
        assert go.wait(30)
        raise SystemExit(1)

    commits = Commits()
    commits.gate.set()
    writer = GroupCommit(commits)
    writer.submit(Work("b", ends))
    assert entered.wait(30)
    waiting = writer.submit(beat(1))
    go.set()
    with pytest.raises(Closed, match="was ended by SystemExit"):
        waiting.result(30)
    writer.close()


def test_a_closed_writer_takes_nothing():
    commits = Commits()
    commits.gate.set()
    writer = GroupCommit(commits)
    writer.close()
    writer.close()
    with pytest.raises(Closed):
        writer.submit(work(1))


def test_a_loop_is_woken_once_a_group_and_after_all_answers():
    commits = Commits()
    writer = GroupCommit(commits)
    futures = [writer.submit(work("first"))]
    assert commits.entered.wait(30)
    futures += [writer.submit(work(number)) for number in range(5)]
    rung: list[int] = []

    def ring() -> None:
        rung.append(sum(future.done() for future in futures))

    for future in futures:
        future.add_done_callback(lambda _: when_all_are_answered(ring))
    commits.gate.set()
    writer.close()
    assert rung == [1, 6]
    when_all_are_answered(ring)
    assert rung == [1, 6, 6], "outside of a group, at once"
