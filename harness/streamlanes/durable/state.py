"""The state of an execution as bytes and back: JSON, and nothing that would come back as something else."""

import json
import math
from collections.abc import Iterator

from streamlanes.durable.errors import StateError

MAX_DEPTH = 100

_PLAIN = (str, int, bool, type(None))
_REMEDY = "keep only dict, list, str, int, float, bool and None in it, the rest outside"


def encode(execution: str, state: object, name: str = "state") -> bytes:
    """The state's bytes. Raises StateError, naming the part of `name` that cannot be kept."""
    for found in _misfits(state, name, 0):
        raise StateError(execution, found, _REMEDY)
    try:
        return json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        what = f"{name} holds half a character, {error.object[error.start : error.end]!r}"
        raise StateError(execution, what, "replace it before the step ends") from None


def decode(execution: str, what: str, data: bytes | str) -> object:
    """What `encode` made bytes of. Raises StateError for bytes that are none; `what` names them."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        remedy = "restore the store from a copy, or delete that row to go on from the one before it"
        raise StateError(execution, f"{what} cannot be read", remedy) from None


def _misfits(value: object, at: str, depth: int) -> Iterator[str]:
    """Each part that JSON would refuse or bring back as something else, with its place."""
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            yield f"{at} is {value}, which JSON does not have"
    elif depth == MAX_DEPTH:
        yield f"{at[:60]}... is nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(key, str):
                yield from _misfits(each, f"{at}.{key}", depth + 1)
            else:
                yield f"{at} has the key {key!r}, which is no text"
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _misfits(each, f"{at}[{place}]", depth + 1)
    else:
        yield f"{at} is of type {type(value).__qualname__}, which cannot be kept"
