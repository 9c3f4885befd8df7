"""An SQLite VFS that counts syncs, delays them, and records what was written between them.

SQLite reaches the disk through a table of functions. Here the default one is copied and two or three
of its entries replaced, by ctypes; all the rest is SQLite's own. With the recording one can build the
files as a loss of power would leave them: what was synced is there, what was not may be or not.
"""

import _sqlite3
import ctypes
import enum
import itertools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECTOR = 512
_OK = 0

_Open = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)
_Write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("close", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
        ("truncate", ctypes.c_void_p),
        ("sync", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 13),
    )


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_bytes", ctypes.c_int),
        ("path_bytes", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("open", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 15),
    )


class Unavailable(Exception):
    """This interpreter's SQLite cannot be reached; the text says why."""


class Kind(enum.Enum):
    """What happened to a file, or that a caller was answered."""

    WRITE = enum.auto()
    TRUNCATE = enum.auto()
    SYNC = enum.auto()


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a recording. place: offset of a write, size of a truncate; of a sync how many entries
    there were when it began: what another thread wrote during it may not be on the disk."""

    kind: Kind
    file: str
    place: int = 0
    data: bytes = b""


_numbers = itertools.count(1)
_alive: list[object] = []
"""What SQLite points to: it may call it until the process ends."""


class Watch:
    """A VFS of its own; open a database with `vfs=watch.name`.

    delay_s: slept before each sync. recording: keep every write, for `after_power_loss`.
    syncs: syncs so far, of all files.
    """

    def __init__(self, delay_s: float = 0.0, recording: bool = False) -> None:
        self.name = f"streamlanes-watch-{next(_numbers)}"
        self.syncs = 0
        self.events: list[Event] = []
        self._delay_s = delay_s
        self._recording = recording
        self._files: dict[int, str] = {}
        self._tables: dict[int, _Methods] = {}
        self._lock = threading.Lock()
        library = _library()
        found = library.sqlite3_vfs_find(None)
        self._default = ctypes.cast(found, ctypes.POINTER(_Vfs)).contents
        if self._default.version < 3:
            raise Unavailable(f"its VFS is of version {self._default.version}, not 3")
        self._vfs = _Vfs.from_buffer_copy(self._default)
        self._vfs.name = self.name.encode()
        self._open = _Open(self._opened)
        self._vfs.open = ctypes.cast(self._open, ctypes.c_void_p)
        if library.sqlite3_vfs_register(ctypes.byref(self._vfs), 0) != _OK:
            raise Unavailable("it refuses another VFS")
        _alive.append(self)

    def _opened(self, _: int, name: int | None, file: int, flags: int, out: int | None) -> int:
        """The default's open, and then our functions in the file's table. The name is passed on as it
        is: SQLite keeps the pointer."""
        code: int = _Open(self._default.open)(ctypes.addressof(self._default), name, file, flags, out)
        methods = ctypes.c_void_p.from_address(file)
        if code == _OK and methods.value:
            with self._lock:
                self._files[file] = Path(ctypes.string_at(name).decode()).name if name else ""
                if methods.value not in self._tables:
                    self._tables[methods.value] = self._table(methods.value)
                methods.value = ctypes.addressof(self._tables[methods.value])
        return code

    def _table(self, at: int) -> _Methods:
        """A copy of a table of functions with ours in it."""
        table = _Methods.from_buffer_copy(_Methods.from_address(at))
        ours: dict[str, Any] = {"sync": self._syncing(_Sync(table.sync))}
        if self._recording:
            ours["write"] = self._writing(_Write(table.write))
            ours["truncate"] = self._truncating(_Truncate(table.truncate))
        for name, function in ours.items():
            setattr(table, name, ctypes.cast(function, ctypes.c_void_p))
        _alive.append(ours)
        return table

    def _syncing(self, default: Callable[[int, int], int]) -> Any:
        def sync(file: int, flags: int) -> int:
            if self._delay_s:
                time.sleep(self._delay_s)
            began = len(self.events)
            code = default(file, flags)
            with self._lock:
                self.syncs += 1
                if self._recording and code == _OK:
                    self.events.append(Event(Kind.SYNC, self._files[file], began))
            return code

        return _Sync(sync)

    def _writing(self, default: Callable[[int, int, int, int], int]) -> Any:
        def write(file: int, data: int, size: int, offset: int) -> int:
            code = default(file, data, size, offset)
            with self._lock:
                kept = ctypes.string_at(data, size)
                self.events.append(Event(Kind.WRITE, self._files[file], offset, kept))
            return code

        return _Write(write)

    def _truncating(self, default: Callable[[int, int], int]) -> Any:
        def truncate(file: int, size: int) -> int:
            code = default(file, size)
            with self._lock:
                self.events.append(Event(Kind.TRUNCATE, self._files[file], size))
            return code

        return _Truncate(truncate)


def after_power_loss(
    before: Mapping[str, bytes], events: Sequence[Event], draw: random.Random | None = None
) -> dict[str, bytes]:
    """The files as they are found after the power went at the end of `events`.

    before: the files when the recording began. All that was synced is there. Of what came after a
    file's last sync nothing is, or with `draw` any part of it, in sectors.
    """
    files = {name: bytearray(data) for name, data in before.items()}
    last_sync: dict[str, int] = {}
    for event in events:
        if event.kind is Kind.SYNC:  # one that began earlier may end later
            last_sync[event.file] = max(event.place, last_sync.get(event.file, 0))
    for number, event in enumerate(events):
        synced = number < last_sync.get(event.file, 0)
        data = files.setdefault(event.file, bytearray())
        if event.kind is Kind.TRUNCATE and (synced or (draw and draw.random() < 0.5)):
            del data[event.place :]
        elif event.kind is Kind.WRITE:
            for at in range(0, len(event.data), _SECTOR):
                if synced or (draw and draw.random() < 0.5):
                    piece = event.data[at : at + _SECTOR]
                    end = event.place + at + len(piece)
                    data.extend(bytes(max(0, end - len(data))))
                    data[event.place + at : end] = piece
    return {name: bytes(data) for name, data in files.items()}


def _library() -> Any:
    """The very SQLite that Python's sqlite3 uses."""
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    try:
        library.sqlite3_vfs_find.restype = ctypes.c_void_p
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        library.sqlite3_vfs_register.argtypes = [ctypes.c_void_p, ctypes.c_int]
    except AttributeError:
        raise Unavailable("its SQLite is linked in and hides its functions") from None
    return library
