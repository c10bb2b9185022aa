"""L1, L2, L3 and L5 over all that the providers' own types allow, not only what was recorded."""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.corpus.crossing import crossing_law, crossings
from tests.corpus.laws import difference
from tests.support.published import Drawing, bedrock_shape, published
from weft.blobs import InMemoryBlobStore
from weft.canon import replay
from weft.wire import StreamReader, dialect

Json = dict[str, Any]
COUNTS = [6, pytest.param(400, marks=pytest.mark.soak)]
SDK_ONLY = ("http_options", "automatic_function_calling", "should_return_http_response")


def _gemini(seed: int) -> Json:
    drawing = Drawing(seed, without=SDK_ONLY)
    body: Json = {"contents": [drawing.of(published("google.genai.types.Content"), 1) for _ in range(3)]}
    for content in body["contents"]:
        content["role"] = drawing.luck.choice(("user", "model"))
    kinds = {"generationConfig": "GenerationConfig", "toolConfig": "ToolConfig", "systemInstruction": "Content"}
    for key, kind in kinds.items():
        if drawing.luck.random() < 0.6:
            body[key] = drawing.of(published(f"google.genai.types.{kind}"), 1)
    body["tools"] = [drawing.of(published("google.genai.types.Tool"), 2) for _ in range(2)]
    return body


def _google_genai(seed: int) -> Json:
    drawing = Drawing(seed, by_alias=False, without=SDK_ONLY)
    body: Json = {"model": "m", "contents": [drawing.of(published("google.genai.types.Content"), 1) for _ in range(3)]}
    for content in body["contents"]:
        content["role"] = drawing.luck.choice(("user", "model"))
    body["config"] = drawing.of(published("google.genai.types.GenerateContentConfig"), 1)
    return body


def _cohere(seed: int) -> Json:
    drawing = Drawing(seed, without=("detail",))  # which may be anything, by its type
    hints = typing.get_type_hints(published("cohere.v2.client.V2Client").chat, include_extras=True)
    settings = [name for name in hints if name not in ("return", "request_options", "model", "messages")]
    body: Json = {"model": "m", "messages": drawing.of(hints["messages"], 1)}
    return body | {name: drawing.of(hints[name], 1, name) for name in settings if drawing.luck.random() < 0.3}


def _converse(seed: int, *, answer: bool) -> Json:
    model = published("botocore.session.Session")().get_service_model("bedrock-runtime").operation_model("Converse")
    body: Json = bedrock_shape(Drawing(seed), model.output_shape if answer else model.input_shape)
    if not answer:
        body.setdefault("messages", [{"role": "user", "content": [{"text": "Hm?"}]}])
    return body


def _completion(seed: int) -> Json:
    body: Json = Drawing(seed).of(published("openai.types.chat.ChatCompletion"))
    for choice in body["choices"]:
        if choice["message"].get("tool_calls"):  # calls come in the new way or in the old
            choice["message"].pop("function_call", None)
    return body


def _drawn(path: str, **how: Any) -> Callable[[int], Json]:
    return lambda seed: Drawing(seed, **how).of(published(path))


CHAT = "openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming"
RESPONSES = "openai.types.responses.response_create_params.ResponseCreateParamsNonStreaming"
MESSAGES = "anthropic.types.message_create_params.MessageCreateParamsNonStreaming"
BETA = "anthropic.types.beta.message_create_params.MessageCreateParamsNonStreaming"
IMAGES = "openai.types.image_generate_params.ImageGenerateParamsNonStreaming"
REQUESTS: list[tuple[str, Callable[[int], Json]]] = [
    ("openai_chat", _drawn(CHAT)),
    ("openai_responses", _drawn(RESPONSES)),
    ("anthropic", _drawn(MESSAGES)),
    ("anthropic", _drawn(BETA, without=("betas",))),
    ("gemini", _gemini),
    ("gemini", _google_genai),
    ("bedrock", lambda seed: _converse(seed, answer=False)),
    ("cohere", _cohere),
]
ANSWERS: list[tuple[str, Callable[[int], Json]]] = [
    ("openai_chat", _completion),
    ("openai_responses", _drawn("openai.types.responses.Response")),
    ("openai_responses", _drawn("openai.types.responses.CompactedResponse")),
    ("openai_images", _drawn("openai.types.ImagesResponse")),
    ("anthropic", _drawn("anthropic.types.Message")),
    ("anthropic", _drawn("anthropic.types.beta.BetaMessage")),
    ("gemini", _drawn("google.genai.types.GenerateContentResponse")),
    ("gemini", _drawn("google.genai.types.GenerateContentResponse", by_alias=False)),
    ("bedrock", lambda seed: _converse(seed, answer=True)),
    ("cohere", _drawn("cohere.V2ChatResponse")),
]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "draw"), [*REQUESTS, ("openai_images", _drawn(IMAGES))])
def test_every_request_is_said_back_as_it_was(name: str, draw: Callable[[int], Json], count: int) -> None:
    """L1."""
    spoken = dialect(name)
    for seed in range(count):
        body, blobs = draw(seed), InMemoryBlobStore()
        decoded = spoken.decode_request(body, blobs)
        encoded = spoken.encode_request(decoded.messages, decoded.spec, blobs)

        assert (seed, encoded.losses, difference(body, encoded.body)) == (seed, [], None)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "draw"), ANSWERS)
def test_every_answer_is_said_back_as_it_was(name: str, draw: Callable[[int], Json], count: int) -> None:
    """L2."""
    spoken = dialect(name)
    for seed in range(count):
        body, blobs = draw(seed), InMemoryBlobStore()
        encoded = spoken.encode_response(spoken.decode_response(body, blobs), blobs)

        assert (seed, encoded.losses, difference(body, encoded.body)) == (seed, [], None)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "draw"), ANSWERS)
def test_every_answer_can_be_told_as_a_stream(name: str, draw: Callable[[int], Json], count: int) -> None:
    """L3: what is read from it has the same calls and the same visible text."""
    spoken = dialect(name)
    for seed in range(count):
        blobs = InMemoryBlobStore()
        reply = spoken.decode_response(draw(seed), blobs)
        encoder = spoken.StreamEncoder(blobs)
        data = b"".join([encoder.feed(event) for event in replay(reply)]) + encoder.close()
        reader = StreamReader(spoken.StreamDecoder(blobs), spoken.framing)
        reader.feed(data)
        reader.close()

        assert (seed, _visible(reader.reply)) == (seed, _visible(reply))


def _visible(reply: Any) -> Any:
    parts = reply.message.parts if reply.message else ()
    calls = [(part.tool_call_id, part.tool_name, part.tool_args) for part in parts if part.type == "tool_call"]
    return calls, "".join(part.text or "" for part in parts if part.type in ("text", "refusal"))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "draw"), REQUESTS)
def test_every_request_can_be_taken_elsewhere(name: str, draw: Callable[[int], Json], count: int) -> None:
    """L5: each target's own types accept it, and nothing is lost in silence."""
    for seed in range(count):
        exchange: Any = SimpleNamespace(request=draw(seed), dialect=dialect(name), recorded_as=name)
        for target in crossings(exchange):
            assert (seed, target, crossing_law(exchange, target)) == (seed, target, None)
