"""The provider's bytes are what a client of the dialect expects."""

from streamlanes.provider import frames
from streamlanes.wire.http1 import ResponseDecoder
from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import EventDecoder


def test_a_whole_stream_decodes_to_its_tokens():
    call_id = frames.call_id(123)
    data = (
        frames.first(call_id)
        + b"".join(frames.token(123, call_id, k) for k in range(70))
        + frames.last(call_id)
    )
    response = ResponseDecoder()
    body = response.feed(data)
    assert response.complete
    assert response.status == 200
    events = EventDecoder().feed(body)
    fold = ChatFold()
    assert sum(fold.add(event) for event in events) == 70
    assert fold.finish_reason == "stop"
    assert fold.done
    assert len(events) == 73, "role, 70 tokens, finish, [DONE]"
    assert b"chatcmpl-0000000123" in events[5]
