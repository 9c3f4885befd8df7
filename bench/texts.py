"""The bytes that the decoders are timed on."""

from streamlanes.provider import frames
from streamlanes.provider.chat import chat
from streamlanes.provider.frames import Frames
from streamlanes.provider.messages import messages

EVENT_BYTES = 200


WAYS = {"openai": chat(usage=True, padding=False), "anthropic": messages()}
"""What the provider sends to `streams` and `floor`, by dialect."""


def chunks(tokens: int, way: Frames = WAYS["openai"]) -> list[bytes]:
    """The provider's frames of one call's tokens as they are sent: an event in an HTTP chunk each."""
    return [frames.token(way, 0, k) for k in range(tokens)]


def bodies(tokens: int, way: Frames = WAYS["openai"]) -> list[bytes]:
    """The same frames without their HTTP chunk: what a receiver is fed."""
    return [chunk.partition(b"\r\n")[2][:-2] for chunk in chunks(tokens, way)]


def events(size: int) -> bytes:
    """`size` bytes (a multiple of 200) of events of 200 bytes each."""
    return (b"data: " + b"x" * (EVENT_BYTES - 8) + b"\n\n") * (size // EVENT_BYTES)


def pieces(text: bytes, size: int) -> list[bytes]:
    """The text in pieces of this size, the last one shorter."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def named_events(size: int) -> bytes:
    """`size` bytes (a multiple of 200) of events of 200 bytes each that have a name."""
    head = b"event: content_block_delta\ndata: "
    return (head + b"x" * (EVENT_BYTES - len(head) - 2) + b"\n\n") * (size // EVENT_BYTES)
