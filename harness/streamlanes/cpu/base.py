"""What a kernel is, and what becomes of its vectors."""

import hashlib
from array import array
from collections.abc import Sequence
from typing import Any, Protocol

Shape = tuple[int, ...]
Vector = Any
"""What a kernel returns: an array with the buffer protocol, or a sequence of numbers."""


class KernelError(Exception):
    """A kernel that cannot be had, or a vector that is none; one line."""


class Kernel(Protocol):
    """One text in, one vector out. Picklable: a worker of another start method opens it again.

    varies: whether the text decides the vector's shape; else the first one's holds for all.
    """

    varies: bool

    def __call__(self, text: str) -> Vector: ...


def shape_of(vector: Vector) -> Shape:
    """The vector's shape; raises KernelError for what is no vector of numbers."""
    shape = getattr(vector, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if isinstance(vector, Sequence | array) and not isinstance(vector, str | bytes | bytearray):
        return (len(vector),)
    raise KernelError(f"the kernel returned {type(vector).__name__}, not a vector of numbers")


def packed(vector: Vector) -> bytes:
    """The vector's bytes, as they travel and are digested: float32 for a plain sequence, else its own.

    Raises KernelError for a sequence that holds no numbers.
    """
    try:
        return memoryview(vector).tobytes()
    except TypeError:
        pass  # a list, a tuple
    try:
        return array("f", vector).tobytes()
    except TypeError:
        raise KernelError("the kernel returned a sequence that holds more than numbers") from None


def digest(vector: bytes) -> int:
    """A vector's identity, 56 bits."""
    return int.from_bytes(hashlib.blake2b(vector, digest_size=7).digest(), "little")
