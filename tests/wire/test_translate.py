"""A request of one dialect as a plan for another."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given

from tests.support.mutations import mutated, nested
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Message, Part, Reply, RequestPlan, Usage, thaw
from weft.errors import UsageError, WireError
from weft.wire import ADAPTER, DIALECTS, dialect, plan_request, read_request, told_elsewhere

Json = dict[str, Any]
SPOKEN = {"anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"}
SIGNED: Json = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
CLAUDE: Json = {
    "model": "claude-opus-4-5",
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Depth at pier 4?"},
        {
            "role": "assistant",
            "content": [SIGNED, {"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"}]},
    ],
    "tools": [{"name": "depth", "description": "Ask the sonar", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "auto"},
}
CHAT: Json = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "depth", "arguments": '{"pier": 4}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
    ],
    "temperature": 0.5,
}
GEMINI: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "depth", "args": {}}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "depth", "response": {"result": "6.2 m"}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "generationConfig": {"temperature": 0.5},
}


def test_a_request_is_read_in_the_dialect_it_looks_like_or_is_said_to_be() -> None:
    assert [read_request(body)[0] for body in (CLAUDE, CHAT, GEMINI)] == ["anthropic", "openai_chat", "gemini"]
    assert read_request({"model": "m", "messages": CHAT["messages"][:1]}, "ollama.chat")[0] == "ollama"


@pytest.mark.parametrize("body", [CLAUDE, CHAT, GEMINI])
def test_in_its_own_dialect_a_request_comes_out_as_it_went_in(body: Json) -> None:
    name, _ = read_request(body)

    plan = plan_request(body, name)

    assert (plan.excluded, plan.warnings, plan.errors) == ((), (), ())
    assert _bare(plan.request) == _bare(body)


def _bare(body: Any) -> Any:
    """Write strings as the text block they stand for, and leave out nulls."""
    if isinstance(body, dict):
        bare = {key: _bare(value) for key, value in body.items() if value is not None}
        if isinstance(bare.get("content"), str):
            bare["content"] = [{"type": "text", "text": bare["content"]}]
        return bare
    return [_bare(value) for value in body] if isinstance(body, list) else body


def test_in_its_own_dialect_only_the_model_may_change() -> None:
    assert plan_request(CLAUDE, "anthropic", model="claude-haiku").request == {
        **plan_request(CLAUDE, "anthropic").request,
        "model": "claude-haiku",
    }


def test_another_dialect_gets_a_plan_with_the_account() -> None:
    plan = plan_request(CLAUDE, "openai.chat", model="gpt-5")

    assert plan == RequestPlan(
        {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Depth at pier 4?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "t1", "type": "function", "function": {"name": "depth", "arguments": '{"pier":4}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
            ],
            "max_tokens": 64,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "depth", "description": "Ask the sonar", "parameters": {"type": "object"}},
                }
            ],
            "tool_choice": "auto",
        },
        included=("4 messages", "1 tools"),
        excluded=plan.excluded,
        token_estimate=plan.token_estimate,
    )
    assert [item.description for item in plan.excluded] == ["context.messages[2].parts[0]"]
    assert plan.token_estimate is not None


def test_another_policy_is_another_plan_even_in_the_same_dialect() -> None:
    """Asked for explicitly, a request is written anew under that policy."""
    body = {**CLAUDE, "messages": CLAUDE["messages"][:2]}

    plan = plan_request(body, "anthropic", policy=replace(ADAPTER, foreign_thinking="text"))

    assert plan.must_roundtrip == ("context.messages[2].parts[0]",)
    assert plan.warnings == ("context.messages[2]: tool call 't1' has no result; one that says so is sent",)


def test_losses_of_the_crossing_are_listed_with_those_of_the_parts() -> None:
    plan = plan_request({**CLAUDE, "metadata": {"user_id": "u"}}, "gemini")

    assert ExcludedItem("extra_body.metadata", "a field of anthropic that gemini does not have") in plan.excluded


def test_media_go_through_the_store_that_is_given() -> None:
    """README case 3: the same bytes, whoever they go to."""
    store = InMemoryBlobStore()

    plan = plan_request(CHAT, "bedrock", blobs=store)

    assert plan.request["messages"][0]["content"][1] == {"image": {"format": "png", "source": {"bytes": b"hi"}}}
    assert len(store.list_blobs()) == 1


@pytest.mark.parametrize("body", [{}, {"hello": 1}])
def test_what_looks_like_nothing_is_a_usage_error(body: Json) -> None:
    with pytest.raises(UsageError, match="looks like no request of a known dialect"):
        plan_request(body, "anthropic")


def test_an_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no dialect is called 'esperanto'"):
        plan_request(CLAUDE, "esperanto")


@given(body=mutated([CLAUDE, CHAT, GEMINI]))
def test_whatever_arrives_is_planned_or_refused(body: Any) -> None:
    """L6: a WireError that says where, or a result, for every target."""
    if not isinstance(body, dict):
        return
    for target in DIALECTS:
        try:
            plan_request(body, target)
        except WireError as problem:
            assert problem.where  # noqa: PT017 - the error is one of two right answers
        except UsageError:
            pass  # it looks like no request any more
        except ValueError as problem:
            assert target == "openai_images", problem  # noqa: PT017 - no prompt, no picture (model.md, section 9)


DEEP = nested(1_000)


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [
        {**CLAUDE, "metadata": DEEP},
        {
            **CLAUDE,
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": DEEP}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
            ],
        },
        {
            **CLAUDE,
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [DEEP]}]},
            ],
        },
        {**CLAUDE, "tools": [{"name": "f", "description": "", "input_schema": DEEP}]},
        {**CLAUDE, "output_config": {"format": {"type": "json_schema", "schema": DEEP}}},
        {**CLAUDE, "tool_choice": DEEP},
    ],
)
def test_nesting_past_pythons_stack_is_planned_or_refused_with_its_place(body: Json, target: str) -> None:
    """1,000-deep nesting of issue 3."""
    try:
        plan_request(body, target)
    except WireError as problem:
        assert problem.where  # noqa: PT017 - the error is one of two right answers


OLD_CALLS: Json = {
    "model": "gpt-4",
    "messages": [
        {"role": "user", "content": "Depth?"},
        {"role": "assistant", "content": None, "function_call": {"name": "depth", "arguments": '{"pier": 4}'}},
        {"role": "function", "name": "depth", "content": "6.2 m"},
    ],
    "functions": [{"name": "depth", "parameters": {"type": "object"}}],
}


def test_calls_of_the_old_kind_are_nobodys_else() -> None:
    """L5: Gemini has a `function_call` too, with `args`; and no one else has a role `function`."""
    gemini = plan_request(OLD_CALLS, "gemini", source="openai_chat", model="m")
    ollama = plan_request(OLD_CALLS, "ollama", source="openai_chat", model="m")

    assert gemini.request["contents"][1]["parts"] == [{"function_call": {"name": "depth", "args": {"pier": 4}}}]
    assert dict(ollama.request["messages"][2]) == {"role": "tool", "tool_name": "depth", "content": "6.2 m"}
    assert (gemini.excluded, ollama.excluded) == ((), ())


AUDIO: Json = {"audio": {"format": "mp3", "source": {"bytes": "aGk="}, "error": {"message": "odd"}}}


@pytest.mark.parametrize(
    ("content", "sent", "left"),
    [
        ([AUDIO], [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}], []),
        ([{"audio": {"format": "opus", "source": {"bytes": "aGk="}}}, {"text": "Hm?"}], "Hm?", ["parts[0]"]),
    ],
)
def test_audio_of_bedrock_is_not_taken_for_an_answers_audio(content: Any, sent: Any, left: list[str]) -> None:
    """L5: both are kept as `{"audio": {...}}`."""
    plan = plan_request(
        {"messages": [{"role": "user", "content": content}]}, "openai_chat", source="bedrock", model="m"
    )

    assert thaw(plan.request)["messages"] == [{"role": "user", "content": sent}]
    assert [item.description for item in plan.excluded] == [f"context.messages[0].{place}" for place in left]


def test_pictures_among_the_instructions_are_left_out_of_a_chat() -> None:
    """L5: OpenAI's types take texts alone there."""
    picture = {"guardContent": {"image": {"format": "png", "source": {"bytes": "aGk="}}}}
    body = {"system": [{"text": "Look."}, picture], "messages": [{"role": "user", "content": [{"text": "Hm?"}]}]}
    plan = plan_request(body, "openai_chat", source="bedrock", model="m")

    assert thaw(plan.request)["messages"][0] == {"role": "system", "content": "Look."}
    assert [item.description for item in plan.excluded] == ["context.messages[0].parts[1]"]


@pytest.mark.parametrize(("name", "is_sent"), [("notes.pdf", True), ("notes.bin", False), (None, False)])
def test_a_file_of_bare_base64_is_known_by_its_name(name: str | None, is_sent: bool) -> None:
    """L5: Anthropic takes PDF and text, and refuses a type it does not know."""
    file = {"file_data": "aGk=", **({"filename": name} if name else {})}
    chat = {"messages": [{"role": "user", "content": [{"type": "file", "file": file}, {"type": "text", "text": "?"}]}]}
    plan = plan_request(chat, "anthropic", source="openai_chat", model="m")

    assert len(thaw(plan.request)["messages"][0]["content"]) == 1 + is_sent
    assert [item.description for item in plan.excluded] == ([] if is_sent else ["context.messages[0].parts[0]"])


def test_a_file_taken_elsewhere_is_a_data_url_for_openai() -> None:
    """L5: its API refuses bare base64."""
    source = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}
    body = {"messages": [{"role": "user", "content": [{"type": "document", "source": source}]}], "max_tokens": 9}

    for target in ("openai_chat", "openai_responses"):
        plan = plan_request(body, target, source="anthropic", model="m")
        assert "data:application/pdf;base64,aGk=" in str(thaw(plan.request))


def test_places_are_those_of_the_request_also_where_nothing_was_mended() -> None:
    """M-46: a message that is taken apart for the target is still one message to who asked."""
    results = [
        {"type": "function_call_output", "name": "depth", "output": "6 m"},
        {"type": "program_output", "id": "p1", "call_id": "c1", "result": "r", "status": "completed"},
    ]
    plan = plan_request({"model": "m", "input": results}, "cohere", source="openai_responses", model="m")

    assert {item.description for item in plan.excluded} == {
        "context.messages[0].parts[0]",
        "context.messages[0].parts[1]",
        "context.messages[0]",
    }


def test_a_refusal_of_the_responses_api_leaves_its_phase_behind() -> None:
    """L5: a chat's refusal looks the same, and has none."""
    said = [{"type": "refusal", "refusal": "No."}, {"type": "refusal", "refusal": "Never."}]
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "phase": "final_answer"}
    plan = plan_request({"input": [{**item, "content": said}]}, "openai_chat", source="openai_responses", model="m")

    assert thaw(plan.request)["messages"] == [{"role": "assistant", "content": said}]


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "content_filter"])
@pytest.mark.parametrize(("one", "other"), list(permutations(sorted(SPOKEN), 2)))
def test_an_answer_of_one_dialect_is_told_in_another(one: str, other: str, finish: str) -> None:
    """X-32: in the other's own envelope, with what was said, why it ended, and what it took."""
    call = Part("tool_call", tool_call_id="c1", tool_name="depth", tool_args={"pier": 4})
    parts = (Part("text", text="Six."), *((call,) if finish == "tool_calls" else ()))
    first = Reply((Message("assistant", parts),), id="i", model="m", finish_reason=finish, usage=Usage(11, 22))
    theirs, ours = dialect(one), dialect(other)
    heard = theirs.decode_response(theirs.encode_response(first).body)
    written = ours.encode_response(told_elsewhere(heard))

    again = ours.decode_response(written.body)

    assert written.losses == []
    assert again.message is not None
    said = [(part.type, part.text, part.tool_name, part.tool_args) for part in again.message.parts if part.text != ""]
    assert said == [(part.type, part.text, part.tool_name, part.tool_args) for part in parts]
    has_a_word = finish != "content_filter" or "ollama" not in (one, other)
    told = finish if has_a_word else "stop"
    assert (again.finish_reason, again.finished) == (told, True)
    assert again.usage is not None
    assert (again.usage.input_tokens, again.usage.output_tokens) == (11, 22)


@pytest.mark.parametrize("other", sorted(SPOKEN - {"anthropic"}))
def test_thinking_is_told_without_its_seal(other: str) -> None:
    """X-32: as a stream tells it; the seal is of no use to clients of another."""
    body = {"type": "message", "role": "assistant", "content": [SIGNED, {"type": "text", "text": "Six."}]}
    heard = dialect("anthropic").decode_response({**body, "stop_reason": "end_turn", "model": "m", "id": "i"})

    written = dialect(other).encode_response(told_elsewhere(heard))

    assert written.losses == []
    again = dialect(other).decode_response(written.body).message
    assert again is not None
    assert {(part.type, part.text) for part in again.parts} == {("thinking", "Ask the sonar."), ("text", "Six.")}
