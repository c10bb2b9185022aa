"""How each kind of part is spoken (model.md, section 10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import TALK, files, plan, request
from tests.support.builders import assistant, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import Message, Part

Json = dict[str, Any]
SPOKEN: dict[str, Json] = {
    "responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "Depth?"},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "One"}, {"type": "output_text", "text": "moment."}],
            },
            {"type": "function_call", "call_id": "t1", "name": "dig", "arguments": '{"n":1}'},
            {"type": "function_call", "call_id": "t2", "name": "dig", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": "6.2 m"},
            {"type": "function_call_output", "call_id": "t2", "output": '{"a":1}'},
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": "Metres."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "So?"}, {"type": "input_text", "text": "Well?"}],
            },
        ],
    },
    "chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Depth?"},
            {
                "role": "assistant",
                "content": "One moment.",
                "tool_calls": [
                    {"id": "t1", "type": "function", "function": {"name": "dig", "arguments": '{"n":1}'}},
                    {"id": "t2", "type": "function", "function": {"name": "dig", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
            {"role": "tool", "tool_call_id": "t2", "content": '{"a":1}'},
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": "Metres."},
            {"role": "user", "content": [{"type": "text", "text": "So?"}, {"type": "text", "text": "Well?"}]},
        ],
    },
    "anthropic": {
        "model": "m",
        "system": "Be kind.\n\nMetres.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Depth?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "One"},
                    {"type": "text", "text": "moment."},
                    {"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}},
                    {"type": "tool_use", "id": "t2", "name": "dig", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": '{"a":1}'},
                    {"type": "text", "text": "So?"},
                    {"type": "text", "text": "Well?"},
                ],
            },
        ],
        "max_tokens": 4096,
    },
    "google": {
        "model": "m",
        "contents": [
            {"role": "user", "parts": [{"text": "Depth?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "One"},
                    {"text": "moment."},
                    {"function_call": {"name": "dig", "args": {"n": 1}, "id": "t1"}},
                    {"function_call": {"name": "dig", "args": {}, "id": "t2"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "dig", "response": {"result": "6.2 m"}, "id": "t1"}},
                    {"function_response": {"name": "dig", "response": {"a": 1}, "id": "t2"}},
                    {"text": "So?"},
                    {"text": "Well?"},
                ],
            },
        ],
        "config": {"system_instruction": "Be kind.\n\nMetres."},
    },
    "bedrock": {
        "modelId": "m",
        "messages": [
            {"role": "user", "content": [{"text": "Depth?"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "One"},
                    {"text": "moment."},
                    {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {"n": 1}}},
                    {"toolUse": {"toolUseId": "t2", "name": "dig", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "6.2 m"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "t2", "content": [{"text": '{"a":1}'}], "status": "success"}},
                    {"text": "So?"},
                    {"text": "Well?"},
                ],
            },
        ],
        "system": [{"text": "Be kind."}, {"text": "Metres."}],
    },
}
SPOKEN["compact"] = SPOKEN["responses"]


@pytest.mark.parametrize("name", SPOKEN)
def test_a_conversation_is_spoken_as_section_10_says(name: str) -> None:
    """Section 10: roles, calls, results, joining and merging, and M-52's names."""
    planned = plan(name, *TALK)

    assert planned.request == SPOKEN[name]
    assert (planned.excluded, planned.errors) == ((), ())


MEDIA: dict[str, list[Json]] = {
    "responses": [
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_file", "filename": "upload.pdf", "file_data": "aGk="},
        {"type": "input_file", "file_id": "f1"},
    ],
    "chat": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "file", "file": {"file_data": "aGk=", "filename": "upload.bin"}},
        {"type": "file", "file": {"file_id": "f1"}},
    ],
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
        {"type": "document", "source": {"type": "file", "file_id": "f1"}},
    ],
    "google": [
        {"inline_data": {"mime_type": "image/png", "data": b"hi"}},
        {"inline_data": {"mime_type": "application/pdf", "data": b"hi"}},
    ],
    "bedrock": [
        {"image": {"format": "png", "source": {"bytes": b"hi"}}},
        {"document": {"format": "pdf", "name": "document", "source": {"bytes": b"hi"}}},
    ],
}


@pytest.mark.parametrize("name", MEDIA)
def test_media_are_carried(name: str) -> None:
    """Section 10; README case 3: each carries the same bytes."""
    store = InMemoryBlobStore()
    sent = files(store)
    remote = [Part("file", provider_raw={"file_id": "f1"})] if len(MEDIA[name]) > 2 else []

    got = request(name, user("Look:", sent["image"], sent["file"], *remote), blobs=store, max_output_tokens=1)

    first = (got.get("input") or got.get("messages") or got["contents"])[0]
    assert (first.get("content") or first["parts"])[1:] == _as_written(name, MEDIA[name])


def _as_written(name: str, media: list[Json]) -> list[Json]:
    """Google's SDK takes bytes, and base64 as well; either is right."""
    if name != "google":
        return media
    return [{"inline_data": {**each["inline_data"], "data": "aGk="}} for each in media]


def test_files_of_google_by_address() -> None:
    """Section 10: file_data from raw file_uri or uri with mime_type or media_type."""
    parts = [
        Part("file", provider_raw={"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}),
        Part("file", provider_raw={"uri": "gs://b/a.pdf", "media_type": "application/pdf"}),
    ]

    [content] = request("google", user(*parts))["contents"]

    written = {"file_data": {"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}}
    assert content["parts"] == [written, written]


@pytest.mark.parametrize(
    ("media_type", "name", "written"),
    [
        ("application/pdf", "Log book (2).pdf", {"format": "pdf", "name": "Log_book__2__pdf"}),
        ("text/csv", None, {"format": "csv", "name": "document"}),
        ("application/x-new", None, {"format": "txt", "name": "document"}),
        ("text/markdown", None, {"format": "md", "name": "document"}),
    ],
)
def test_documents_of_bedrock_have_a_format_and_a_name(media_type: str, name: str | None, written: Json) -> None:
    """Section 10, bedrock/converse."""
    store = InMemoryBlobStore()
    blob = store.put_blob(b"hi", media_type=media_type, kind="file")
    raw = None if name is None else {"name": name}

    [turn] = request("bedrock", user("x", Part("file", blob=blob, provider_raw=raw)), blobs=store)["messages"]

    document = turn["content"][1]["document"]
    assert document == {**written, "source": {"bytes": b"hi"}}


def test_m52_the_name_of_a_result() -> None:
    """M-52: its own, else that of an earlier call with the same id, else raw; none of these: excluded."""
    named = Part("tool_result", tool_call_id="t1", tool_name="own", tool_output="x")
    raw = Part("tool_result", tool_call_id="t1", tool_output="x", provider_raw={"name": "raw"})

    def name_of(*messages: Message) -> Any:
        last = request("google", user("a"), *messages)["contents"][-1]["parts"][0]
        return last["function_response"]["name"]

    call = assistant(tool_call("dig"))
    assert name_of(call, tool(named)) == "own"
    assert name_of(call, tool(tool_result("x"))) == "dig"
    assert name_of(call, tool(raw)) == "dig"
    nameless = assistant(Part("tool_call", tool_call_id="t1"))
    planned = plan("google", user("a"), nameless, tool(tool_result("x")))
    assert planned.excluded[0].description == "context.messages[1].parts[0]"


@pytest.mark.parametrize(("name", "key"), [("anthropic", "is_error"), ("bedrock", "status")])
def test_a_failed_tool_is_marked(name: str, key: str) -> None:
    """Section 10, *weft adds* and *weft fixes*; README case 8."""
    part = Part("tool_result", tool_call_id="t1", tool_output="x", provider_raw={"is_error": True})

    last = request(name, user("a"), assistant(tool_call()), tool(part))["messages"][-1]["content"][0]

    assert (last.get("toolResult") or last)[key] == {"is_error": True, "status": "error"}[key]


@pytest.mark.parametrize(
    ("name", "part", "written"),
    [
        (
            "chat",
            thinking("hm"),
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
        ),
        (
            "chat",
            thinking("hm", raw={"reasoning": "raw"}),
            {"role": "assistant", "content": "a", "reasoning": "raw"},
        ),
        ("google", thinking("hm"), {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "a"}]}),
        (
            "bedrock",
            thinking("hm"),
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "a"}],
            },
        ),
        (
            "anthropic",
            thinking("hm"),
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}],
            },
        ),
    ],
)
def test_thinking_by_hand_is_sent_as_section_10_says(name: str, part: Part, written: Json) -> None:
    got = request(name, user("q"), assistant(part, "a"))

    assert (got.get("messages") or got["contents"])[1] == written


def test_thinking_by_hand_has_no_place_in_responses() -> None:
    """Section 10: only the raw reasoning item of this API goes back."""
    planned = plan("responses", user("q"), assistant(thinking("hm"), "a"))

    assert [item.description for item in planned.excluded] == ["context.messages[1].parts[0]"]
