"""The counts of the scenario `queue`, and each thing that can go wrong."""

from streamlanes.chaos.plan import Counts
from streamlanes.chaos.scenarios.queue import counted
from streamlanes.chaos.workers.queue import GROUPS
from streamlanes.durable.agents.queue import Tally
from streamlanes.durable.agents.talk import Talk
from streamlanes.durable.agents.values import Family, Stage

NAMES = [name for names in Talk(GROUPS).groups().values() for name in names]
WAKES = dict.fromkeys(NAMES, 2)
DONE = {name: {"done": True} for name in NAMES}
LEDGER = {f"{name}/{number}": 1 for name in NAMES for number in (1, 2)}


def tally(chat: int = 0, unread: int = 0) -> Tally:
    mail = Talk(GROUPS).messages()
    mail[Family.CHAT] += chat
    return Tally({Stage.IDLE: len(NAMES)}, 18, mail, unread, 3)


def counts(**more: object) -> Counts:
    usual: dict = {"wakes": WAKES, "memories": DONE, "tally": tally(), "ledger": LEDGER, "begun": []}
    return counted(**{**usual, "claimed": True, **more})


def test_all_that_must_be_there_is_clean():
    assert counts() == Counts()
    assert counts(begun=[("g0.a0", 1), ("g0.a0", 1)]) == Counts(redone=1)


def test_each_thing_that_can_go_wrong_is_counted():
    missing = {ref: times for ref, times in LEDGER.items() if ref != "g0.a0/1"}
    assert counts(ledger=missing) == Counts(lost=1)
    assert counts(ledger={**LEDGER, "g1.a0/2": 3}) == Counts(duplicated=2)
    assert counts(tally=tally(chat=-2)) == Counts(lost=2)
    assert counts(tally=tally(chat=1)) == Counts(duplicated=1)
    waiting = {**DONE, "g0.a0": {"done": False}, "g2.a1": None}
    assert counts(memories=waiting, claimed=False) == Counts(unfinished=2)
    assert counts(memories=waiting) == Counts(unfinished=2, false_done=1)
    assert counts(tally=tally(unread=1)) == Counts(false_done=1)
