"""The words of `streamlanes doctor`: short aligned lines. Pure."""

import textwrap
from collections.abc import Sequence, Set

from streamlanes import __version__
from streamlanes.doctor import (
    ADDRESS_SPACE_REMEDY,
    ADDRESS_SPACE_WHY,
    Checkup,
    Cpus,
    Grain,
    Noise,
    Others,
    RampUp,
    Report,
)
from streamlanes.facts import Missing
from streamlanes.preflight import Shortfall
from streamlanes.report.caption import machine_line
from streamlanes.series import by_reason
from streamlanes.words import number, plain, quantity, title

_COLUMNS = 110
_INDENT = " " * 10

Row = tuple[str, ...]


def limit_lines(report: Report) -> list[str]:
    """The machine and its limits, the one that bites first at the head."""
    limits = report.limits
    said = [
        f"streamlanes {__version__}   doctor   {_what(report)}",
        *_folded(machine_line(report.machine), "machine"),
        *_folded(_cpus(report.cpus), "cpus"),
    ]
    if limits.memory_available_bytes is not None:
        allowed = report.machine.get("cgroup_memory_bytes")
        said.append(
            f"memory    {quantity(limits.memory_available_bytes, 'B')} available"
            + (f", {quantity(allowed, 'B')} allowed by the control group" if allowed else "")
        )
    if limits.nofile_soft is not None:
        hard = "unlimited" if limits.nofile_hard is None else f"{limits.nofile_hard:,}"
        said.append(
            f"files     soft limit {limits.nofile_soft:,}; a run raises it, at most to the hard one, {hard}"
        )
    said.append("")
    if report.bites:
        heads = ("LIMITS", "", "bites at", "needed", "there is", "lifted by")
        said += _aligned([heads, *map(_bite, report.bites)], right={2, 3, 4})
    else:
        said.append("LIMITS    none bites at any number of calls")
    if limits.address_space_bytes is not None:
        space = quantity(limits.address_space_bytes, "B")
        said += _folded(
            f"address space {space}: {ADDRESS_SPACE_WHY}; lifted by: {ADDRESS_SPACE_REMEDY}", _INDENT
        )
    if limits.unread:
        said += _folded(f"not told by this system: {', '.join(limits.unread)}", _INDENT)
    return said


def checkup_lines(checkup: Checkup) -> list[str]:
    """Timers, noise, and what the host did meanwhile."""
    about = f"one timer every {plain(checkup.gap_ms)} ms in a process of its own"
    timers: list[Row] = [("TIMERS", "", "p50", "p99", "early", about)]
    timers += [_timer(name, grain) for name, grain in checkup.timers.items()]
    noise: list[Row] = [("NOISE", "", "median", "", checkup.noise_of)]
    noise += [_noise(path, found) for path, found in checkup.noise.items()]
    why = by_reason(
        (title(path), found.reason) for path, found in checkup.noise.items() if isinstance(found, Missing)
    )
    doubts = ", ".join(f"{name} in {count}" for name, count in checkup.doubts.items())
    return [
        *_aligned(timers, right={2, 3, 4}),
        "",
        *_aligned(noise, right={2, 3}),
        *(line for reason, names in why for line in _folded(f"- {', '.join(names)}: {reason}", "")),
        "",
        *_folded(_others(checkup.others), "HOST"),
        *_folded(_ramp_up(checkup.ramp_up), ""),
        *(_folded(f"doubts about the cells above: {doubts}", "") if doubts else []),
    ]


def answer_lines(report: Report) -> list[str]:
    """Whether the calls fit, and what is met first."""
    what = f"{report.calls:,} calls of the {report.client} client under {report.backend}"
    if report.forbidden:
        more = [found.limit for found in report.bites if found.bites and found.forbids]
        more = more if report.lacks else more[1:]
        said = f"{what} do not fit: {report.forbidden}"
        return _folded(said + (f"; then {', '.join(more)}, see above" if more else ""), "ANSWER")
    said = f"{what} fit"
    if report.width is not None and report.width < report.calls:
        said += f", {report.width:,} at a time by design"
    slow = [found for found in report.bites if found.bites and not found.forbids]
    said += "".join(f", slowed by {found.limit} from {found.calls:,} on" for found in slow)
    if report.default_pool is not None:
        said += f"; not in the library's default pool of {report.default_pool:,}, so set {report.widen}"
    ahead = next((found for found in report.bites if found.forbids), None)
    if ahead:
        said += f"; the first limit ahead is {ahead.limit}, at {ahead.calls:,}"
    return _folded(said, "ANSWER")


def _what(report: Report) -> str:
    return f"{report.calls:,} calls, {report.client} client, {report.backend}"


def _cpus(cpus: Cpus) -> str:
    parts = [f"{cpus.online} online", f"affinity {cpus.affinity}"]
    parts += [] if cpus.cpuset is None else [f"cpuset {cpus.cpuset}"]
    parts.append("no quota" if cpus.quota is None else f"quota {plain(cpus.quota)} CPUs' worth of time")
    how = "have CPUs of their own" if cpus.apart else "share them"
    return f"{cpus.usable} usable: {', '.join(parts)}; cell and provider {how}"


def _bite(found: Shortfall) -> Row:
    mark = ("FORBIDS" if found.forbids else "slows") if found.bites else ""
    need, have = f"{-(-found.need // found.unit):,}", f"{found.have // found.unit:,}"
    unit = " MiB" if found.unit == 1 << 20 else ""
    return (mark, found.limit.value, f"{found.calls:,}", need + unit, have + unit, found.remedy)


def _timer(name: str, grain: Grain | Missing) -> Row:
    if isinstance(grain, Missing):
        return ("", name, "-", "-", "-", grain.reason)
    return ("", name, f"{grain.p50_ms:.2f} ms", f"{grain.p99_ms:.2f} ms", _percent(grain.early_share), "")


def _noise(path: str, found: Noise | Missing) -> Row:
    if isinstance(found, Missing):
        return ("", title(path), "-", "", "")
    return ("", title(path), quantity(found.median, found.unit), f"+-{_percent(found.half_range_share)}", "")


def _others(found: Others) -> str:
    shares = (
        ("others' CPU while we idle", found.idle_foreign_share),
        ("in the worst cell", found.cell_foreign_share),
        ("steal", found.steal_share),
    )
    return "; ".join(
        f"{what}: {share.reason}" if isinstance(share, Missing) else f"{what} {_percent(share)}"
        for what, share in shares
    )


def _ramp_up(found: RampUp | Missing) -> str:
    if isinstance(found, Missing):
        return f"coming to speed: {found.reason}"
    speeds = f"a fixed loop takes {number(found.first_ms)} ms at first, {number(found.best_ms)} ms at best"
    return f"after idling {speeds}; at speed after {number(found.to_speed_ms)} ms of work"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _aligned(rows: Sequence[Row], right: Set[int]) -> list[str]:
    """Columns two spaces apart; what stands in the last one is folded within it."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    widths[0] = len(_INDENT) - 2
    lines = []
    for *cells, last in rows:
        padded = (
            text.rjust(width) if at in right else text.ljust(width)
            for at, (text, width) in enumerate(zip(cells, widths, strict=True))
        )
        lines += _folded(last, "  ".join(padded) + "  ")
    return lines


def _folded(text: str, lead: str) -> list[str]:
    """Words beside their lead, folded to a terminal's width."""
    lead = lead.ljust(len(_INDENT))
    width = max(20, _COLUMNS - len(lead))
    pieces = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]
    return [((lead if at == 0 else " " * len(lead)) + piece).rstrip() for at, piece in enumerate(pieces)]
