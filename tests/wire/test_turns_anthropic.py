"""prepare_request for Anthropic: threads.md section 15, rules T-76 to T-82."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.turns import ask, assistant, context, document, said, user
from weft.errors import InvalidContentError, UsageError
from weft.wire.turns import encode_turns, prepare_request

EPHEMERAL = {"type": "ephemeral"}


def test_a_plain_question_is_the_whole_request() -> None:
    """Fixed keys: max_tokens, stream, and an empty tool list; other options and the model are not sent."""
    asked = context(user("When is high water?"), provider_ptr="kilo", servers=["tides"])

    assert prepare_request("anthropic", asked) == {
        "max_tokens": 8192,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "When is high water?"}]}],
        "tools": [],
    }


def test_system_texts_are_joined_with_a_rule_and_leave_the_messages() -> None:
    """T-76: all their blocks, in order; their cache flag has no effect."""
    asked = context(
        said("system", "Be brief.", "Be kind.", cache=True), user("hi"), said("system", "Use metres."), assistant("yes")
    )

    body = prepare_request("anthropic", asked)

    assert body["system"] == "Be brief.\n\n----\n\nBe kind.\n\n----\n\nUse metres."
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
    ]


def test_without_system_messages_there_is_no_system() -> None:
    """T-76."""
    assert "system" not in prepare_request("anthropic", context(user("hi")))


def test_neighbours_of_one_role_stay_apart() -> None:
    """T-77: unless merging is asked for (README, conflict 16)."""
    asked = context(user("a"), user("b"))

    assert [message["role"] for message in ask("anthropic", asked)] == ["user", "user"]
    assert prepare_request("anthropic", asked, merge=True)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


def test_the_last_four_cache_flags_count_each_on_its_last_block() -> None:
    """T-78: twenty messages, every second flagged, the last with three blocks."""
    messages = [user(f"m{n}", cache=n % 2 == 0) for n in range(1, 20)] + [user("x", "y", "z", cache=True)]

    sent = ask("anthropic", context(*messages))

    marked = {
        (m, b): block["cache_control"]
        for m, message in enumerate(sent, 1)
        for b, block in enumerate(message["content"], 1)
        if "cache_control" in block
    }
    assert marked == {(14, 1): EPHEMERAL, (16, 1): EPHEMERAL, (18, 1): EPHEMERAL, (20, 3): EPHEMERAL}
    assert not any("cache" in message for message in sent)


@pytest.mark.parametrize(
    ("media_type", "data", "sent"),
    [
        ("text/csv", "YSxi", {"type": "text", "text": "a,b"}),
        ("application/json", "e30=", {"type": "text", "text": "{}"}),
        (
            "image/png",
            "iVBORw==",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        ),
        (
            "application/pdf",
            "JVBERg==",
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        ),
        (
            "audio/wav",
            "UklGRg==",
            {"type": "document", "source": {"type": "base64", "media_type": "audio/wav", "data": "UklGRg=="}},
        ),
        (
            "application/zip",
            "UEs=",
            {"type": "document", "source": {"type": "base64", "media_type": "application/zip", "data": "UEs="}},
        ),
    ],
)
def test_documents_go_by_their_media_type(media_type: str, data: str, sent: dict[str, Any]) -> None:
    """T-79."""
    asked = context(user(document(media_type, data)))

    assert ask("anthropic", asked) == [{"role": "user", "content": [sent]}]


def test_a_documents_title_goes_along() -> None:
    """T-79, T-82: a document block stays as it is."""
    titled = {**document("application/pdf", "JVBERg=="), "title": "Chart", "citations": {"enabled": True}}

    assert ask("anthropic", context(user(titled))) == [{"role": "user", "content": [titled]}]


def test_a_tool_result_is_stripped_to_what_the_api_takes() -> None:
    """T-80: no name, no extra keys; a failure stays marked; images pass, those of MCP in the API's form."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    result = {
        "type": "tool_result",
        "name": "sonar___depth",
        "tool_use_id": "tu1",
        "is_error": True,
        "content": [
            {"type": "text", "text": "6.2 m", "annotations": {"audience": ["user"]}},
            {"type": "image", "source": source},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a"}},
        ],
    }

    assert ask("anthropic", context(user(result))) == [
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "tu1",
                    "is_error": True,
                    "content": [
                        {"type": "text", "text": "6.2 m"},
                        {"type": "image", "source": source},
                        {"type": "image", "source": source},
                        {"type": "text", "text": '{"type":"resource","resource":{"uri":"file:///a"}}'},
                    ],
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("content", "sent"),
    [("6.2 m", [{"type": "text", "text": "6.2 m"}]), ([], []), (None, []), ([{"type": "text", "text": ""}],) * 2],
)
def test_a_results_content_is_always_a_list(content: Any, sent: Any) -> None:
    """T-80."""
    result = {"type": "tool_result", "name": "f", "tool_use_id": "tu1", "content": content}

    (message,) = ask("anthropic", context(user(result)))

    assert message["content"] == [{"type": "tool_result", "tool_use_id": "tu1", "content": sent}]


def test_a_mixed_message_stays_one_in_its_order() -> None:
    """T-77, T-82: and its cache flag is on its last block."""
    result = {"type": "tool_result", "name": "f", "tool_use_id": "tu1", "content": [{"type": "text", "text": "1"}]}

    assert ask("anthropic", context(user("see", result, "go on", cache=True))) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "tool_result", "tool_use_id": "tu1", "content": [{"type": "text", "text": "1"}]},
                {"type": "text", "text": "go on", "cache_control": EPHEMERAL},
            ],
        }
    ]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "hologram", "depth": 3},
        {"type": "text", "text": "cited", "citations": [{"url": "https://example.org"}]},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
    ],
)
def test_other_blocks_pass_unchanged(block: dict[str, Any]) -> None:
    """T-82, T-29."""
    assert ask("anthropic", context(assistant(block))) == [{"role": "assistant", "content": [block]}]


def test_another_providers_thinking_stays_behind_and_is_reported() -> None:
    """T-82: the API refuses thinking it did not sign, and the thread would be stuck."""
    thought = {
        "type": "thinking",
        "thinking": "hm",
        "origin": {"provider": "google", "dialect": "gemini"},
        "provider_raw": {},
    }

    encoded = encode_turns("anthropic", context(assistant(thought, "So.")))

    assert encoded.body["messages"] == [{"role": "assistant", "content": [{"type": "text", "text": "So."}]}]
    assert [loss.description for loss in encoded.losses] == ["context.messages[0].parts[0]"]


def test_a_call_from_gemini_goes_without_its_signature() -> None:
    """T-82."""
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    stored = {
        **call,
        "origin": {"provider": "google"},
        "provider_raw": {"functionCall": {}, "thoughtSignature": "c2ln"},
    }

    assert ask("anthropic", context(assistant(stored))) == [{"role": "assistant", "content": [call]}]


def test_missing_ids_are_made_up_the_same_each_time() -> None:
    """T-90: once per request; a result takes the earliest unanswered call of its name."""

    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "name": name, "input": {}}

    def result(name: str, text: str) -> dict[str, Any]:
        return {"type": "tool_result", "name": name, "content": [{"type": "text", "text": text}]}

    known = {"type": "tool_use", "id": "call_2", "name": "f", "input": {}}
    asked = context(
        assistant(call("f"), call("g"), call("f"), known), user(result("f", "1"), result("f", "2"), result("g", "3"))
    )

    sent = ask("anthropic", asked)

    calls = [block["id"] for block in sent[0]["content"]]
    assert len(set(calls)) == 4
    assert calls[3] == "call_2"
    assert [block["tool_use_id"] for block in sent[1]["content"]] == [calls[0], calls[2], calls[1]]
    assert ask("anthropic", asked) == sent


def test_the_context_is_not_changed() -> None:
    """Section 14: prepare_request is pure."""
    asked = context(
        user(document("image/png", "iVBORw=="), cache=True),
        assistant({"type": "tool_use", "name": "f", "input": {"a": [1]}}),
        search=True,
    )
    tools = [{"name": "f", "inputSchema": {"type": "object", "$schema": "x"}, "annotations": {}}]
    before = copy.deepcopy((asked, tools))

    body = prepare_request("anthropic", asked, tools)
    body["messages"][1]["content"][0]["input"]["a"].append(2)

    assert (asked, tools) == before


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([], "context"),
        ({"messages": ["hi"]}, r"messages\[0\]"),
        ({"messages": [{"role": "critic", "content": []}]}, r"messages\[0\].role"),
        ({"messages": [{"role": "user", "content": [3]}]}, r"messages\[0\].content\[0\]"),
    ],
)
def test_what_is_no_context_is_refused_with_its_place(asked: Any, says: str) -> None:
    with pytest.raises(InvalidContentError, match=says):
        prepare_request("anthropic", asked)


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known: anthropic, gemini, openai, cerebras, cohere"):
        prepare_request("ferry", context())


def test_an_empty_context_is_an_empty_request() -> None:
    assert prepare_request("anthropic", {}) == {"max_tokens": 8192, "stream": True, "messages": [], "tools": []}
