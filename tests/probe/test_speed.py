"""Looks at a host's speed, with a loop that takes what it is told."""

from streamlanes.probe.speed import PAUSE_S, Speed

LONG_S, LOOKS = 20.0, 4


def speed(*spins_ms: float) -> tuple[Speed, list[float]]:
    """A Speed whose loop takes these times in turn, and the pauses that it makes."""
    pauses: list[float] = []
    took = iter(spins_ms)
    return Speed(spin=lambda: next(took), sleep=pauses.append), pauses


def test_the_first_look_stands_as_it_is():
    host, pauses = speed(5.0)
    assert (host.look(LONG_S), pauses) == (5.0, [])


def test_a_slow_look_is_repeated_until_the_host_is_as_fast_as_it_was():
    host, pauses = speed(3.0, 4.0, 3.9, 3.2)
    assert [host.look(LONG_S), host.look(LONG_S)] == [3.0, 3.2]
    assert pauses == [PAUSE_S] * 2


def test_a_host_that_stays_slow_is_said_to_be_slow():
    host, pauses = speed(3.0, *[5.0] * (LOOKS + 1))
    assert [host.look(LONG_S), host.look(LONG_S)] == [3.0, 5.0]
    assert pauses == [PAUSE_S] * LOOKS


def test_it_is_held_against_the_fastest_look_and_not_the_last():
    host, pauses = speed(3.0, 3.3, 3.4, 3.0)
    assert [host.look(LONG_S), host.look(LONG_S), host.look(LONG_S)] == [3.0, 3.3, 3.0]
    assert pauses == [PAUSE_S]


def test_a_short_cell_is_not_waited_for():
    host, pauses = speed(3.0, 5.0, 5.0, 3.0)
    assert [host.look(1.0), host.look(1.0), host.look(2.0)] == [3.0, 5.0, 3.0]
    assert pauses == [PAUSE_S]
