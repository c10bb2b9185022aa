"""What ingest() makes of an answer (model.md, section 11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, ANSWERS, SIGNED, a_spec, answer_of, every, heard, ingest
from tests.support.builders import text
from weft.canon import Context, Cursor, thaw

Json = dict[str, Any]
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "s"}],
    "encrypted_content": "e",
}
GOOGLE_CALL = {"functionCall": {"name": "dig", "args": {"n": 1}, "id": "t1"}, "thoughtSignature": "c2ln"}
BEDROCK_CALL = {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {"n": 1}}}
BEDROCK_THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
KEPT: list[tuple[str, Json, str, str | None]] = [
    ("responses", {"type": "function_call", "call_id": "t1", "name": "dig", "arguments": '{"n":1}'}, "tool_call", None),
    ("responses", REASONING, "thinking", "s"),
    ("anthropic", {"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}}, "tool_call", None),
    ("anthropic", SIGNED, "thinking", "hm"),
    ("anthropic", {"type": "redacted_thinking", "data": "x"}, "thinking", None),
    ("anthropic", {"type": "compaction", "content": "so far"}, "compaction", None),
    ("google", GOOGLE_CALL, "tool_call", None),
    ("google", {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, "thinking", "hm"),
    ("bedrock", BEDROCK_CALL, "tool_call", None),
    ("bedrock", BEDROCK_THOUGHT, "thinking", "hm"),
]


@pytest.mark.parametrize(("name", "block", "kind", "words"), KEPT)
def test_m53_the_providers_block_is_kept(name: str, block: Json, kind: str, words: str | None) -> None:
    """M-53: tool_call, thinking, compaction and image parts keep the provider block; plain text parts do not."""
    [part] = heard(name, answer_of(name, block))

    assert (part.type, part.text, thaw(part.provider_raw)) == (kind, words, block)
    if kind == "tool_call":
        assert (part.tool_call_id, part.tool_name, part.tool_args) == ("t1", "dig", {"n": 1})


@pytest.mark.parametrize("name", ["responses", "chat", "anthropic", "google", "bedrock"])
def test_m53_plain_text_keeps_nothing(name: str) -> None:
    """M-53."""
    assert heard(name, ANSWERS[name]) == (text("Aye."),)


def test_m53_pictures_keep_their_block_and_their_bytes() -> None:
    """M-53, section 11: base64 into a blob, a URL raw only."""
    store = Context()
    call = {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "status": "completed"}
    for name, answer in (
        ("images", ANSWERS["images"]),
        ("responses", answer_of("responses", call)),
        ("google", answer_of("google", {"inlineData": {"mimeType": "image/png", "data": "aGk="}})),
    ):
        [part] = heard(name, answer, store)
        assert part.blob is not None
        assert (part.type, part.blob.media_type, store.blob_store.get_blob(part.blob)) == ("image", "image/png", b"hi")
        assert part.provider_raw is not None

    [linked] = heard("images", {"data": [{"url": "https://example.org/a.png"}]})
    assert linked.blob is None
    assert thaw(linked.provider_raw) == {"url": "https://example.org/a.png"}


def test_m53_what_google_sends_inline_is_named_by_its_type() -> None:
    """Section 11: inline data is image, audio, video or file with a blob; both spellings are read."""
    kinds = ["image/png", "audio/wav", "video/mp4", "application/pdf"]
    camel = [{"inlineData": {"mimeType": kind, "data": "aGk="}} for kind in kinds]
    snake = [{"inline_data": {"mime_type": kind, "data": "aGk="}} for kind in kinds]

    for blocks in (camel, snake):
        assert [part.type for part in heard("google", answer_of("google", *blocks))] == [
            "image",
            "audio",
            "video",
            "file",
        ]


def test_chat_has_text_then_thinking_then_calls() -> None:
    """Section 11, chat.completions."""
    call = {"id": "t1", "type": "function", "function": {"name": "dig", "arguments": "{}"}}
    for field in ("reasoning_content", "reasoning"):
        parts = heard("chat", answer_of("chat", {"content": "Aye.", field: "hm", "tool_calls": [call]}))
        assert [(part.type, part.text) for part in parts] == [("text", "Aye."), ("thinking", "hm"), ("tool_call", None)]
        assert thaw(parts[2].provider_raw) == call


def test_compaction_is_a_blob_and_compact_takes_nothing_else() -> None:
    """Section 11: a blob of the encrypted text, kind `compaction`, application/octet-stream."""
    item = ANSWERS["compact"]["output"][0]
    other = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Aye."}]}
    for name in ("responses", "compact"):
        context = Context()
        [part] = [part for part in heard(name, answer_of(name, item, other), context) if part.type == "compaction"]
        assert part.blob is not None
        assert (part.blob.kind, part.blob.media_type) == ("compaction", "application/octet-stream")
        assert context.blob_store.get_blob(part.blob) == b"c2VhbGVk"

    assert [part.type for part in heard("compact", answer_of("compact", item, other))] == ["compaction"]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("responses", "resp_1"),
        ("compact", "resp_2"),
        ("chat", "chatcmpl_1"),
        ("anthropic", "msg_1"),
        ("google", None),
        ("images", None),
        ("bedrock", None),
    ],
)
def test_m54_a_message_has_the_id_of_its_answer_where_listed(name: str, named: str | None) -> None:
    """M-54: responses, compact, chat, anthropic; none for the rest."""
    assert ingest(name, ANSWERS[name]).messages[0].id == named


@every
def test_m55_only_responses_moves_the_cursor(name: str) -> None:
    """M-55: last_response_id is the response's, the other two are kept. Compact does not."""
    context = Context(cursor=Cursor("resp_0", "conv_1", "sess_1"))

    moved = "resp_1" if name == "responses" else "resp_0"
    assert ingest(name, ANSWERS[name], context).cursor == Cursor(moved, "conv_1", "sess_1")


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("anthropic", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ("anthropic", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
        ("responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ("responses", {"type": "brand_new", "id": "bn_1", "x": [1]}),
    ],
)
def test_m56_blocks_that_are_the_providers_own_go_back_to_it_alone(name: str, block: Json) -> None:
    """M-56."""
    said = {"anthropic": {"type": "text", "text": "Aye."}}.get(name, ANSWERS["responses"]["output"][0])
    context = ingest(name, answer_of(name, block, said), Context().user("q"))

    [part, _] = context.messages[1].parts
    assert (part.type, thaw(part.provider_raw)) == ("provider", block)
    for other in ("responses", "chat", "anthropic", "google", "bedrock"):
        planned = ADAPTERS[other][0]().plan(context, a_spec(other, max_output_tokens=1))
        items = planned.request.get("input") or planned.request.get("messages") or planned.request["contents"]
        sent = [each for item in items for each in (item, *(item.get("content") or item.get("parts") or ()))]
        assert (block in sent) == (other == name)
        assert ("context.messages[1].parts[0]" in [item.description for item in planned.excluded]) == (other != name)
        assert ("context.messages[1].parts[0]" in planned.must_roundtrip) == (other == name)


@every
def test_m57_why_it_stopped_and_who_answered_is_not_in_the_context(name: str) -> None:
    """M-57."""
    written = str(ingest(name, ANSWERS[name]).to_dict())

    assert not any(word in written for word in ("finish_reason", "stop_reason", "stopReason", "finishReason"))


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 35},
            (10, 25, 35),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 30},
            (10, 20, 30),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}, (10, 25, 35)),
        (
            {
                "prompt_token_count": 10,
                "candidates_token_count": 20,
                "tool_use_prompt_token_count": 3,
                "total_token_count": 33,
            },
            (13, 20, 33),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 20}, (10, 20, 30)),
    ],
)
def test_the_usage_of_google_counts_thoughts_and_tools_where_its_total_does(
    usage: Json, counts: tuple[int, int, int]
) -> None:
    """Section 11, usage; acceptance case 8."""
    [got] = ingest("google", {**ANSWERS["google"], "usageMetadata": usage}).usage_log

    assert (got.input_tokens, got.output_tokens, got.total_tokens) == counts


@pytest.mark.parametrize(
    ("name", "usage", "counts"),
    [
        ("chat", {"prompt_tokens": 3, "completion_tokens": "x", "total_tokens": 5}, (3, None, 5)),
        ("bedrock", {"inputTokens": 3, "outputTokens": 2}, (3, 2, 5)),
        ("anthropic", {"input_tokens": 3, "output_tokens": 2}, (3, 2, 5)),
        ("responses", {"input_tokens": 3.5, "output_tokens": 2, "total_tokens": True}, (None, 2, None)),
    ],
)
def test_the_usage_of_others_is_read_where_it_is_a_number(
    name: str, usage: Json, counts: tuple[int | None, ...]
) -> None:
    """Section 11, usage: non-integers count as None."""
    [got] = ingest(name, {**ANSWERS[name], "usage": usage}).usage_log

    assert (got.input_tokens, got.output_tokens, got.total_tokens) == counts
