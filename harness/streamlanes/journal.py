"""The run folder: run.json, records.jsonl, and the lock that keeps two runs off one folder.

A record that is written is done. A line cut by a crash or a full disk is dropped when the run is
opened again, and its cell is measured again; everything before it stays.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from streamlanes.errors import UserError
from streamlanes.record import Record, decode, encode

RUN_SCHEMA = "streamlanes.run/1"
RECORDS = "records.jsonl"
INFO = "run.json"
_LOCK = ".lock"


class Journal:
    """An open, locked run folder. `records` are those measured so far, in order."""

    def __init__(self, folder: Path, info: Mapping[str, Any]) -> None:
        self.folder = folder
        self.info = info
        self._lock = _locked(folder)
        try:
            self.records, good_bytes = read_records(folder / RECORDS)
            self._file = open(folder / RECORDS, "ab", buffering=0)  # noqa: SIM115  # closed by close()
            self._file.truncate(good_bytes)
        except OSError as error:
            os.close(self._lock)
            raise _unusable(folder, error) from None

    def append(self, record: Record) -> None:
        """Write one record so that it survives this process and, as far as fsync goes, the machine.

        A disk that is full leaves the file as it was: UserError, and nothing measured is lost.
        """
        line = encode(record)
        end = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            kept = f"{len(self.records)} records are kept; make room and start the same command again"
            raise UserError(f"cannot write {self.folder / RECORDS}: {error.strerror}; {kept}") from None
        self.records.append(record)

    def close(self) -> None:
        """Release the folder."""
        self._file.close()
        os.close(self._lock)


def open_run(
    results: Path,
    out: Path | None,
    info: Mapping[str, Any],
    unfinished: Callable[[Sequence[Record]], bool],
) -> tuple[Journal, bool]:
    """The journal for this run, and whether an unfinished one is continued.

    out: the folder itself. Without it: the newest unfinished run of the same hash below
    results/runs, else a new folder named after the time and the profile. unfinished: whether a run with
    these records has cells left.
    Raises UserError for a folder that is locked, full, unwritable, or another run's.
    """
    if out is not None:
        have = read_info(out)
        if have is not None and have["hash"] != info["hash"]:
            raise UserError(
                f"{out} holds another run (other profile, code, interpreter or machine); name another --out"
            )
        if have is None and out.is_dir() and any(each.name != _LOCK for each in out.iterdir()):
            raise UserError(f"{out} is not empty and holds no run; name another --out")
        return _opened(out, info), have is not None
    runs = results / "runs"
    for folder in sorted(runs.glob("*/"), reverse=True) if runs.is_dir() else []:
        have = read_info(folder)
        if have is None or have["hash"] != info["hash"]:
            continue
        try:
            done = read_records(folder / RECORDS)[0]
        except UserError:
            continue  # a run somebody edited: not ours to go on with
        if unfinished(done):
            return _opened(folder, info), True
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return _opened(_free(runs / f"{name}-{info['profile']['name']}"), info), False


def _opened(folder: Path, info: Mapping[str, Any]) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / INFO).exists():
            write_whole(folder / INFO, json.dumps(info, indent=1).encode() + b"\n")
    except OSError as error:
        raise _unusable(folder, error) from None
    return Journal(folder, read_info(folder) or info)


def _free(folder: Path) -> Path:
    """The folder, or it with a number where a run began in the same second."""
    candidate, number = folder, 2
    while candidate.exists():
        candidate = folder.with_name(f"{folder.name}-{number}")
        number += 1
    return candidate


def read_info(folder: Path) -> dict[str, Any] | None:
    """run.json of a folder; None where there is none that this version reads."""
    try:
        info = json.loads((folder / INFO).read_bytes())
    except (OSError, ValueError):
        return None
    return info if isinstance(info, dict) and info.get("schema") == RUN_SCHEMA and "hash" in info else None


def read_records(path: Path) -> tuple[list[Record], int]:
    """As parse_records, from a file that may not be there yet."""
    try:
        return parse_records(path.read_bytes(), str(path))
    except FileNotFoundError:
        return [], 0


def parse_records(data: bytes, source: str) -> tuple[list[Record], int]:
    """The whole records of a file's bytes and how many bytes they take; what follows is a cut line.

    Raises UserError, naming source and line, for a line with an end that is no record: no crash of
    ours leaves one.
    """
    records: list[Record] = []
    *whole, cut = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        try:
            records.append(decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(
                f"{source} line {number} is not a record: {error}; remove that line to read the rest"
            ) from None
    return records, len(data) - len(cut)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees all of it or the old one."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    beside.replace(path)


def link_latest(results: Path, folder: Path) -> None:
    """Point results/latest at a run, relatively; left alone where links cannot be made."""
    if results.resolve() not in folder.resolve().parents:
        return
    beside = results / ".latest.new"
    with contextlib.suppress(OSError):
        beside.unlink(missing_ok=True)
        beside.symlink_to(os.path.relpath(folder, results))
        beside.replace(results / "latest")


def run_hash(profile: Mapping[str, Any], fingerprint: str) -> str:
    """What makes two runs the same: resolved profile, the package's files, interpreter, machine."""
    digest = hashlib.sha256()
    digest.update(json.dumps(profile, sort_keys=True).encode())
    for name, content in _package_files():
        digest.update(name.encode() + b"\0" + content)
    digest.update(f"{sys.implementation.cache_tag} {sys.version} {fingerprint}".encode())
    return digest.hexdigest()[:16]


def _package_files() -> Iterator[tuple[str, bytes]]:
    root = Path(__file__).parent
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".toml"}:
            yield str(path.relative_to(root)), path.read_bytes()


def _locked(folder: Path) -> int:
    try:
        fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _unusable(folder, error) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise UserError(
            f"{folder} is in use by another run; two at once would measure each other: wait for it or end it"
        ) from None
    return fd


def _unusable(folder: Path, error: OSError) -> UserError:
    return UserError(f"cannot use {folder}: {error.strerror or error}; name another folder with --out")
