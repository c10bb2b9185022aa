from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.builders import text, thinking, tool_call, tool_result
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    ExcludedItem,
    Message,
    Part,
    blocks_provider,
    read_block,
    read_blocks,
    turn_messages,
    write_block,
    write_blocks,
)
from weft.errors import InvalidContentError

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}


def round_trip(block: dict[str, Any]) -> Any:
    blobs = InMemoryBlobStore()
    return write_block(read_block(block, blobs), blobs)


# -- blocks to parts -------------------------------------------------------------------------------------------


def test_the_conversation_of_the_specification_reads_as_it_shows() -> None:
    """R-6, R-8: the four views of README section 4."""
    thought = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "tu1", "name": "sonar___depth", "input": {"pier": 4}}
    result = {
        "type": "tool_result",
        "name": "sonar___depth",
        "tool_use_id": "tu1",
        "content": [{"type": "text", "text": "6.2 m"}],
    }

    parts = read_blocks([{"type": "text", "text": "Depth at pier 4?"}, thought, call, result], InMemoryBlobStore())

    assert parts == [
        Part("text", "Depth at pier 4?"),
        Part("thinking", "Ask the sonar.", provider_raw=thought),
        Part("tool_call", tool_call_id="tu1", tool_name="sonar___depth", tool_args={"pier": 4}, provider_raw=call),
        Part("tool_result", tool_call_id="tu1", tool_name="sonar___depth", tool_output="6.2 m", provider_raw=result),
    ]


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("image/png", "image"), ("audio/wav", "audio"), ("video/mp4", "video"), ("text/csv", "file")],
)
def test_a_document_is_a_part_by_its_media_type_with_its_bytes_in_a_blob(media_type: str, kind: str) -> None:
    """R-6: its name, where it has one, in provider_raw."""
    blobs = InMemoryBlobStore()
    source = {"type": "base64", "media_type": media_type, "data": "YSxi"}

    part = read_block({"type": "document", "source": source, "name": "t.csv"}, blobs)

    assert part.blob is not None
    assert (part.type, part.blob.media_type, blobs.get_blob(part.blob)) == (kind, media_type, b"a,b")
    assert part.provider_raw == {"name": "t.csv"}
    assert part.json == {"name": "t.csv"}


@pytest.mark.parametrize("data", ["YSxi\n", "YSx", "&&&&", None, "YSxj/"])
def test_a_document_that_is_not_base64_is_kept_as_given(data: Any) -> None:
    """J-06: never guessed."""
    block = {"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": data}}

    assert read_block(block, InMemoryBlobStore()) == Part("file", provider_raw=block)
    assert round_trip(block) == block


@pytest.mark.parametrize(
    ("source", "facts"),
    [
        ({"type": "url", "url": "https://example.org/a.png"}, {"url": "https://example.org/a.png"}),
        ({"type": "file", "file_id": "file_1"}, {"file_id": "file_1"}),
    ],
)
def test_a_document_by_address_says_where_it_is_in_our_words(source: dict[str, Any], facts: dict[str, Any]) -> None:
    block = {"type": "image", "source": source}

    assert read_block(block, InMemoryBlobStore()) == Part("image", json=facts, provider_raw=block)


@pytest.mark.parametrize("content", ["6.2 m", [], [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None])
def test_a_result_that_is_not_one_text_block_is_given_as_it_is(content: Any) -> None:
    """R-8."""
    part = read_block({"type": "tool_result", "name": "f", "content": content}, InMemoryBlobStore())

    assert part.tool_output == (tuple(content) if isinstance(content, list) else content)


def test_arguments_that_are_no_object_are_kept_as_text() -> None:
    """T-61."""
    part = read_block({"type": "tool_use", "name": "f", "input": "{broken"}, InMemoryBlobStore())

    assert part.tool_args == {"_raw": "{broken"}


def test_an_id_is_never_made_up_in_reading() -> None:
    """T-28."""
    part = read_block({"type": "tool_use", "name": "f", "input": {}}, InMemoryBlobStore())

    assert part.tool_call_id is None


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "https://example.org"}]},
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "compaction", "content": "so far"},
        {"type": "hologram", "depth": 3},
        {"type": "text", "text": "cited", "citations": [{"url": "https://example.org"}]},
        {"type": "text", "text": ""},
        {"type": "text"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, {"b": None}]}, "caller": {"type": "direct"}},
        {"type": "tool_use", "name": "f", "input": {}},
        {"type": "tool_result", "tool_use_id": "t1", "content": "plain"},
        {"type": "tool_result", "name": "f", "content": [], "is_error": True},
        {"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "YSxi"}},
        {"type": "document", "source": PNG, "name": "map.png"},
        {"type": "document", "source": PNG, "title": "Map", "name": "map.png"},
        {"type": "document", "source": {"type": "url", "url": "https://example.org"}, "title": "Page"},
        {"type": "image", "source": PNG},
    ],
)
def test_a_block_comes_back_as_it_was(block: dict[str, Any]) -> None:
    """T-29, R-9: provider blocks verbatim, all others in full."""
    assert round_trip(block) == block


def test_content_may_be_a_string() -> None:
    assert read_blocks("hi", InMemoryBlobStore()) == [text("hi")]


@pytest.mark.parametrize("content", [None, 3, {"type": "text"}, ["hi"], [{"text": "hi"}], [{"type": 1}]])
def test_what_is_no_list_of_blocks_is_refused(content: Any) -> None:
    with pytest.raises(InvalidContentError, match="content"):
        read_blocks(content, InMemoryBlobStore())


# -- turns to messages -----------------------------------------------------------------------------------------


def test_a_turn_of_results_alone_is_a_tool_message() -> None:
    """R-7."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)

    assert turn_messages("user", [tool_result("1")], turn_id="t", timestamp=noon) == [
        Message("tool", (tool_result("1"),), turn_id="t", timestamp=noon)
    ]


def test_a_mixed_turn_is_two_messages_the_tool_one_first() -> None:
    """R-7: both of the same turn; a cache mark belongs to the last block."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)

    messages = turn_messages("user", [text("go"), tool_result("1")], turn_id="t", timestamp=noon, cache=True)

    assert messages == [
        Message("tool", (tool_result("1"),), turn_id="t", timestamp=noon),
        Message("user", (text("go"), Part("annotation", json={"cache": True})), turn_id="t", timestamp=noon),
    ]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_any_other_turn_is_one_message(role: Any) -> None:
    """R-6."""
    assert [message.role for message in turn_messages(role, [text("hi")], provider="openai")] == [role]


def test_a_turn_without_blocks_is_a_message_without_parts() -> None:
    assert [(message.role, message.parts) for message in turn_messages("user", [])] == [("user", ())]


# -- parts to blocks -------------------------------------------------------------------------------------------


def test_a_result_made_by_hand_is_one_text_block() -> None:
    """R-8: a string as it is, anything else as JSON."""
    blocks, losses = write_blocks([tool_result("6.2 m"), tool_result({"m": 6.2})], InMemoryBlobStore())

    assert losses == []
    assert [block["content"] for block in blocks] == [
        [{"type": "text", "text": "6.2 m"}],
        [{"type": "text", "text": '{"m":6.2}'}],
    ]


def test_a_result_changed_since_it_was_read_is_written_as_it_is_now() -> None:
    """R-8: and stays marked as failed."""
    raw = {"type": "tool_result", "name": "f", "content": [{"type": "text", "text": "old"}], "is_error": True}
    part = Part("tool_result", tool_call_id="t1", tool_name="f", tool_output="new", provider_raw=raw)

    assert write_block(part, InMemoryBlobStore()) == {
        "type": "tool_result",
        "name": "f",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "new"}],
        "is_error": True,
    }


def test_parts_made_by_hand_have_their_blocks() -> None:
    blobs = InMemoryBlobStore()
    blob = blobs.put_blob(b"a,b")
    parts = [
        text("hi"),
        Part("refusal", "no"),
        tool_call("dig", {"deep": True}),
        Part("file", blob=blob),
        Part("file", json={"url": "https://example.org/a.pdf", "name": "a.pdf"}),
        Part("json", json={"answer": 42}),
        Part("annotation", json={"cache": True}),
    ]

    assert write_blocks(parts, blobs) == (
        [
            {"type": "text", "text": "hi"},
            {"type": "refusal", "refusal": "no"},
            {"type": "tool_use", "id": "t1", "name": "dig", "input": {"deep": True}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/octet-stream", "data": "YSxi"},
            },
            {"type": "document", "name": "a.pdf", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
            {"type": "text", "text": '{"answer":42}'},
        ],
        [],
    )


def test_a_part_without_block_form_is_reported() -> None:
    """R-9, R-3."""
    assert write_blocks([thinking(), Part("image"), Part("compaction", "x")], InMemoryBlobStore()) == (
        [],
        [
            ExcludedItem("parts[0]", "thinking without provider block or text"),
            ExcludedItem("parts[1]", "image without id, data or blob"),
            ExcludedItem("parts[2]", "part type compaction has no form in a turn"),
        ],
    )


@pytest.mark.parametrize(
    "part",
    [
        Part("thinking", "hm", json={"dialect": "gemini", "provider": "google"}, provider_raw={"text": "hm"}),
        Part("thinking", "hm", json={"dialect": "cohere"}, provider_raw={"type": "thinking", "thinking": "hm"}),
        Part("provider", json={"dialect": "gemini"}, provider_raw={"executableCode": {"code": "1"}}),
        Part("text", "hi", provider_raw={"text": "hi", "thoughtSignature": "c2ln"}),
        Part("refusal", "no"),
        Part(
            "tool_call",
            tool_call_id="t1",
            tool_name="f",
            tool_args={"a": 1},
            provider_raw={"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        ),
    ],
)
def test_another_providers_block_survives_beside_the_turns_own(part: Part) -> None:
    """R-9: a signature that is lost when a turn is stored is a conversation that cannot go on."""
    blobs = InMemoryBlobStore()

    block = write_block(part, blobs, provider="google")

    assert isinstance(block, dict)
    assert read_block(block, blobs) == part


def test_another_providers_picture_keeps_what_it_said() -> None:
    """R-9."""
    blobs = InMemoryBlobStore()
    raw = {"inlineData": {"mimeType": "image/png"}, "thoughtSignature": "c2ln"}
    part = Part("image", blob=blobs.put_blob(b"x", media_type="image/png", kind="image"), provider_raw=raw)

    block = write_block(part, blobs, provider="google")

    assert block == {
        "type": "document",
        "source": {"type": "base64", "media_type": "image/png", "data": "eA=="},
        "origin": {"provider": "google"},
        "provider_raw": raw,
    }
    assert read_block(block, blobs).provider_raw == raw


def test_thinking_made_by_hand_keeps_its_text() -> None:
    assert write_block(thinking("hm"), InMemoryBlobStore()) == {"type": "thinking", "thinking": "hm", "origin": {}}


def test_media_of_a_shape_turns_do_not_have_is_kept_whole() -> None:
    raw = {"fileData": {"fileUri": "gs://a/b"}}

    assert write_block(Part("file", provider_raw=raw), InMemoryBlobStore()) == {
        "type": "provider",
        "origin": {},
        "provider_raw": raw,
    }


def test_blocks_tell_who_made_them() -> None:
    blocks, _ = write_blocks(
        [text("a"), Part("text", "hi", provider_raw={"x": 1})], InMemoryBlobStore(), provider="google"
    )

    assert blocks_provider(blocks) == "google"
    assert blocks_provider([{"type": "text", "text": "hi"}, 3]) is None
    assert blocks_provider("hi") is None


def test_nesting_a_thousand_deep_is_no_trouble() -> None:
    """J-01."""
    deep: Any = 1
    for _ in range(1000):
        deep = {"a": [deep]}
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": deep}

    written = round_trip(block)

    assert written.keys() == block.keys()
