"""How each backend looks, everywhere: one colour, one marker and one dash pattern, never reused.

Colours are chosen to differ in lightness too (so that they stay apart in grey and for colour-blind
readers); within the first six, neighbours are at least 8 apart on the 0-100 scale of CIE L*.
"""

import zlib
from dataclasses import dataclass
from typing import Literal

from streamlanes.record import StatusName
from streamlanes.series import Line

Dashes = tuple[float, ...]
"""On, off, on, off ... in line widths; empty for a solid line."""

INK = "#222222"
GREY = "#6b6b6b"
FAINT = "#d9d9d9"
SHADE = "#f5f5f5"


@dataclass(frozen=True)
class Look:
    """How a line is drawn."""

    colour: str
    marker: str
    dashes: Dashes


LOOKS = {
    "asyncio": Look("#1f5fbf", "o", ()),
    "uvloop": Look("#e8730c", "s", (7, 1.5)),
    "threads": Look("#1a8a74", "^", (3, 1.5)),
    "processes+asyncio": Look("#6fb1e4", "D", (6, 1.5, 1, 1.5)),
    "processes+uvloop": Look("#5c1010", "P", (9, 2, 3, 2)),
    "processes+threads": Look("#14492f", "v", (1, 1.5)),
    "thread-pool": Look("#b05cc0", "<", (4, 1.5, 1, 1.5, 1, 1.5)),
    "process-pool": Look("#3b2a6b", ">", (2, 1)),
    "asyncio+to_thread": Look("#8a8a8a", "*", (5, 3)),
}

OFFLOADS = {
    "inline": Look("#b3261e", "o", ()),
    "threads": Look("#c98a00", "^", (3, 1.5)),
    "processes": Look("#0b4654", "D", (6, 1.5, 1, 1.5)),
    "interpreters": Look("#4a3b8f", "P", (9, 2, 3, 2)),
}
"""Where a chart has lines for the ways of CPU work, these tell them apart: they are what is compared."""

STORES = {
    "none": Look("#8a8a8a", "o", ()),
    "sqlite-normal": Look("#c98a00", "^", (3, 1.5)),
    "sqlite-full": Look("#1f5fbf", "s", (7, 1.5)),
    "postgres": Look("#5c1010", "D", (6, 1.5, 1, 1.5)),
}
"""Likewise for stores."""

ARCHITECTURES = {
    "checkpoints": Look("#6fb1e4", "o", ()),
    "replay": Look("#1f5fbf", "s", (7, 1.5)),
    "queue": Look("#c98a00", "^", (3, 1.5)),
    "actors": Look("#14492f", "D", (6, 1.5, 1, 1.5)),
    "rows": Look("#a8326e", "P", (9, 2, 3, 2)),
}
"""Likewise for the ways in which executions are carried on."""

_OTHERS = (
    Look("#a8326e", "p", (8, 2, 1, 2)),
    Look("#7a6a00", "h", (2, 2)),
    Look("#2f7f9f", "d", (5, 1, 2, 1)),
    Look("#9a9ad0", "H", (10, 3)),
)

_ARROW_UP = ((-0.3, -1), (-0.3, 0), (-0.9, 0), (0, 1), (0.9, 0), (0.3, 0), (0.3, -1), (-0.3, -1))

STOPPED_MARKS: dict[StatusName, str | tuple[tuple[float, float], ...]] = {
    StatusName.OVER_BUDGET: _ARROW_UP,
    StatusName.UNSUPPORTED: "x",
    StatusName.CRASHED: "X",
    StatusName.SKIPPED: "_",
}
"""The mark of a cell without figures, by how it ended: a name, or the corners of a shape."""


def look(line: Line) -> Look:
    """The look of a line. A backend outside the table always gets the same one of a few others.

    Variants of a backend keep its colour and marker; their dashes grow longer with their name. Ways of
    CPU work have looks of their own, and so have architectures and stores; these are paler and dotted without
    group commit.
    """
    variant = dict(line.variant)
    if variant.get("offload") in OFFLOADS:
        return OFFLOADS[variant["offload"]]
    base = ARCHITECTURES.get(variant.get("architecture", ""))
    if base is not None:
        del variant["architecture"]
    else:
        base = STORES.get(variant.pop("store", "")) or LOOKS.get(line.backend)
    if base is not None and variant.get("group_commit") == "off":
        return Look(shade(base.colour, 0.55), base.marker, (1, 1.5))
    base = base or _OTHERS[zlib.crc32(line.backend.encode()) % len(_OTHERS)]
    if not variant:
        return base
    stretch = 1 + zlib.crc32(line.label.encode()) % 4
    return Look(base.colour, base.marker, tuple(part * stretch for part in base.dashes or (4, 1)))


def line_style(of: Look) -> Literal["-"] | tuple[float, Dashes]:
    """A look's dashes as a line style."""
    return (0, of.dashes) if of.dashes else "-"


def shade(colour: str, strength: float) -> str:
    """The colour mixed with white, 1 for the colour itself; opaque, so that no grid shows through."""
    channels = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - channel) * strength):02x}" for channel in channels)


def lightness(colour: str) -> float:
    """CIE L* (0 black to 100 white) of `#rrggbb`: what is left of a colour in grey."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance
