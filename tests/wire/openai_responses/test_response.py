"""Responses API responses: items in, one message out, and back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, text, thinking, tool_call
from weft.blobs import InMemoryBlobStore
from weft.canon import Message, Part, Reply, Usage, thaw
from weft.errors import WireError
from weft.wire.openai_responses import COMPACT, DIALECT

PNG_TEXT = "iVBORw0K"
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "output_tokens_details": {"reasoning_tokens": 1}}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "content": [{"type": "reasoning_text", "text": "Pier 4."}],
    "summary": [{"type": "summary_text", "text": "Ask."}, {"type": "summary_text", "text": "The sonar."}],
    "encrypted_content": "c2VhbGVk",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "One moment."}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "arguments": '{"pier": 4}',
    "call_id": "c1",
    "name": "depth",
}
COMPACTION = {"id": "cmp_1", "type": "compaction", "encrypted_content": "c2hvcnQ="}


def answer(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m-1",
        "output": list(output),
        "usage": USAGE,
        **fields,
    }


def there_and_back(body: dict[str, Any]) -> dict[str, Any]:
    blobs = InMemoryBlobStore()
    encoded = DIALECT.encode_response(DIALECT.decode_response(body, blobs), blobs)
    assert encoded.losses == []
    return encoded.body


def test_an_answer_is_one_message_with_its_parts_in_item_order() -> None:
    """model.md, section 11; M-53: calls and thoughts keep their item, plain texts do not; M-54: the id."""
    reply = DIALECT.decode_response(answer(REASONING, SAID, CALL))

    assert reply.message is not None
    assert reply.message.parts == (
        Part(
            "thinking",
            "Pier 4.\nAsk.\nThe sonar.",
            json={"provider": "openai", "dialect": "openai_responses", "model": "m-1"},
            provider_raw=REASONING,
        ),
        Part("text", "One moment."),
        Part("tool_call", tool_call_id="c1", tool_name="depth", tool_args={"pier": 4}, provider_raw=CALL),
    )
    assert (reply.message.id, reply.message.provider, reply.id, reply.model) == ("resp_1", "openai", "resp_1", "m-1")
    assert (reply.finish_reason, reply.stop_reason, reply.finished) == ("tool_calls", "completed", True)
    assert reply.usage == Usage(3, 2, 5, USAGE)


def test_a_thought_without_words_has_no_text() -> None:
    reply = DIALECT.decode_response(answer({"id": "rs", "type": "reasoning", "summary": [], "content": None}))

    assert reply.message is not None
    assert reply.message.parts[0].text is None


@pytest.mark.parametrize(
    ("fields", "finish", "stop", "finished"),
    [
        ({}, "stop", "completed", True),
        ({"status": None}, "stop", None, True),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
            True,
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter",
            True,
        ),
        ({"status": "incomplete"}, "stop", "incomplete", True),
        ({"status": "failed"}, None, "failed", False),
        ({"status": "in_progress"}, None, None, False),
        ({"status": [7]}, None, None, False),
    ],
)
def test_why_an_answer_stopped(fields: dict[str, Any], finish: str | None, stop: str | None, finished: bool) -> None:
    """No finish reason is invented for an answer that is under way or failed."""
    reply = DIALECT.decode_response(answer(SAID, **fields))

    assert (reply.finish_reason, reply.stop_reason, reply.finished) == (finish, stop, finished)


@pytest.mark.parametrize(
    "body",
    [
        answer(REASONING, SAID, CALL),
        answer(),
        answer(SAID, {**SAID, "id": "msg_2", "phase": "final_answer"}, usage=None),
        answer({**SAID, "content": [{"type": "refusal", "refusal": "No."}, {"type": "output_text", "text": "x"}]}),
        answer({**SAID, "role": "user"}, {"type": "message", "content": None}),
        answer({"type": "web_search_call", "id": "ws"}, {"type": "a_new_kind"}, COMPACTION),
        answer({"type": "image_generation_call", "id": "ig", "result": PNG_TEXT, "output_format": "jpeg"}),
        answer({"type": "image_generation_call", "id": "ig", "result": "@@"}),
        answer({"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "1", "id": "ctc"}),
        answer({**CALL, "arguments": "[1]"}, {**CALL, "name": ""}),
        {"id": "r", "object": "response.compaction", "output": [{**SAID, "role": "user"}, COMPACTION], "usage": USAGE},
        {"error": {"message": "no", "type": "invalid_request_error"}},
        {"code": "x", "error": "no"},
        answer(output=None, error={"code": "x", "message": "no"}),
    ],
)
def test_what_was_heard_is_said_back_as_it_was(body: dict[str, Any]) -> None:
    """L2: decode, then encode, is the same response."""
    given = {key: value for key, value in body.items() if value is not None}
    back = {key: value for key, value in there_and_back(body).items() if value is not None}
    for item in given.get("output", ()):
        if item.get("content", 0) is None:
            del item["content"]

    assert back == given


def test_arguments_that_are_no_object_are_kept_as_text() -> None:
    """M-47."""
    reply = DIALECT.decode_response(answer({**CALL, "arguments": "[1]"}))

    assert reply.message is not None
    assert thaw(reply.message.parts[0].tool_args) == {"_raw": "[1]"}


def test_an_error_is_a_reply_without_messages() -> None:
    reply = DIALECT.decode_response({"error": {"message": "no"}})

    assert (reply.messages, reply.finished, thaw(reply.raw)) == ((), False, {"error": {"message": "no"}})


def test_of_a_compaction_only_the_compaction_is_a_part() -> None:
    """model.md, section 11: compact gives compaction items only, each with a blob of its sealed text."""
    blobs = InMemoryBlobStore()
    body = {"id": "r", "object": "response.compaction", "output": [{**SAID, "role": "user"}, COMPACTION]}

    reply = COMPACT.decode_response(body, blobs)

    assert reply.message is not None
    (part,) = reply.message.parts
    assert part.blob is not None
    assert (part.type, part.blob.kind, part.blob.media_type) == ("compaction", "compaction", "application/octet-stream")
    assert (blobs.get_blob(part.blob), thaw(part.provider_raw)) == (b"c2hvcnQ=", COMPACTION)


def test_an_image_that_was_made_is_in_the_store() -> None:
    blobs = InMemoryBlobStore()
    call = {"type": "image_generation_call", "id": "ig", "result": PNG_TEXT, "output_format": "webp"}

    reply = DIALECT.decode_response(answer(call), blobs)

    assert reply.message is not None
    (part,) = reply.message.parts
    assert part.blob is not None
    assert (part.type, part.blob.media_type) == ("image", "image/webp")
    assert thaw(part.provider_raw) == {"type": "image_generation_call", "id": "ig", "output_format": "webp"}


def test_an_answer_from_elsewhere_gets_an_envelope_and_complete_items() -> None:
    """Translated answers are such as this API's own clients can read, thoughts included."""
    blobs = InMemoryBlobStore()
    drawn = Part("image", blob=blobs.put_blob(b"\x89PNG\r\n", media_type="image/png"))
    foreign = Part(
        "thinking", "Hm.", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw={"type": "thinking"}
    )
    said = assistant(foreign, text("Hi."), tool_call("dig", {"a": 1}, call_id="c1"), drawn, thinking())
    reply = Reply(
        (said,), id="msg_9", model="claude", finish_reason="length", usage=Usage(3, 2), raw={"type": "message"}
    )

    encoded = DIALECT.encode_response(reply, blobs)

    assert encoded.losses == []
    assert encoded.body == {
        "id": "msg_9",
        "object": "response",
        "created_at": 0,
        "status": "incomplete",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"},
        "model": "claude",
        "output": [
            {"id": "rs_weft_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {
                "id": "msg_weft_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hi.", "annotations": []}],
            },
            {
                "id": "fc_weft_2",
                "type": "function_call",
                "call_id": "c1",
                "name": "dig",
                "arguments": '{"a":1}',
                "status": "completed",
            },
            {"id": "ig_weft_3", "type": "image_generation_call", "result": PNG_TEXT, "status": "completed"},
            {"id": "rs_weft_4", "type": "reasoning", "summary": []},
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 5,
        },
    }


def test_a_reply_with_nothing_in_it_is_a_response_without_output() -> None:
    assert DIALECT.encode_response(Reply(finish_reason="stop")).body["output"] == []


def test_an_item_that_is_no_object_is_an_error_with_its_place() -> None:
    with pytest.raises(WireError, match=r"output\[1\]: must be an object"):
        DIALECT.decode_response(answer(SAID, 7))  # type: ignore[arg-type]


def test_annotations_that_say_something_stay_with_their_text() -> None:
    cited = {"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", "url": "u"}], "logprobs": []}

    reply = DIALECT.decode_response(answer({**SAID, "content": [cited]}))

    assert reply.messages == (
        Message(
            "assistant",
            (Part("text", "x", provider_raw={key: cited[key] for key in ("type", "text", "annotations")}),),
            id="resp_1",
            provider="openai",
            timestamp=reply.messages[0].timestamp,
        ),
    )


@pytest.mark.parametrize("more", [{}, {"call_id": "c1"}])
def test_an_answer_may_hold_results_of_its_own_calls(more: dict[str, Any]) -> None:
    """L2: a program the provider runs calls tools, and the results are among its output."""
    result = {"type": "function_call_output", "id": "o1", "output": "6 m", "status": "completed", **more}
    body = {"id": "r1", "object": "response", "model": "m", "status": "completed", "output": [result]}
    encoded = DIALECT.encode_response(DIALECT.decode_response(body))

    assert (encoded.losses, encoded.body) == ([], body)
