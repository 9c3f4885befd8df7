"""Kernels as people write them, good and bad. Which documents a bad one fails at is told by their text, so
that it is the same ones in whatever worker."""

import os
import time
import zlib
from collections.abc import Sequence

from streamlanes.cpu.texts import Texts


def _chosen(text: str) -> bool:
    """About every eighth document."""
    return zlib.crc32(text.encode()) % 8 == 0


def good(text: str) -> Sequence[float]:
    return [float(len(text)), float(zlib.crc32(text.encode()) % 1000)]


class Odd(Exception):
    """Cannot be made again from its arguments, and so cannot come back from another process."""

    def __init__(self, what: str, where: int) -> None:
        super().__init__(f"{what} at {where}")


class Unpicklable(Exception):
    """Holds something that cannot be pickled."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.held = lambda: what


class Silent(Exception):
    """Cannot even say its message."""

    def __str__(self) -> str:
        raise ValueError("no words")


def raises(text: str) -> Sequence[float]:
    if _chosen(text):
        raise ValueError("an odd document")
    return good(text)


def cannot_come_back(text: str) -> Sequence[float]:
    if _chosen(text):
        raise (Odd("bad", 3), Unpicklable("worse"), Silent())[len(text) % 3]
    return good(text)


def exits(text: str) -> Sequence[float]:
    if _chosen(text):
        raise SystemExit(3)
    return good(text)


def dies(text: str) -> Sequence[float]:
    if _chosen(text):
        os._exit(9)
    return good(text)


def always_dies(text: str) -> Sequence[float]:
    os._exit(9)


def always_raises(text: str) -> Sequence[float]:
    raise RuntimeError("never any good")


def another_shape(text: str) -> Sequence[float]:
    return [*good(text), 0.0] if _chosen(text) else good(text)


def no_vector(text: str) -> str:
    return text


LATE = Texts(1).document(70, 30)
"""A document that the sample before a run does not come to."""


def never_returns(text: str) -> Sequence[float]:
    while text == LATE:
        time.sleep(0.01)
    return good(text)


def never_ends(text: str) -> Sequence[float]:
    while True:
        time.sleep(0.01)


def slow(text: str) -> Sequence[float]:
    time.sleep(0.3)
    return good(text)


def fails_at(text: str) -> bool:
    """Whether the bad ones fail at this document."""
    return _chosen(text)
