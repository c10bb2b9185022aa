"""Image requests, responses and streams."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import a_spec, assistant, image, text, user
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    Event,
    ExcludedItem,
    Instructions,
    NativeEvent,
    Part,
    Reply,
    RunSpec,
    StreamError,
    ToolSpecification,
    Usage,
    replay,
    thaw,
)
from weft.errors import WireError
from weft.wire.codec import ADAPTER
from weft.wire.openai_images import DIALECT
from weft.wire.stream import StreamReader

PNG = b"\x89PNG\r\n"
PNG_TEXT = "iVBORw0K"
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
BODY = {"created": 1, "data": [{"b64_json": PNG_TEXT}], "output_format": "webp", "usage": USAGE}


def images(**fields: Any) -> RunSpec:
    return a_spec("openai", "images.generate", **{"model": "gpt-image-1", **fields})


def test_the_prompt_is_what_the_latest_user_message_says() -> None:
    """model.md, section 9: system, developer and its texts; older messages are not sent, and said not to be."""
    blobs = InMemoryBlobStore()
    shown = image(blobs.put_blob(PNG, media_type="image/png"))
    spec = images(
        instructions=Instructions("Oil on canvas.", "No people."),
        extra_body={"size": "1024x1024"},
        extra_headers={"x-a": "1"},
        extra_query={"q": "2"},
    )

    encoded = DIALECT.encode_request(
        [user("A boat."), assistant("Here."), user("A pier", text("at dusk"), shown)], spec, blobs, ADAPTER
    )

    assert encoded.body == {
        "model": "gpt-image-1",
        "prompt": "Oil on canvas.\n\nNo people.\n\nA pier\nat dusk",
        "extra_headers": {"x-a": "1"},
        "extra_query": {"q": "2"},
        "size": "1024x1024",
    }
    assert encoded.losses == [
        ExcludedItem("context.messages[0]", "openai/images.generate sends the latest user message only"),
        ExcludedItem("context.messages[1]", "openai/images.generate sends the latest user message only"),
        ExcludedItem("context.messages[2].parts[2]", "openai/images.generate takes text only, not image"),
    ]


@pytest.mark.parametrize("messages", [[], [assistant("x")], [user(Part("image"))], [user(text(""))]])
def test_without_words_there_is_no_image(messages: list[Any]) -> None:
    """model.md, section 9: ValueError."""
    with pytest.raises(ValueError, match="prompt"):
        DIALECT.encode_request(messages, images(), None, ADAPTER)


def test_settings_that_images_do_not_have_are_reported() -> None:
    spec = images(
        max_output_tokens=1,
        temperature=1.0,
        top_p=1.0,
        seed=1,
        tools=[ToolSpecification("dig", "", {})],
        tool_choice="auto",
        response_schema={},
    )

    losses = DIALECT.encode_request([user("x")], spec, None, ADAPTER).losses

    assert [item.description for item in losses] == [
        "max_output_tokens",
        "temperature",
        "top_p",
        "seed",
        "tools",
        "tool_choice",
        "response_schema",
    ]


@pytest.mark.parametrize(
    ("model", "modality", "sent", "warnings"),
    [
        ("dall-e-3", "image_url", "url", 0),
        ("dall-e-3", "b64", "b64_json", 0),
        ("gpt-image-1", "url", None, 1),
        ("dall-e-3", "hologram", None, 1),
    ],
)
def test_the_first_modality_says_how_older_models_answer(
    model: str, modality: str, sent: str | None, warnings: int
) -> None:
    encoded = DIALECT.encode_request([user("x")], images(model=model, response_modalities=[modality]), None, ADAPTER)

    assert (encoded.body.get("response_format"), len(encoded.warnings)) == (sent, warnings)


@pytest.mark.parametrize("body", [{"model": "dall-e-3", "prompt": "x", "n": 2}, {"prompt": ""}])
def test_a_request_is_said_back_as_it_was(body: dict[str, Any]) -> None:
    """L1."""
    decoded = DIALECT.decode_request(body)

    assert DIALECT.encode_request(decoded.messages, decoded.spec).body == body


def test_a_request_without_a_prompt_is_an_error() -> None:
    with pytest.raises(WireError, match="prompt: missing"):
        DIALECT.decode_request({"model": "m"})


def test_images_are_in_the_store_with_their_entry_kept() -> None:
    """model.md, section 11, M-53, M-54."""
    blobs = InMemoryBlobStore()

    reply = DIALECT.decode_response(
        {**BODY, "data": [{"b64_json": PNG_TEXT, "revised_prompt": "r"}, {"url": "u"}]}, blobs
    )

    assert reply.message is not None
    drawn, linked = reply.message.parts
    assert drawn.blob is not None
    assert (blobs.get_blob(drawn.blob), drawn.blob.media_type) == (PNG, "image/webp")
    assert thaw(drawn.provider_raw) == {"revised_prompt": "r"}
    assert (thaw(linked.json), thaw(linked.provider_raw)) == ({"url": "u"}, {"url": "u"})
    assert (reply.message.id, reply.finish_reason, reply.usage) == (None, "stop", Usage(3, 2, 5, USAGE))


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        {"created": 1, "data": []},
        {"created": 1},
        {"created": 1, "data": [{}]},
        {"created": 1, "data": [{"b64_json": "@@"}, {"url": "u", "revised_prompt": "r"}]},
        {"error": {"message": "no"}},
    ],
)
def test_a_response_is_said_back_as_it_was(body: dict[str, Any]) -> None:
    """L2."""
    blobs = InMemoryBlobStore()

    assert DIALECT.encode_response(DIALECT.decode_response(body, blobs), blobs).body == body


def test_of_an_answer_from_elsewhere_only_images_have_a_place() -> None:
    blobs = InMemoryBlobStore()
    drawn = Part("image", blob=blobs.put_blob(PNG), provider_raw={"type": "image_generation_call", "id": "ig"})

    encoded = DIALECT.encode_response(Reply((assistant("Here.", drawn, Part("image")),)), blobs)

    assert encoded.body == {"created": 0, "data": [{"b64_json": PNG_TEXT}]}
    assert [item.reason for item in encoded.losses] == ["an image response has no place for text", "image without blob"]


COMPLETED = {
    "type": "image_generation.completed",
    "b64_json": PNG_TEXT,
    "created_at": 1,
    "output_format": "png",
    "usage": USAGE,
    "safety_identifier": "s",
}
PARTIAL = {"type": "image_generation.partial_image", "b64_json": "QQ==", "partial_image_index": 0}


def hear(events: list[Any]) -> tuple[Reply, list[Event]]:
    decoder = DIALECT.StreamDecoder()
    told = [heard for given in events for heard in decoder.feed(given)] + decoder.close()
    return decoder.reply, told  # type: ignore[attr-defined]


def test_a_stream_ends_with_the_images_whole() -> None:
    reply, told = hear([PARTIAL, COMPLETED])

    assert NativeEvent(PARTIAL) in told
    assert reply.message is not None
    assert [part.type for part in reply.message.parts] == ["image"]
    assert (reply.finish_reason, reply.finished, reply.usage) == ("stop", True, Usage(3, 2, 5, USAGE))
    assert thaw(reply.raw) == {"created": 1, "output_format": "png", "usage": USAGE, "safety_identifier": "s"}


def test_a_stream_cut_before_the_image_has_no_end() -> None:
    reply, _ = hear([PARTIAL])

    assert (reply.messages, reply.finish_reason, reply.finished) == ((), None, False)


@pytest.mark.parametrize("error", [{"type": "error", "error": {"message": "no"}}, {"error": "no"}])
def test_an_error_ends_the_stream(error: dict[str, Any]) -> None:
    reply, told = hear([error])

    assert StreamError("no") in told
    assert reply.finished is False


def test_told_again_a_stream_is_the_same_answer() -> None:
    """L3."""
    blobs = InMemoryBlobStore()
    reply = DIALECT.decode_response(BODY, blobs)
    encoder = DIALECT.StreamEncoder(blobs)
    data = b"".join(encoder.feed(each) for each in replay(reply)) + encoder.close()
    reader = StreamReader(DIALECT.StreamDecoder(blobs), "sse")
    reader.feed(data)
    reader.close()

    assert reader.reply is not None
    assert (reader.reply.usage, reader.reply.raw, reader.reply.finish_reason) == (reply.usage, reply.raw, "stop")


def test_an_answer_from_elsewhere_is_told_with_what_is_known_of_its_cost() -> None:
    blobs = InMemoryBlobStore()
    encoder = DIALECT.StreamEncoder(blobs)
    drawn = image(blobs.put_blob(PNG, media_type="image/png"))
    said = Reply((assistant("Here.", drawn),), finish_reason="stop", usage=Usage(1, 2, 3), notes=("slow",))

    told = b"".join(encoder.feed(each) for each in replay(said)).decode()

    assert told.count("event: image_generation.completed") == 1
    assert '"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}' in told
    assert '"message":"slow"' in told
