"""What a caller asks for: the bodies of requests, read strictly. Pure."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamlanes.provider.chat import chat
from streamlanes.provider.frames import Frames
from streamlanes.provider.messages import messages

LETTERS_PER_TOKEN = 4
"""How many letters of a prompt are counted as a token: the usual rule of thumb for English."""

_CHAT = chat(usage=False, padding=False)
_CALL = re.compile(r"\[call ([0-9]{1,9})\]")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request for an answer.

    frames: the dialect and way of its bytes. call: the index in a prompt that begins `[call 123]`; None
    without one. stream: whether it is wanted token by token. gzip: whether the caller takes compressed bytes.
    """

    frames: Frames = _CHAT
    call: int | None = None
    stream: bool = True
    prompt_tokens: int = 1
    gzip: bool = False


class BadRequest(ValueError):
    """A body that is no request; the text says why."""


def chat_ask(body: bytes, *, padding: bool, gzip: bool) -> Ask:
    """A chat completion. padding: whether events are padded where the request does not say."""
    request = read(body)
    stream = _yes_or_no(request, "stream")
    options = request.get("stream_options") or {}
    if not isinstance(options, dict):
        raise BadRequest("stream_options must be an object")
    usage = _yes_or_no(options, "include_usage")
    padding = _yes_or_no(options, "include_obfuscation", default=padding)
    return _ask(request, chat(usage=usage, padding=padding), stream, gzip)


def messages_ask(body: bytes, *, gzip: bool) -> Ask:
    """A message."""
    request = read(body)
    return _ask(request, messages(), _yes_or_no(request, "stream"), gzip)


def read(body: bytes) -> dict[str, Any]:
    """A body's JSON object. Raises BadRequest."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is no JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadRequest("the body must be a JSON object")
    return request


def _ask(request: dict[str, Any], frames: Frames, stream: bool, gzip: bool) -> Ask:
    texts = list(_texts(request))
    named = next((found for text in texts if (found := _CALL.match(text))), None)
    return Ask(
        frames=frames,
        call=int(named[1]) if named else None,
        stream=stream,
        prompt_tokens=max(1, sum(map(len, texts)) // LETTERS_PER_TOKEN),
        gzip=gzip,
    )


def _texts(request: dict[str, Any]) -> Iterator[str]:
    """The text of each message. Raises BadRequest where there are no messages."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list with one message at the least")
    for message in messages:
        if not isinstance(message, dict):
            raise BadRequest("each message must be an object")
        yield text_of(message.get("content"))


def text_of(content: object) -> str:
    """A message's text: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _yes_or_no(table: dict[str, Any], name: str, default: bool = False) -> bool:
    value = table.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadRequest(f"{name} must be true or false")
    return value
