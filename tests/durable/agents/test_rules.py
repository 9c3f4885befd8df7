"""Who may write to whom, groups, and the counts of the task."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.durable.agents.rules import AgentError, checked_groups, family, faults, split
from streamlanes.durable.agents.talk import Talk
from streamlanes.durable.agents.values import (
    MAX_LETTERS,
    Family,
    Letter,
    Mail,
    Member,
    Reply,
    Stage,
    Wake,
)
from streamlanes.durable.errors import DurableError
from streamlanes.durable.values import Lease
from streamlanes.durable.waits import drive

ADMIN_A, IN_A, ADMIN_B, IN_B = Member("a", True), Member("a", False), Member("b", True), Member("b", False)


@pytest.mark.parametrize(
    ("by", "at", "expected"),
    [
        (ADMIN_A, IN_A, Family.CHAT),
        (IN_A, ADMIN_A, Family.CHAT),
        (IN_A, IN_A, Family.CHAT),
        (ADMIN_A, ADMIN_B, Family.ADMIN),
        (IN_A, ADMIN_B, None),
        (ADMIN_A, IN_B, None),
        (IN_A, IN_B, None),
    ],
)
def test_a_message_goes_through_one_family_of_queues_or_none(by: Member, at: Member, expected: Family | None):
    assert family("s", by, "t", at) is expected


def test_nobody_writes_to_itself():
    assert family("s", IN_A, "s", IN_A) is None


def test_what_is_no_reply_or_too_much_of_one_is_said_first():
    assert faults("s", IN_A, "hello", lambda _: IN_A) == ["the reply is of type str, not Reply"]
    many = Reply([Letter("t", "x")] * (MAX_LETTERS + 1), None)
    assert faults("s", IN_A, many, lambda _: IN_A) == ["10,001 messages in a reply, more than 10,000"]
    assert faults("s", IN_A, Reply([Letter("t", "x")], None), lambda _: IN_A) == []


def test_the_first_of_a_group_is_its_admin():
    assert checked_groups({"a": ["x", "y"]}) == {"x": ADMIN_A, "y": IN_A}


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        ({"a": ["x"]}, "the agents: group a has 1 of them, and nobody there to chat with; give it 2 or more"),
        ({"a": []}, "the agents: group a has 0 of them, and nobody there to chat with; give it 2 or more"),
        ({"a": ["x", "y"], "b": ["z", "x"]}, "the agents: x is in group a and in group b; name it once"),
    ],
)
def test_groups_that_are_none_are_a_line(groups: dict[str, list[str]], line: str):
    with pytest.raises(AgentError) as error:
        checked_groups(groups)
    assert str(error.value) == line


def test_a_name_that_is_none_is_refused():
    with pytest.raises(DurableError, match="is no thread_id"):
        checked_groups({"a": ["x", "y\n"]})


@given(st.integers(2, 500), st.integers(2, 60))
def test_groups_come_out_even_or_say_why_not(agents: int, size: int):
    if agents % size == 1:
        with pytest.raises(AgentError, match=f"take {agents - 1} or {agents + 1}"):
            split(agents, size)
        return
    sizes = split(agents, size)
    assert sum(sizes) == agents
    assert all(1 < one <= size for one in sizes)
    assert all(one == size for one in sizes[:-1])


@pytest.mark.parametrize(("agents", "size"), [(600, 1), (600, 0), (1, 10)])
def test_a_group_of_one_is_a_line(agents: int, size: int):
    with pytest.raises(AgentError, match=r"^the agents: .* make a group of one, with nobody there to chat"):
        split(agents, size)


def test_messages_grow_with_the_agents_at_a_fixed_size_and_with_their_square_in_one_room():
    def taken(sizes: list[int]) -> int:
        return sum(Talk(sizes).messages().values()) - 1

    assert [taken([10] * groups) for groups in (15, 30, 60, 500)] == [1378, 2758, 5518, 45998]
    assert [taken([agents]) for agents in (150, 300)] == [22350, 89700]


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_task_takes_its_messages_in_whatever_order_agents_wake(sizes: list[int], draw: random.Random):
    """In memory: any agent with mail is woken, with all it has or only a part."""
    talk = Talk(sizes)
    inboxes: dict[str, list[Mail]] = {name: [] for names in talk.groups().values() for name in names}
    memories: dict[str, object] = dict.fromkeys(inboxes)
    inboxes[talk.first].append(Mail("", Family.OUTSIDE, "task"))
    sent = 0
    while waiting := [name for name, mail in inboxes.items() if mail]:
        name = draw.choice(waiting)
        some = draw.randint(1, len(inboxes[name]))
        batch, inboxes[name] = inboxes[name][:some], inboxes[name][some:]
        lease = Lease(name, "w", "t", 1, 1.0)
        reply = drive(talk(Wake(name, 1, Stage.PROCESSING, batch, memories[name], lease), ()))
        memories[name] = reply.memory
        for letter in reply.letters:
            inboxes[letter.to].append(Mail(name, Family.CHAT, letter.text))
            sent += 1
    assert sent == sum(talk.messages().values()) - 1
    assert all(memory["done"] for memory in memories.values())
