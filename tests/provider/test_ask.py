"""What a request asks for, read strictly."""

import json

import pytest

from streamlanes.provider.ask import BadRequest, chat_ask, messages_ask
from streamlanes.provider.chat import chat
from streamlanes.provider.messages import messages


def asked(padding: bool = False, **more: object):
    body = {"model": "any", "messages": [{"role": "user", "content": "[call 17] Say something."}], **more}
    return chat_ask(json.dumps(body).encode(), padding=padding, gzip=False)


def test_a_stream_is_wanted_only_if_it_is_said():
    assert asked().stream is False
    assert asked(stream=None).stream is False
    assert asked(stream=True).stream is True
    assert asked().call == 17
    assert asked().prompt_tokens == len("[call 17] Say something.") // 4


def test_usage_and_padding_are_ways_of_the_same_dialect():
    assert asked().frames is chat(usage=False, padding=False)
    assert asked(stream_options={"include_usage": True}).frames is chat(usage=True, padding=False)
    assert asked(stream_options={"include_obfuscation": True}).frames is chat(usage=False, padding=True)
    assert asked(padding=True).frames is chat(usage=False, padding=True)
    without = asked(padding=True, stream_options={"include_obfuscation": False})
    assert without.frames is chat(usage=False, padding=False), "the request has the last word"


@pytest.mark.parametrize(
    ("content", "call"),
    [
        ("[call 3]", 3),
        ("hi [call 3]", None),
        ([{"type": "text", "text": "[call 4] hi"}, {"type": "image_url"}], 4),
        ("[call 1234567890]", None),
        (None, None),
        (7, None),
    ],
)
def test_a_prompt_names_its_call(content: object, call: int | None):
    body = {"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": content}]}
    assert chat_ask(json.dumps(body).encode(), padding=False, gzip=False).call == call
    message = messages_ask(json.dumps(body).encode(), gzip=True)
    assert (message.call, message.frames, message.gzip) == (call, messages(), True)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"[]", "object"),
        (b'{"messages": 7}', "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": ["x"]}', "message"),
        (b'{"messages": [{}], "stream": "yes"}', "stream"),
        (b'{"messages": [{}], "stream_options": 1}', "stream_options"),
        (b'{"messages": [{}], "stream_options": {"include_usage": 1}}', "include_usage"),
    ],
)
def test_what_is_no_request_is_told(body: bytes, word: str):
    with pytest.raises(BadRequest, match=word):
        chat_ask(body, padding=False, gzip=False)
