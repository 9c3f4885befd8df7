"""Numbers that several processes map and none copies: a table made once, opened by path."""

import atexit
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt


class SharedTable:
    """Rows of float32 in one mapping, seeded: whole numbers from -128 to 127.

    Whole numbers, so that sums are exact in float32 in any order (up to 131,072 rows of them), and a
    vector is the same on every machine. Pickled as its path, for as long as its maker lives.
    """

    def __init__(self, path: str, rows: int, columns: int) -> None:
        self._where = (path, rows, columns)
        self.values: npt.NDArray[np.float32] = np.memmap(
            path, dtype=np.float32, mode="r", shape=(rows, columns)
        )

    @classmethod
    def create(cls, seed: int, rows: int, columns: int) -> "SharedTable":
        """A new table, gone with the last process that maps it."""
        if hasattr(os, "memfd_create"):  # not /dev/shm: a container's has 64 MB
            fd = os.memfd_create("streamlanes-table", os.MFD_CLOEXEC)
            path = f"/proc/{os.getpid()}/fd/{fd}"
        else:
            fd, path = tempfile.mkstemp(prefix="streamlanes-table-")
            atexit.register(os.unlink, path)
        count = rows * columns
        # Raw words of the generator: the one stream that numpy promises to keep over versions.
        words = np.random.PCG64(seed).random_raw(-(-count // 8)).astype("<u8")
        os.ftruncate(fd, 4 * count)
        filled: Any = np.memmap(path, dtype=np.float32, mode="r+", shape=(count,))
        filled[:] = words.view(np.int8)[:count]
        del filled
        return cls(path, rows, columns)

    def __reduce__(self) -> tuple[object, ...]:
        return (SharedTable, self._where)
