"""plan() and ingest() of the seven endpoints under short names, and one small answer of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import assistant, message, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import Context, Message, Part, RequestPlan, RunSpec, ToolSpecification
from weft.wire import (
    AnthropicMessagesAdapter,
    BedrockConverseAdapter,
    GoogleGenAIAdapter,
    OpenAIChatCompletionsAdapter,
    OpenAIImagesAdapter,
    OpenAIResponsesAdapter,
    OpenAIResponsesCompactAdapter,
)

if TYPE_CHECKING:
    from weft.wire import Adapter

__all__ = [
    "ADAPTERS",
    "ANSWERS",
    "SIGNED",
    "TALK",
    "TOOL",
    "a_spec",
    "answer_of",
    "every",
    "files",
    "heard",
    "ingest",
    "plan",
    "request",
]

Json = dict[str, Any]
# Provider and endpoint of each, by the name its tests go by; the order is that of the spec's table.
ADAPTERS: dict[str, tuple[type[Adapter], str, str]] = {
    "responses": (OpenAIResponsesAdapter, "openai", "responses.create"),
    "compact": (OpenAIResponsesCompactAdapter, "openai", "responses.compact"),
    "chat": (OpenAIChatCompletionsAdapter, "openai", "chat.completions"),
    "images": (OpenAIImagesAdapter, "openai", "images.generate"),
    "anthropic": (AnthropicMessagesAdapter, "anthropic", "messages.create"),
    "google": (GoogleGenAIAdapter, "google", "models.generate_content"),
    "bedrock": (BedrockConverseAdapter, "bedrock", "converse"),
}
every = pytest.mark.parametrize("name", ADAPTERS)
TOOL = ToolSpecification("dig", "Dig a hole", {"type": "object", "properties": {"n": {"type": "integer"}}})


def a_spec(name: str, model: str = "m", **fields: Any) -> RunSpec:
    _, provider, endpoint = ADAPTERS[name]
    return RunSpec(provider, endpoint, model, **fields)


def plan(name: str, *messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> RequestPlan:
    context = Context(messages, blob_store=blobs or InMemoryBlobStore())
    return ADAPTERS[name][0]().plan(context, a_spec(name, **fields))


def request(name: str, *messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> Json:
    return plan(name, *messages, blobs=blobs, **fields).request


def ingest(name: str, response: Any, context: Context | None = None, **fields: Any) -> Context:
    return ADAPTERS[name][0]().ingest(Context() if context is None else context, response, spec=a_spec(name, **fields))


def heard(name: str, response: Any, context: Context | None = None) -> tuple[Part, ...]:
    """Give the parts of the one message an answer becomes."""
    [got] = ingest(name, response, context).messages
    return got.parts


# One answer of each, in its smallest form.
ANSWERS: dict[str, Json] = {
    "responses": {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Aye."}]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "compact": {
        "id": "resp_2",
        "object": "response.compaction",
        "output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "chat": {
        "id": "chatcmpl_1",
        "model": "gpt-5",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Aye."}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    "images": {
        "created": 1,
        "data": [{"b64_json": "aGk="}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Aye."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "google": {
        "responseId": "r1",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Aye."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    },
    "bedrock": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Aye."}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
    },
}


def answer_of(name: str, *content: Json) -> Json:
    match name:
        case "responses" | "compact":
            return {**ANSWERS[name], "output": list(content)}
        case "anthropic":
            return {**ANSWERS[name], "content": list(content)}
        case "google":
            return {"candidates": [{"content": {"role": "model", "parts": list(content)}}]}
        case "bedrock":
            return {"output": {"message": {"role": "assistant", "content": list(content)}}}
        case _:
            return {"choices": [{"message": content[0]}]}


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TALK = (
    user("Depth?"),
    assistant("One", "moment.", tool_call("dig", {"n": 1}), tool_call("dig", {}, call_id="t2")),
    tool(tool_result("6.2 m"), tool_result({"a": 1}, call_id="t2")),
    message("system", "Be kind."),
    message("developer", "Metres."),
    user("So?", "Well?"),
)


def files(store: InMemoryBlobStore) -> dict[str, Part]:
    return {
        "image": Part("image", blob=store.put_blob(b"hi", media_type="image/png", kind="image")),
        "file": Part("file", blob=store.put_blob(b"hi", media_type="application/pdf", kind="file")),
    }
