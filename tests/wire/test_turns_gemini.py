"""prepare_request for Gemini: threads.md section 15, rules T-83 to T-86."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.turns import ask, assistant, context, document, said, user
from weft.errors import UnsupportedFeatureError
from weft.wire.turns import encode_turns, prepare_request


def test_a_plain_question_is_the_whole_request() -> None:
    """Fixed keys: the generation settings; without tools no key for them, without system none for it."""
    assert prepare_request("gemini", context(user("When is high water?"), provider_ptr="kilo")) == {
        "contents": [{"role": "user", "parts": [{"text": "When is high water?"}]}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "maxOutputTokens": 81920},
    }


def test_system_blocks_are_the_parts_of_the_system_instruction() -> None:
    """T-83: in order, without their type."""
    asked = context(said("system", "Be brief.", "Be kind."), user("hi"), said("system", "Use metres."))

    body = prepare_request("gemini", asked)

    assert body["systemInstruction"] == {
        "parts": [{"text": "Be brief."}, {"text": "Be kind."}, {"text": "Use metres."}]
    }
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


def test_calls_and_results_go_by_name_without_ids() -> None:
    """T-84: a result is its first content item, whole; the cache flag is ignored."""
    call = {"type": "tool_use", "id": "tu1", "name": "sonar___depth", "input": {"pier": 4}}
    result = {
        "type": "tool_result",
        "name": "sonar___depth",
        "tool_use_id": "tu1",
        "content": [{"type": "text", "text": "6.2 m", "annotations": {}}],
    }

    assert ask("gemini", context(assistant("Let me see.", call), user(result, cache=True))) == [
        {
            "role": "model",
            "parts": [{"text": "Let me see."}, {"functionCall": {"name": "sonar___depth", "args": {"pier": 4}}}],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "sonar___depth",
                        "response": {"type": "text", "text": "6.2 m", "annotations": {}},
                    }
                }
            ],
        },
    ]


def test_a_result_of_several_items_has_them_all() -> None:
    """T-84: weft fixes."""
    items = [{"type": "text", "text": "1"}, {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]

    (sent,) = ask("gemini", context(user({"type": "tool_result", "name": "f", "content": items})))

    assert sent["parts"] == [{"functionResponse": {"name": "f", "response": {"content": items}}}]


def test_a_call_without_input_has_empty_arguments() -> None:
    """T-84."""
    (sent,) = ask("gemini", context(assistant({"type": "tool_use", "name": "f"})))

    assert sent["parts"] == [{"functionCall": {"name": "f", "args": {}}}]


def test_a_result_without_a_name_takes_that_of_its_call() -> None:
    """T-84."""
    call = {"type": "tool_use", "id": "tu1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "tu1", "content": [{"type": "text", "text": "1"}]}

    _, answered = ask("gemini", context(assistant(call), user(result)))

    assert answered["parts"] == [{"functionResponse": {"name": "f", "response": {"type": "text", "text": "1"}}}]


def test_a_mixed_message_stays_one_in_its_order() -> None:
    """T-84."""
    result = {"type": "tool_result", "name": "f", "content": [{"type": "text", "text": "1"}]}

    assert ask("gemini", context(user("see", result, "go on"))) == [
        {
            "role": "user",
            "parts": [
                {"text": "see"},
                {"functionResponse": {"name": "f", "response": {"type": "text", "text": "1"}}},
                {"text": "go on"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("media_type", "data", "sent"),
    [
        ("text/csv", "YSxi", {"text": "a,b"}),
        ("application/json", "e30=", {"text": "{}"}),
        ("image/png", "iVBORw==", {"inline_data": {"mime_type": "image/png", "data": "iVBORw=="}}),
        ("application/pdf", "JVBERg==", {"inline_data": {"mime_type": "application/pdf", "data": "JVBERg=="}}),
        (
            "application/zip",
            "UEs=",
            {"text": "[Document: application/zip - content not directly supported by Gemini]"},
        ),
    ],
)
def test_documents_go_by_their_media_type(media_type: str, data: str, sent: dict[str, Any]) -> None:
    """T-85."""
    assert ask("gemini", context(user(document(media_type, data)))) == [{"role": "user", "parts": [sent]}]


@pytest.mark.parametrize("kind", ["hologram", "server_tool_use"])
def test_an_unknown_block_is_an_error(kind: str) -> None:
    """T-85."""
    with pytest.raises(UnsupportedFeatureError, match=f"Gemini does not support content block type: {kind}"):
        prepare_request("gemini", context(assistant({"type": kind, "depth": 3})))


def test_claudes_thinking_stays_behind_and_is_reported() -> None:
    """T-85: known to weft, of no use to Gemini; a thread may change its provider."""
    encoded = encode_turns(
        "gemini", context(assistant({"type": "thinking", "thinking": "hm", "signature": "c"}, "So."))
    )

    assert encoded.body["contents"] == [{"role": "model", "parts": [{"text": "So."}]}]
    assert [loss.description for loss in encoded.losses] == ["context.messages[0].parts[0]"]


def test_geminis_own_signatures_go_back_to_it() -> None:
    """T-29: the block it made is sent as it made it, save the id."""
    native = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}
    call = {
        "type": "tool_use",
        "id": "x",
        "name": "f",
        "input": {"a": 1},
        "origin": {"provider": "google"},
        "provider_raw": native,
    }

    assert ask("gemini", context(assistant(call))) == [{"role": "model", "parts": [native]}]
