"""Reads a trace's file; what stands in it is `workload.trace`'s to say."""

import hashlib
from functools import lru_cache
from pathlib import Path

from streamlanes.errors import UserError
from streamlanes.workload.trace import Trace, parse

MAX_BYTES = 64 << 20


def read(path: str) -> Trace:
    """The trace in this file, called by the file's name and a digest of its content.

    A file is read once a process, so that all cells of a run replay the same, whatever happens to the
    file meanwhile. Raises UserError for a file that cannot be read, is too large or is no trace.
    """
    return _read(str(Path(path).expanduser()))


@lru_cache(maxsize=8)
def _read(path: str) -> Trace:
    data = _bytes(Path(path))
    name = f"{Path(path).name}@{hashlib.sha256(data).hexdigest()[:8]}"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path} line {line}: not UTF-8 text, and so no trace") from None
    return parse(text.split("\n"), path, name)


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file() and path.exists():
            raise UserError(f"trace {path} is no regular file; name a CSV or JSONL file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read trace {path}: {error.strerror or error}") from None
    except ValueError as error:  # a name with a NUL in it
        raise UserError(f"cannot read trace {path!r}: {error}") from None
    if len(data) > MAX_BYTES:
        raise UserError(
            f"trace {path} is larger than {MAX_BYTES >> 20} MiB; keep its first requests, "
            f"e.g. head -n 100000 {path.name} > part-of-{path.name}"
        )
    return data
