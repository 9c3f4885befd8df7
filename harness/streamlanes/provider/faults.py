"""Which calls go wrong, how, and where: pure functions of seed, call and shares.

A call has at most one fault, and the same one each time it is made, whoever makes it and however often.
What a fault looks like in bytes is in `script`.
"""

import enum
import hashlib
import struct
from collections.abc import Mapping


class Fault(enum.StrEnum):
    """Everything that can be wrong with an answer. Those from `long-line` on are unusual and right: a
    client that takes them for an error is wrong itself."""

    STATUS_429 = "status-429"
    STATUS_429_RETRY_AFTER = "status-429-retry-after"
    STATUS_500 = "status-500"
    STATUS_503 = "status-503"
    STATUS_529 = "status-529"
    ERROR = "error"  # an error event in mid-stream, then the end of the message
    CUT_INSIDE = "cut-inside"  # the connection is closed in the middle of an event
    CUT_BETWEEN = "cut-between"  # the message ends well, but the stream does not: no finish, no sentinel
    NO_DONE = "no-done"  # finish reason, and the message ends without the sentinel
    RESET = "reset"  # the connection is reset
    SLOW_HEADERS = "slow-headers"  # nothing comes for a while, then all that was due
    STALL = "stall"  # a pause in mid-stream; what follows is later by as much
    LONG_LINE = "long-line"  # one event has a very long line
    SPLIT_CHARACTERS = "split-characters"  # text of several bytes a character, each cut between two writes
    CRLF = "crlf"  # lines end with CR LF, and the last LF of an event comes with the next one
    COMMENTS = "comments"  # a comment line before each event, halfway since the last
    GZIP = "gzip"  # compressed, for callers that accept it; for others nothing is unusual


STATUSES = {
    Fault.STATUS_429: 429,
    Fault.STATUS_429_RETRY_AFTER: 429,
    Fault.STATUS_500: 500,
    Fault.STATUS_503: 503,
    Fault.STATUS_529: 529,
}


def fault_of(seed: int, call: int, shares: Mapping[Fault, float]) -> Fault | None:
    """The call's fault, None for most. shares: of all calls, at most 1 together."""
    at = _uniform(seed, call, 0)
    for fault in Fault:  # in the order of the list above, whatever the order of the table
        at -= shares.get(fault, 0.0)
        if at < 0:
            return fault
    return None


def strikes_before(seed: int, call: int, events: int, at: float | None) -> int:
    """Before which of its events with text (0 to events - 1) a call's fault strikes.

    at: the share of the events that come before it; None draws it. At least one comes where there are two.
    """
    if events < 2:
        return 0
    share = _uniform(seed, call, 1) if at is None else at
    return min(events - 1, max(1, int(share * events)))


def _uniform(seed: int, call: int, which: int) -> float:
    """A number in [0, 1) that looks drawn and is not."""
    digest = hashlib.blake2b(struct.pack("<qqq", seed, call, which), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
