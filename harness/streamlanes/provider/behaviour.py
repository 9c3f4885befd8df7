"""How the simulated provider behaves beside its schedule: the `[provider]` table of a profile. Pure."""

from typing import Any

import msgspec

from streamlanes.provider.faults import Fault

Number = int | float

MOST_MS = 3_600_000
MOST_LINE_BYTES = 4_000_000
"""The most that one HTTP chunk holds for the clients of this package."""


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Faults, and the shape of chunks. When tokens are due is the workload's.

    seed: of the faults. faults: fault -> share of the calls, at most 1 together. at: where in an answer a
    fault strikes that strikes in mid-stream, as a share of its events; drawn for each call where it is not
    set. retry_after_s: what `status-429-retry-after` tells. slow_headers_ms, stall_ms: how long those two
    wait. long_line_bytes: text of `long-line`'s one long event.
    tokens_per_chunk: tokens in each event; it is due with its last token. padding: whether OpenAI chunks
    carry the field `obfuscation`; a request may ask for it too.
    limit_per_s: requests a second beyond which a request gets 429, see `limit`; none where it is not set.
    """

    seed: int = 1
    faults: dict[Fault, float] = {}
    at: float | None = None
    retry_after_s: Number = 1
    slow_headers_ms: Number = 2000
    stall_ms: Number = 2000
    long_line_bytes: int = 262_144
    tokens_per_chunk: int = 1
    padding: bool = False
    limit_per_s: Number | None = None

    def set_values(self) -> dict[str, Any]:
        """What differs from the defaults, as plain values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def without_faults(self) -> "Behaviour":
        """The same where every call must live: a call that fails cannot be held."""
        return msgspec.structs.replace(self, faults={}, limit_per_s=None)


def problem(behaviour: Behaviour) -> str | None:
    """What cannot be meant, with the allowed range; None where all can."""
    for name, least, most in (
        ("seed", 0, 2**62),
        ("at", 0, 1),
        ("retry_after_s", 0, 86_400),
        ("slow_headers_ms", 0, MOST_MS),
        ("stall_ms", 0, MOST_MS),
        ("long_line_bytes", 1, MOST_LINE_BYTES),
        ("tokens_per_chunk", 1, 1000),
        ("limit_per_s", 0.01, 1_000_000),
    ):
        value = getattr(behaviour, name)
        if value is not None and not least <= value <= most:
            return f"{name} is {value:,}; it must be from {least:,} to {most:,}"
    for fault, share in behaviour.faults.items():
        if not 0 <= share <= 1:
            return f"the share of {fault} is {share:g}; it must be from 0 to 1"
    whole = sum(behaviour.faults.values())
    if whole > 1 + 1e-9:
        return f"the shares of all faults are {whole:g} together; a call has one, so they must be 1 at most"
    return None
