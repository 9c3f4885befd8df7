"""The control groups this process lives in: version 1, version 2, or both at once."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Number = TypeVar("Number", int, float)

_V1_UNLIMITED_BYTES = 1 << 60  # version 1 writes "no memory limit" as almost 2**63, rounded to a page


@dataclass(frozen=True)
class Group:
    """One control group of a controller, as a folder of files."""

    folder: Path
    version: int

    def number(self, v1: str, v2: str) -> int | None:
        """The number in a file named per version; None for "max", or when there is no such file."""
        text = self.text(v1, v2)
        return int(text) if text is not None and text.lstrip("-").isdecimal() else None

    def text(self, v1: str, v2: str) -> str | None:
        try:
            return (self.folder / (v1 if self.version == 1 else v2)).read_text().strip()
        except OSError:
            return None

    def counters(self, v1: str, v2: str) -> dict[str, int]:
        """A file of "name number" lines; empty when there is no such file."""
        words = [line.split() for line in (self.text(v1, v2) or "").splitlines()]
        return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdecimal()}


def groups(controller: str, root: Path = Path("/")) -> tuple[Group, ...]:
    """The process's own group of a controller, then its ancestors up to the mount; empty if none.

    Each level can set a limit of its own, so a reader has to look at them all. Ancestors above the
    mount (outside a container) cannot be seen.
    """
    try:
        memberships = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ()
    paths = {}
    for line in memberships:
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))  # version 2 has the name ""
    if controller in paths:
        version, path = 1, paths[controller]
    elif "" in paths:
        version, path = 2, paths[""]
    else:
        return ()
    mount = _mount(mounts, version, controller)
    if mount is None:
        return ()
    top = root / mount[1].lstrip("/")
    own = _below(top, path, mount[0])
    levels = [own, *own.parents]
    return tuple(Group(folder, version) for folder in levels[: levels.index(top) + 1])


def pids_room(root: Path = Path("/")) -> tuple[int, int] | None:
    """(limit, in use) of the level that has the fewest processes and threads left; None for no limit."""
    found = []
    for group in groups("pids", root):
        limit = group.number("pids.max", "pids.max")
        used = group.number("pids.current", "pids.current")
        if limit is not None and used is not None:
            found.append((limit, used))
    return min(found, key=lambda pair: pair[0] - pair[1], default=None)


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """The smallest memory limit of any level; None for no limit."""
    return _smallest(_memory_limit_bytes, groups("memory", root))


def memory_room_bytes(root: Path = Path("/")) -> int | None:
    """What may still be used below the tightest limit; None for no limit.

    Pages of files are charged to the group but given back before it runs out, so they count as free.
    """
    return _smallest(_memory_room_bytes, groups("memory", root))


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time the tightest level grants; None for no quota."""
    return _smallest(_cpu_quota, groups("cpu", root))


def cpuset_cpus(root: Path = Path("/")) -> int | None:
    """How many CPUs the process's group may run on; None where no group says."""
    for group in groups("cpuset", root):
        text = group.text("cpuset.effective_cpus", "cpuset.cpus.effective")
        if text and re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
            ranges = (part.partition("-") for part in text.split(","))
            return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)
    return None


def throttled_periods(root: Path = Path("/")) -> int | None:
    """How often so far a level with a quota was stopped for the rest of a period; None if not told."""
    counts = [group.counters("cpu.stat", "cpu.stat").get("nr_throttled") for group in groups("cpu", root)]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _smallest(read: Callable[[Group], Number | None], levels: tuple[Group, ...]) -> Number | None:
    found = [value for value in map(read, levels) if value is not None]
    return min(found) if found else None


def _memory_limit_bytes(group: Group) -> int | None:
    limit = group.number("memory.limit_in_bytes", "memory.max")
    return None if limit is None or limit >= _V1_UNLIMITED_BYTES else limit


def _memory_room_bytes(group: Group) -> int | None:
    limit = _memory_limit_bytes(group)
    used = group.number("memory.usage_in_bytes", "memory.current")
    if limit is None or used is None:
        return None
    counters = group.counters("memory.stat", "memory.stat")
    prefix = "total_" if group.version == 1 else ""  # version 1 has the sum over its children apart
    files = counters.get(prefix + "inactive_file", 0) + counters.get(prefix + "active_file", 0)
    return max(0, limit - max(0, used - files))


def _cpu_quota(group: Group) -> float | None:
    if group.version == 1:
        quota = group.number("cpu.cfs_quota_us", "")
        period = group.number("cpu.cfs_period_us", "")
        return quota / period if quota is not None and quota > 0 and period else None
    words = (group.text("", "cpu.max") or "max").split()
    return None if words[0] == "max" or len(words) != 2 else int(words[0]) / int(words[1])


def _mount(mounts: list[str], version: int, controller: str) -> tuple[str, str] | None:
    """(which group is mounted, where) for the hierarchy that has the controller."""
    for line in mounts:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(maxsplit=2)
        named = kind == "cgroup" and controller in options.split(",")
        if (version == 2 and kind == "cgroup2") or (version == 1 and named):
            fields = before.split()
            return _unescape(fields[3]), _unescape(fields[4])
    return None


def _below(top: Path, path: str, mounted: str) -> Path:
    """The folder of a group, given which group the mount shows at its top.

    A container without a namespace of its own sees the host's path in /proc/self/cgroup while its
    mount begins at that very group.
    """
    if mounted not in ("/", path) and not path.startswith(mounted + "/"):
        return top
    relative = path.removeprefix(mounted).strip("/")
    folder = top / relative
    return folder if ".." not in relative.split("/") and folder.is_dir() else top


def _unescape(text: str) -> str:
    """mountinfo writes a space, tab, newline or backslash in a path as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
