"""Reads the files that workloads are made of: traces and recorded gaps. What stands in them is for
`workload.trace` and `workload.recording` to say."""

import hashlib
from functools import lru_cache
from pathlib import Path

from streamlanes.errors import UserError
from streamlanes.workload import recording
from streamlanes.workload.draws import Looped
from streamlanes.workload.trace import Trace, parse

MAX_BYTES = 64 << 20


def read(path: str) -> Trace:
    """The trace in this file, called by the file's name and a digest of its content.

    A file is read once a process, so that all cells of a run replay the same, whatever happens to the
    file meanwhile. Raises UserError for a file that cannot be read, is too large or is no trace.
    """
    return _read(str(Path(path).expanduser()))


def read_gaps(path: str) -> Looped:
    """The recorded gaps in this file, likewise."""
    return _read_gaps(str(Path(path).expanduser()))


@lru_cache(maxsize=8)
def _read(path: str) -> Trace:
    name, lines = _lines(path, "trace")
    return parse(lines, path, name)


@lru_cache(maxsize=8)
def _read_gaps(path: str) -> Looped:
    name, lines = _lines(path, "recording")
    return recording.parse(lines, path, name)


def _lines(path: str, kind: str) -> tuple[str, list[str]]:
    """What records call the file, and its lines. kind: what it is meant to be."""
    data = _bytes(Path(path), kind)
    name = f"{Path(path).name}@{hashlib.sha256(data).hexdigest()[:8]}"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path} line {line}: not UTF-8 text, and so no {kind}") from None
    return name, text.split("\n")


def _bytes(path: Path, kind: str) -> bytes:
    try:
        if not path.is_file() and path.exists():
            raise UserError(f"{kind} {path} is no regular file; name a file of text")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read {kind} {path}: {error.strerror or error}") from None
    except ValueError as error:  # a name with a NUL in it
        raise UserError(f"cannot read {kind} {path!r}: {error}") from None
    if len(data) > MAX_BYTES:
        raise UserError(
            f"{kind} {path} is larger than {MAX_BYTES >> 20} MiB; keep its first lines, "
            f"e.g. head -n 100000 {path.name} > part-of-{path.name}"
        )
    return data
