"""Figures and endings in a person's words: the same in the terminal, on charts and on the page. Pure."""

import math

from streamlanes.record import Error, FlagName, Record, StatusName

_BARE_UNITS = frozenset({"", "1", "count", "ratio"})
_BYTES = frozenset({"B", "bytes"})
_ERRORS = 2  # a note has little room; the record has more of them
_UNIT_SUFFIXES = frozenset({"bytes", "kib", "us", "ms", "s"})
_SPELLED = {
    "cpu": "CPU", "e2e": "end to end", "fds": "open files", "gc": "GC", "pss": "PSS", "rss": "RSS",
    "stream": "stream lateness", "ttft": "TTFT",
}  # fmt: skip


def number(value: float) -> str:
    """As many digits as a measured figure deserves: 0.024, 5.1, 44, 1,230."""
    size = abs(value)
    if size >= 9.95 or size == 0:
        return f"{value:,.0f}"
    if size >= 0.995:
        return f"{value:.1f}"
    return f"{value:.{1 - math.floor(math.log10(size))}f}"


def plain(value: float) -> str:
    """A number as it was set: 500, 2,000, 0.25; nothing rounded that a person typed."""
    return f"{value:,.10g}" if abs(value) < 1e9 else f"{value:,.0f}"


def quantity(value: float, unit: str) -> str:
    """A figure with its unit; bytes in the binary unit that leaves few digits."""
    if unit not in _BYTES:
        return number(value) if unit in _BARE_UNITS else f"{number(value)} {unit}"
    for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(value) >= size:
            return f"{number(value / size)} {name}"
    return f"{number(value)} B"


def title(path: str) -> str:
    """A figure's short name from its path: `time.cpu_us_per_token` is `CPU/token`."""
    group, *names = path.split(".")
    if names == ["per_s"]:
        return "rate"
    words = [[_SPELLED.get(w, w) for w in name.split("_") if w not in _UNIT_SUFFIXES] for name in names]
    text = " ".join(word for name in words for word in name).replace(" per ", "/")
    if text == "per":  # `work.per_s`: what is done a second
        return "rate"
    return f"{group}/{text.removeprefix('per ')}" if text.startswith("per ") else text


def done_share(record: Record) -> float | None:
    """How much of the cell's work was done when it was stopped, 0 to 1, by tokens; None if not known.

    A pool that was given only the calls that fit its budget is held against all the calls asked for.
    """
    done, given = record.figure("counts.tokens"), record.figure("counts.expected_tokens")
    admitted = record.figure("counts.admitted")
    if done is None or not given:
        return None
    return done / given * (1.0 if admitted is None else admitted / record.cell.calls)


def ending(record: Record) -> str:
    """How the cell ended, with its reason; empty for `ok`."""
    name, reason, reached = record.status.name, record.status.reason, record.status.reached
    if name is StatusName.OK:
        return ""
    if name is StatusName.OVER_BUDGET:
        done = done_share(record)
        share = [] if done is None else [f"{done:.0%}".replace("%", " %") + " done"]
        projected = record.figure("time.projected_wall_s")
        about = [] if projected is None else [f"about {number(projected)} s"]
        return ", ".join(["over budget", *share, *about])
    at = "" if reached is None else f" at {reached:,} of {record.cell.calls:,}"
    return f"{name.replace('_', ' ')}{at}" + (f": {reason}" if reason else "")


def short_ending(record: Record) -> str:
    """The ending for a chart, where there is no room for a reason; empty for `ok`."""
    if record.status.name is StatusName.OVER_BUDGET:
        projected = record.figure("time.projected_wall_s")
        return "over budget" if projected is None else f"over budget, about {number(projected)} s"
    if record.status.name is StatusName.OK:
        return ""
    reached = record.status.reached
    return record.status.name.replace("_", " ") + ("" if reached is None else f" at {reached:,}")


def notes(record: Record) -> list[str]:
    """What a reader must know beside the figures: the ending, the flags, the first errors."""
    found = [text] if (text := ending(record)) else []
    found += [_bounded(record) if flag.name is FlagName.BOUNDED else flag.name for flag in record.flags]
    return found + [error(kind, met) for kind, met in record.errors.items()][:_ERRORS]


def error(kind: str, met: Error) -> str:
    """A kind of error and how often: `ValueError: no such model (37 times)`."""
    times = "once" if met.count == 1 else f"{met.count:,} times"
    return f"{kind}: {met.message} ({times})" if met.message else f"{kind} ({times})"


def why_missing(record: Record, path: str) -> str:
    """Why the record has no figure at this path: its own reason, or that of a group above it."""
    at = path
    while at:
        if at in record.missing:
            return record.missing[at]
        at = at.rpartition(".")[0]
    return "not measured here" if record.status.name is StatusName.OK else ending(record)


def _bounded(record: Record) -> str:
    width = record.figure("cell.axes.width")
    predicted = record.figure("time.predicted_wall_s")
    if not width:
        return "bounded"
    waves = math.ceil(record.cell.calls / width)
    return f"bounded to {width:,.0f}: {waves:,} wave{'s' if waves > 1 else ''}" + (
        "" if predicted is None else f", {number(predicted)} s predicted"
    )
