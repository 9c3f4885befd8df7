"""Simulated embeddings: the same text gives the same vector of length 1, and nothing is meant by it. Pure."""

import base64
import hashlib
import math
import struct
from typing import Any

from streamlanes.provider.ask import LETTERS_PER_TOKEN, BadRequest, read
from streamlanes.provider.frames import MODEL

DIMENSIONS = 256
MOST_DIMENSIONS = 4096
MOST_NUMBERS = 1 << 17
"""Of all vectors in an answer: more would keep every stream waiting while they are made."""

_MOST = 2.0**31


def answer(body: bytes) -> dict[str, Any]:
    """What `/v1/embeddings` answers. Raises BadRequest."""
    request = read(body)
    inputs = _inputs(request.get("input"))
    dimensions = request.get("dimensions")
    dimensions = DIMENSIONS if dimensions is None else dimensions
    if isinstance(dimensions, bool) or not isinstance(dimensions, int):
        raise BadRequest("dimensions must be a whole number")
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise BadRequest(f"dimensions must be from 1 to {MOST_DIMENSIONS}")
    if len(inputs) * dimensions > MOST_NUMBERS:
        raise BadRequest(f"inputs times dimensions must be {MOST_NUMBERS} at most; send fewer inputs")
    form = request.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise BadRequest("encoding_format must be float or base64")
    data = []
    for index, text in enumerate(inputs):
        made = vector(text, dimensions)
        shown = base64.b64encode(struct.pack(f"<{dimensions}f", *made)).decode() if form == "base64" else made
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = sum(max(1, len(text) // LETTERS_PER_TOKEN) for text in inputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": MODEL, "usage": usage}


def vector(text: str, dimensions: int) -> list[float]:
    """The text's vector, of length 1."""
    digest = hashlib.shake_256(text.encode(errors="surrogatepass")).digest(4 * dimensions)
    numbers = [each / _MOST for each in struct.unpack(f"<{dimensions}i", digest)]
    length = math.hypot(*numbers)
    return [each / length for each in numbers] if length else numbers


def _inputs(given: object) -> list[str]:
    """Texts, or token numbers as text; one or several."""
    if isinstance(given, str):
        return [_text(given)]
    if not isinstance(given, list) or not given:
        raise BadRequest("input must be a text, a list of texts, or lists of token numbers")
    if all(isinstance(each, int) for each in given):
        return [_text(given)]
    return [_text(each) for each in given]


def _text(given: object) -> str:
    if isinstance(given, str) and given:
        return given
    if isinstance(given, list) and given and all(isinstance(each, int) for each in given):
        return " ".join(map(str, given))
    raise BadRequest("an input must be a text that is not empty, or a list of token numbers")
