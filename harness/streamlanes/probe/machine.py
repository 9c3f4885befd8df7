"""What a result was measured on: enough to compare, nothing that names a person or a place."""

import hashlib
import importlib.metadata
import os
import platform
import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import psutil

from streamlanes.backends import cpus
from streamlanes.probe import cgroup
from streamlanes.probe.host import ROOT, read_text

_LIBRARIES = ("uvloop", "httptools", "numpy")
_GIB = 1 << 30

# What decides how fast the same code runs. Memory is left out: its size changes by a few pages
# from boot to boot, and too little of it ends a cell instead of slowing it.
_SPEED = (
    "cpu",
    "cpus_usable",
    "cpus_online",
    "cgroup_cpus",
    "virtualised",
    "architecture",
    "system",
    "kernel",
    "clock_source",
    "implementation",
    "python",
    "free_threaded",
    *_LIBRARIES,
)

_ALLOCATOR = ("MALLOC_", "GLIBC_TUNABLES", "PYTHONMALLOC", "LD_PRELOAD", "_RJEM_MALLOC_CONF", "MALLOC_CONF")
"""How the names of variables begin that change what memory costs (docs/asyncio-reads.md)."""

# Words of a CPU's name that tell nothing more, as makers write them.
_NOISE = re.compile(r"\((r|tm)\)|@.*|\b(cpu|processor|\d+-core|with .*)\b", re.IGNORECASE)


def machine(root: Path = ROOT) -> dict[str, object]:
    """The machine and this interpreter, without host name, user name or path.

    A key is absent where the system does not tell, where no such limit is set and where a library
    is not installed. cgroup_cpus: CPUs' worth of a quota. virtualised: whether a hypervisor shows.
    allocator: what the environment says to it; a library's path by its last part.
    """
    cpuinfo = parse_cpuinfo(read_text(root / "proc/cpuinfo"))
    flags = cpuinfo.get("flags")
    found: dict[str, object] = {
        "cpu": cpuinfo.get("model name") or platform.machine(),
        "cpus_usable": cpus(),
        "cpus_online": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "free_threaded": sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
        "clock_source": read_text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ).strip(),
        "somaxconn": int(read_text(root / "proc/sys/net/core/somaxconn") or 0) or None,
        "cgroup_cpus": cgroup.cpu_quota(root),
        "cgroup_memory_bytes": cgroup.memory_limit_bytes(root),
        "cgroup_pids": (cgroup.pids_room(root) or (None,))[0],
        "allocator": allocator(os.environ),
        "virtualised": None if flags is None else "hypervisor" in flags.split(),
        **{name: _version(name) for name in _LIBRARIES},
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def allocator(environment: Mapping[str, str]) -> str:
    """The variables that change how memory is allocated, without folders; empty where none is set."""
    found = sorted(name for name in environment if name.startswith(_ALLOCATOR))
    return " ".join(f"{name}={Path(environment[name]).name}" for name in found if environment[name])


def fingerprint(machine: dict[str, object]) -> str:
    """12 hexadecimal digits, the same for machines that should run the same code equally fast."""
    keys = (*_SPEED, "allocator") if "allocator" in machine else _SPEED
    text = "\n".join(f"{key}={machine.get(key)}" for key in keys)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def slug(machine: dict[str, object]) -> str:
    """A folder name for people, like `amd-epyc-2cpu-24gib-linux-6.18-cpython-3.11.7`."""
    memory = machine.get("memory_bytes")
    kernel = re.match(r"\d+(\.\d+)?", str(machine.get("kernel", "")))
    parts = [
        _NOISE.sub(" ", str(machine.get("cpu", "unknown"))),
        f"{machine.get('cpus_usable', 0)}cpu",
        f"{round(memory / _GIB)}gib" if isinstance(memory, int) else "",
        str(machine.get("system", "")),
        kernel[0] if kernel else "",
        str(machine.get("implementation", "")),
        str(machine.get("python", "")) + ("t" if machine.get("free_threaded") else ""),
    ]
    words = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.") for part in parts]
    return "-".join(word for word in words if word)


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The first CPU of /proc/cpuinfo, by name."""
    first = text.partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None
