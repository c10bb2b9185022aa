"""prepare_request for OpenAI, Cerebras and Cohere: threads.md section 15, rules T-87 to T-90."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.turns import ask, assistant, context, document, said, user
from weft.errors import UnsupportedFeatureError
from weft.wire.turns import call_fields, encode_turns, prepare_request

CHAT = ("openai", "cerebras", "cohere")
TITLES = {"openai": "OpenAI", "cerebras": "Cerebras", "cohere": "Cohere"}

every = pytest.mark.parametrize("provider", CHAT)


@every
def test_a_plain_question_is_the_whole_request(provider: str) -> None:
    """Fixed keys: stream and an empty tool list; system messages stay in place."""
    asked = context(said("system", "Be brief."), user("When is ", "high water?"), provider_ptr="kilo")

    assert prepare_request(provider, asked) == {
        "stream": True,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "When is high water?"},
        ],
        "tools": [],
    }


@pytest.mark.parametrize(("provider", "content"), [("openai", ""), ("cerebras", ""), ("cohere", None)])
def test_an_answer_of_calls_alone_has_each_providers_empty_content(provider: str, content: Any) -> None:
    """Acceptance case 9: null for Cohere, an empty string for OpenAI; arguments are compact JSON."""
    call = {"type": "tool_use", "id": "tu1", "name": "sonar___depth", "input": {"pier": 4, "side": "öst"}}

    assert ask(provider, context(assistant(call))) == [
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [
                {
                    "id": "tu1",
                    "type": "function",
                    "function": {"name": "sonar___depth", "arguments": '{"pier":4,"side":"öst"}'},
                }
            ],
        }
    ]


@every
def test_texts_beside_calls_are_joined(provider: str) -> None:
    call = {"type": "tool_use", "id": "tu1", "name": "f", "input": {}}

    (sent,) = ask(provider, context(assistant("Let me ", call, "see.")))

    assert sent["content"] == "Let me see."
    assert [called["id"] for called in sent["tool_calls"]] == ["tu1"]


@every
def test_a_call_is_the_assistants_whoever_said_it(provider: str) -> None:
    """First case of the table."""
    (sent,) = ask(provider, context(user({"type": "tool_use", "id": "tu1", "name": "f", "input": {}})))

    assert sent["role"] == "assistant"


@every
def test_each_result_is_a_message_and_the_rest_follows(provider: str) -> None:
    """Weft fixes: what stands beside results is not dropped."""
    calls = [{"type": "tool_use", "id": f"tu{n}", "name": "f", "input": {}} for n in (1, 2)]
    results = [
        {"type": "tool_result", "name": "f", "tool_use_id": "tu1", "content": [{"type": "text", "text": "6.2"}]},
        {
            "type": "tool_result",
            "name": "f",
            "tool_use_id": "tu2",
            "content": [{"type": "text", "text": "6"}, {"type": "text", "text": ".3"}],
        },
    ]

    sent = ask(provider, context(assistant(*calls), user("Look: ", *results, "go on", cache=True)))

    assert sent[1:] == [
        {"role": "tool", "tool_call_id": "tu1", "content": "6.2"},
        {"role": "tool", "tool_call_id": "tu2", "content": "6.3"},
        {"role": "user", "content": "Look: go on"},
    ]


@every
def test_beside_documents_texts_come_first(provider: str) -> None:
    image = document("image/png", "iVBORw==")

    assert ask(provider, context(user(image, "What", "is this?"))) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What"},
                {"type": "text", "text": "is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            ],
        }
    ]


@pytest.mark.parametrize("provider", ["openai", "cerebras"])
def test_a_pdf_is_a_file_block(provider: str) -> None:
    """Its name is used when it is known."""
    pdf = document("application/pdf", "JVBERg==")

    assert ask(provider, context(user(pdf, {**pdf, "name": "chart.pdf"}))) == [
        {
            "role": "user",
            "content": [
                {
                    "type": "file",
                    "file": {"filename": name, "file_data": "data:application/pdf;base64,JVBERg=="},
                }
                for name in ("document.pdf", "chart.pdf")
            ],
        }
    ]


@pytest.mark.parametrize(
    ("provider", "media_type"),
    [(provider, kind) for provider in CHAT for kind in ("text/csv", "application/json", "audio/wav", "application/zip")]
    + [("cohere", "application/pdf")],
)
def test_any_other_document_is_an_error(provider: str, media_type: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as refused:
        prepare_request(provider, context(user(document(media_type, "YSxi"))))

    assert str(refused.value) == f"{TITLES[provider]} does not support document type: {media_type}"


@every
def test_text_documents_are_inlined_on_request(provider: str) -> None:
    """Weft adds: text_documents="inline"."""
    asked = context(user(document("text/csv", "YSxi"), document("image/png", "iVBORw==")))

    (sent,) = ask(provider, asked, text_documents="inline")

    assert sent["content"] == [
        {"type": "text", "text": "a,b"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]


@every
def test_missing_ids_are_made_up_the_same_each_time(provider: str) -> None:
    """T-90."""
    call = {"type": "tool_use", "name": "f", "input": {}}
    result = {"type": "tool_result", "name": "f", "content": [{"type": "text", "text": "1"}]}
    asked = context(assistant(call, call), user(result, result))

    sent = ask(provider, asked)

    calls = [called["id"] for called in sent[0]["tool_calls"]]
    assert len(set(calls)) == 2
    assert [message["tool_call_id"] for message in sent[1:]] == calls
    assert ask(provider, asked) == sent


@every
def test_what_only_claude_understands_stays_behind_and_is_reported(provider: str) -> None:
    """T-29."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}

    encoded = encode_turns(provider, context(assistant(thought, search, "So.")))

    assert encoded.body["messages"] == [{"role": "assistant", "content": "So."}]
    assert [loss.description for loss in encoded.losses] == [f"context.messages[0].parts[{p}]" for p in (0, 1)]


def test_the_account_names_the_messages_of_the_context() -> None:
    """R-3: a message that was cut in two has no part of the same number."""
    result = {"type": "tool_result", "name": "f", "tool_use_id": "t1", "content": [], "is_error": True}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

    encoded = encode_turns("openai", context(user(result, "go on"), assistant(thought, "So.")))

    assert [loss.description for loss in encoded.losses] == ["context.messages[1].parts[0]"]
    assert [warning.partition(":")[0] for warning in encoded.warnings] == ["context.messages[0]"]


def test_arguments_that_were_never_json_go_back_as_they_came() -> None:
    """T-61."""
    call = {"type": "tool_use", "id": "tu1", "name": "f", "input": {"_raw": "{broken"}}

    (sent,) = ask("openai", context(assistant(call)))

    assert sent["tool_calls"][0]["function"]["arguments"] == "{broken"


@pytest.mark.parametrize(
    ("provider", "fields"),
    [
        ("openai", {"model": "m", "stream_options": {"include_usage": True}}),
        ("cerebras", {"model": "m", "stream_options": {"include_usage": True}}),
        ("cohere", {"model": "m"}),
        ("anthropic", {"model": "m"}),
        ("gemini", {}),
    ],
)
def test_the_call_adds_the_model_and_asks_for_usage(provider: str, fields: dict[str, Any]) -> None:
    """T-60: section 15 has no other key in the request itself."""
    assert call_fields(provider, "m") == fields
