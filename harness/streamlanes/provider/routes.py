"""Which path is answered by what. Pure but for the streams it asks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlanes.provider import embeddings
from streamlanes.provider.ask import Ask, BadRequest, chat_ask, messages_ask
from streamlanes.provider.chat import chat
from streamlanes.provider.frames import CREATED, MODEL, Frames
from streamlanes.provider.messages import messages
from streamlanes.provider.streams import Streams

CHAT = b"/v1/chat/completions"
MESSAGES = b"/v1/messages"
MODELS = b"/v1/models"

_OPENAI = chat(usage=False, padding=False)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A whole request, as far as anything depends on it. anthropic: it carries that dialect's version
    header. gzip: it accepts compressed answers."""

    method: bytes
    path: bytes
    body: bytes
    anthropic: bool = False
    gzip: bool = False


@dataclass(frozen=True)
class Answer:
    """A JSON answer, given at once."""

    status: int
    content: Mapping[str, Any]


def route(request: Request, streams: Streams) -> Ask | Answer:
    """What a request gets: an answer of the model's, or one at once."""
    handler = ROUTES.get((request.method, request.path))
    if handler is None and request.method == b"GET" and request.path.startswith(MODELS + b"/"):
        handler = _model
    if handler is None:
        return refusal(request, 404, "not found")
    try:
        return handler(request, streams)
    except BadRequest as error:
        return refusal(request, 400, f"bad request: {error}")


def refusal(request: Request, status: int, message: str) -> Answer:
    """An error in the words of the dialect that was spoken."""
    frames: Frames = messages() if request.path == MESSAGES or request.anthropic else _OPENAI
    return Answer(status, frames.refusal(status, message))


def _chat(request: Request, streams: Streams) -> Ask:
    return chat_ask(request.body, padding=streams.behaviour.padding, gzip=request.gzip)


def _messages(request: Request, streams: Streams) -> Ask:
    return messages_ask(request.body, gzip=request.gzip)


def _embeddings(request: Request, streams: Streams) -> Answer:
    return Answer(200, embeddings.answer(request.body))


def _models(request: Request, streams: Streams) -> Answer:
    model = _described(request)
    if request.anthropic:
        return Answer(200, {"data": [model], "has_more": False, "first_id": MODEL, "last_id": MODEL})
    return Answer(200, {"object": "list", "data": [model]})


def _model(request: Request, streams: Streams) -> Answer:
    if request.path != MODELS + b"/" + MODEL.encode():
        return refusal(request, 404, f"there is one model, {MODEL!r}")
    return Answer(200, _described(request))


def _described(request: Request) -> dict[str, Any]:
    if request.anthropic:
        return {
            "type": "model",
            "id": MODEL,
            "display_name": "Simulated",
            "created_at": "2023-11-14T22:13:20Z",
            "lifecycle": "active",
        }
    return {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "streamlanes"}


def _health(request: Request, streams: Streams) -> Answer:
    return Answer(200, {"status": "ok"})


def _stats(request: Request, streams: Streams) -> Answer:
    return Answer(200, streams.stats())


def _release(request: Request, streams: Streams) -> Answer:
    return Answer(200, {"released": streams.release()})


ROUTES: dict[tuple[bytes, bytes], Callable[[Request, Streams], Ask | Answer]] = {
    (b"POST", CHAT): _chat,
    (b"POST", MESSAGES): _messages,
    (b"POST", b"/v1/embeddings"): _embeddings,
    (b"GET", MODELS): _models,
    (b"GET", b"/health"): _health,
    (b"GET", b"/sim/stats"): _stats,
    (b"POST", b"/sim/release"): _release,
}
