"""The official SDKs talk to the provider as they come, plain and over TLS."""

import asyncio
import ssl
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from serving import Serving, made_certificate
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.embeddings import DIMENSIONS
from streamlanes.provider.faults import Fault
from streamlanes.provider.frames import MODEL, said

TOKENS = 3
PROMPT = [{"role": "user", "content": "[call 2] Say something."}]
TEXT = said(2, 0, TOKENS)
FAULTS = [
    Fault.STATUS_429,
    Fault.STATUS_500,
    Fault.STATUS_529,
    Fault.ERROR,
    Fault.CRLF,
    Fault.COMMENTS,
    Fault.GZIP,
    Fault.SPLIT_CHARACTERS,
    Fault.RESET,
]


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    up = Serving()
    yield up
    up.close()


@pytest.fixture(scope="module")
def failing() -> Iterator[dict[Fault, Serving]]:
    """A provider for each fault, in which every call has it."""
    up = {fault: Serving(behaviour=Behaviour(faults={fault: 1.0}, retry_after_s=7)) for fault in FAULTS}
    yield up
    for each in up.values():
        each.close()


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=made_certificate().trusted)


def url(up: Serving, tls: bool) -> str:
    host, port = up.tls_address if tls else up.address
    return f"{'https' if tls else 'http'}://{host}:{port}"


def openai_at(up: Serving, tls: bool = False) -> openai.OpenAI:
    own = {"http_client": openai.DefaultHttpxClient(verify=trusting())} if tls else {}
    return openai.OpenAI(base_url=f"{url(up, tls)}/v1", api_key="none", max_retries=0, **own)


def anthropic_at(up: Serving, tls: bool = False) -> anthropic.Anthropic:
    own = {"http_client": anthropic.DefaultHttpxClient(verify=trusting())} if tls else {}
    return anthropic.Anthropic(base_url=url(up, tls), api_key="none", max_retries=0, **own)


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=PROMPT, **more)


def message(client: anthropic.Anthropic, **more: Any) -> Any:
    return client.messages.create(model=MODEL, max_tokens=100, messages=PROMPT, **more)


@pytest.mark.parametrize("tls", [False, True])
def test_openai_streams_with_usage(serving: Serving, tls: bool):
    with openai_at(serving, tls) as client:
        chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.usage is None for chunk in chunks] == [True] * (1 + TOKENS + 1) + [False]
    assert chunks[-1].usage.completion_tokens == TOKENS


@pytest.mark.parametrize("tls", [False, True])
def test_openai_answers_that_are_not_streamed(serving: Serving, tls: bool):
    with openai_at(serving, tls) as client:
        found = chat(client)
        assert found.choices[0].message.content == TEXT
        assert found.choices[0].finish_reason == "stop"
        assert found.usage.completion_tokens == TOKENS
        assert [model.id for model in client.models.list()] == [MODEL]
        assert client.models.retrieve(MODEL).owned_by == "streamlanes"
        with pytest.raises(openai.NotFoundError, match="one model"):
            client.models.retrieve("another")
        vectors = client.embeddings.create(model=MODEL, input=["one", "two"])
        assert [len(each.embedding) for each in vectors.data] == [DIMENSIONS] * 2


def test_openai_asynchronous(serving: Serving):
    async def main() -> str:
        async with openai.AsyncOpenAI(base_url=f"{url(serving, False)}/v1", api_key="none") as client:
            chunks = await client.chat.completions.create(model=MODEL, messages=PROMPT, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

    assert asyncio.run(main()) == TEXT


@pytest.mark.parametrize("tls", [False, True])
def test_anthropic_streams_with_cumulative_usage(serving: Serving, tls: bool):
    with anthropic_at(serving, tls) as client:
        events = list(message(client, stream=True))
        assert [event.type for event in events] == [
            "message_start",
            "content_block_start",
            *["content_block_delta"] * TOKENS,
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        assert events[-2].usage.output_tokens == TOKENS
        with client.messages.stream(model=MODEL, max_tokens=100, messages=PROMPT) as stream:
            assert "".join(stream.text_stream) == TEXT
            whole = stream.get_final_message()
        assert whole.stop_reason == "end_turn"
        assert whole.usage.output_tokens == TOKENS


@pytest.mark.parametrize("tls", [False, True])
def test_anthropic_answers_that_are_not_streamed(serving: Serving, tls: bool):
    with anthropic_at(serving, tls) as client:
        found = message(client)
        assert found.content[0].text == TEXT
        assert (found.stop_reason, found.usage.output_tokens) == ("end_turn", TOKENS)
        (model,) = client.models.list()
        assert (model.id, model.display_name) == (MODEL, "Simulated")
        assert client.models.retrieve(MODEL).id == MODEL
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("another")


def test_anthropic_asynchronous(serving: Serving):
    async def main() -> str:
        async with (
            anthropic.AsyncAnthropic(base_url=url(serving, False), api_key="none") as client,
            client.messages.stream(model=MODEL, max_tokens=9, messages=PROMPT) as stream,
        ):
            return "".join([text async for text in stream.text_stream])

    assert asyncio.run(main()) == TEXT


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "openais", "anthropics"),
    [
        (Fault.STATUS_429, openai.RateLimitError, anthropic.RateLimitError),
        (Fault.STATUS_500, openai.InternalServerError, anthropic.InternalServerError),
        (Fault.STATUS_529, openai.InternalServerError, anthropic.InternalServerError),
    ],
)
def test_a_refusal_is_the_exception_of_its_status(
    failing: dict[Fault, Serving], fault: Fault, openais: type, anthropics: type, stream: bool
):
    with openai_at(failing[fault]) as client, pytest.raises(openais) as error:
        chat(client, stream=stream)
    assert f"status-{error.value.status_code}" == fault
    with anthropic_at(failing[fault]) as client, pytest.raises(anthropics) as other:
        message(client, stream=stream)
    assert f"status-{other.value.status_code}" == fault


def test_an_error_in_mid_stream_is_an_exception(failing: dict[Fault, Serving]):
    with openai_at(failing[Fault.ERROR]) as client, pytest.raises(openai.APIError, match="had an error"):
        list(chat(client, stream=True))
    with (
        anthropic_at(failing[Fault.ERROR]) as client,
        pytest.raises(anthropic.APIStatusError, match="Overloaded"),
    ):
        list(message(client, stream=True))


def test_a_reset_is_a_failed_connection(failing: dict[Fault, Serving]):
    with openai_at(failing[Fault.RESET]) as client, pytest.raises(openai.APIConnectionError):
        chat(client)


@pytest.mark.parametrize("fault", [Fault.CRLF, Fault.COMMENTS, Fault.GZIP, Fault.SPLIT_CHARACTERS])
def test_what_is_only_unusual_is_read_all_the_same(failing: dict[Fault, Serving], fault: Fault):
    up = failing[fault]
    with openai_at(up) as client:
        chunks = list(chat(client, stream=True))
        found = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
    with (
        anthropic_at(up) as client,
        client.messages.stream(model=MODEL, max_tokens=9, messages=PROMPT) as stream,
    ):
        other = list(stream.text_stream)
    assert len(found) == len(other) == TOKENS
    assert "\ufffd" not in "".join([*found, *other])
    assert found == other


def test_requests_that_are_wrong_are_bad_requests(serving: Serving):
    with openai_at(serving) as client, pytest.raises(openai.BadRequestError, match="one message"):
        client.chat.completions.create(model=MODEL, messages=[])
    with anthropic_at(serving) as client, pytest.raises(anthropic.BadRequestError, match="one message"):
        client.messages.create(model=MODEL, max_tokens=1, messages=[])
