"""The mappings of a process, from /proc/PID/smaps: read once, shared by memory and stacks."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_READ_BYTES = 1 << 20
_KIB = 1024

# Where each wanted line of a mapping goes; all other lines are skipped.
_SLOT = {b"Rss": 0, b"Pss": 1, b"Anonymous": 2, b"Private_Clean": 3, b"Private_Dirty": 4}


class Mapping(NamedTuple):
    """One mapping: [start, end) in the address space and what of it is in memory.

    device: "major:minor" in hexadecimal as the kernel writes it. name: path or [label], empty for
    anonymous memory. rss: pages present. pss: the same, each page divided by the number of processes
    that map it. anonymous: present pages that belong to no file (also copied-on-write pages of a
    file mapping). private_clean, private_dirty: present pages that nobody else maps.
    """

    start: int
    end: int
    device: bytes
    name: bytes
    rss_bytes: int
    pss_bytes: int
    anonymous_bytes: int
    private_clean_bytes: int
    private_dirty_bytes: int


def read_mappings(pid: int) -> list[Mapping]:
    """All mappings of a process in ascending order.

    The kernel holds the process's memory lock while it walks the pages, so this disturbs it: for
    the memory pass only. Raises ProcessLookupError when the process is gone or a zombie,
    PermissionError when it belongs to somebody else.
    """
    try:
        with open(f"/proc/{pid}/smaps", "rb", buffering=_READ_BYTES) as file:
            found = list(parse(file))
    except FileNotFoundError as error:
        raise ProcessLookupError(f"no process {pid}") from error
    if not found:
        raise ProcessLookupError(f"process {pid} has ended and holds no memory")
    return found


def parse(lines: Iterable[bytes]) -> Iterator[Mapping]:
    """Mappings from the lines of a smaps file.

    A process with 10,000 threads has half a million lines, so the loop is kept bare: a line
    that starts with a capital is a field, any other starts the next mapping.
    """
    head: list[bytes] = []
    sizes = [0] * len(_SLOT)
    slot_of = _SLOT.get
    for line in lines:
        if b"A" <= line[:1] <= b"Z":
            name, _, value = line.partition(b":")
            slot = slot_of(name)
            if slot is not None:
                sizes[slot] = int(value[:-3]) * _KIB  # "   12 kB\n"
        else:
            if head:
                yield _mapping(head, sizes)
            head = line.split(maxsplit=5)
            sizes = [0] * len(_SLOT)
    if head:
        yield _mapping(head, sizes)


def _mapping(head: list[bytes], sizes: list[int]) -> Mapping:
    """head: address range, permissions, offset, device, inode and, where there is one, a name."""
    start, end = head[0].split(b"-")
    name = head[5].rstrip(b"\n") if len(head) > 5 else b""
    return Mapping(int(start, 16), int(end, 16), head[3], name, *sizes)
