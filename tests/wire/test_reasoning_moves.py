"""Reasoning that can move: a thread begun on Claude, continued on Gemini and on OpenAI, and taken back to Claude.

Issue 3, item 3. Every request must be one its provider would accept: by its own published types, and by the rules
its API enforces beside them (a user speaks first, results come right after their calls, each gets back only the
reasoning it made itself, to the byte).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.corpus.types import check
from tests.support.builders import assistant, text, thinking, tool, user
from weft.canon import Context, Part, RequestPlan, RunSpec, ToolSpecification, thaw, turn_messages, write_blocks
from weft.canon import read_blocks as read_turn
from weft.jsontext import dumps
from weft.wire import ADAPTER, AutoAdapter, StreamReader, dialect, plan_with
from weft.wire.sse import encode_sse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from weft.canon import ExcludedItem, Message
    from weft.wire import Policy

Json = dict[str, Any]

TOOLS = (
    ToolSpecification("depth", "Ask the sonar", {"type": "object", "properties": {"pier": {"type": "integer"}}}),
    ToolSpecification("tide", "Look at the table", {"type": "object", "properties": {}}),
)
CLAUDE = RunSpec("anthropic", "messages.create", "claude-opus-4-5", max_output_tokens=2048, tools=TOOLS)
GEMINI = RunSpec("google", "models.generate_content", "gemini-3-pro-preview", tools=TOOLS)
OPENAI = RunSpec("openai", "responses.create", "gpt-5", tools=TOOLS)
CHAT = RunSpec("openai", "chat.completions", "deepseek-reasoner", tools=TOOLS)
BEDROCK = RunSpec("bedrock", "converse", "anthropic.claude-opus-4-5", tools=TOOLS)
ALL = {"anthropic": CLAUDE, "gemini": GEMINI, "openai_responses": OPENAI, "openai_chat": CHAT, "bedrock": BEDROCK}

# -- what each of them answers ---------------------------------------------------------------------------------

SIGNED: Json = {"type": "thinking", "thinking": "Two things to ask.", "signature": "Q2xhdWRl"}
SEALED: Json = {"type": "redacted_thinking", "data": "RW5jcnlwdGVk"}
CLAUDE_CONTENT: list[Json] = [
    SIGNED,
    SEALED,
    {"type": "text", "text": "One moment."},
    {"type": "tool_use", "id": "toolu_1", "name": "depth", "input": {"pier": 4}},
    {"type": "tool_use", "id": "toolu_2", "name": "tide", "input": {}},
]
CLAUDE_SAYS: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": CLAUDE_CONTENT,
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "output_tokens": 20},
}
GEMINI_SIGNATURE = "R2VtaW5p"
GEMINI_SAYS: Json = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Once more, to be sure.", "thought": True},
                    {
                        "functionCall": {"name": "depth", "args": {"pier": 5}, "id": "g1"},
                        "thoughtSignature": GEMINI_SIGNATURE,
                    },
                    {"functionCall": {"name": "tide", "args": {}, "id": "g2"}},
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "modelVersion": "gemini-3-pro-preview",
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
}
REASONING: Json = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Pier 6 is left."}],
    "encrypted_content": "T3BlbkFJ",
}
OPENAI_SAYS: Json = {
    "id": "resp_1",
    "object": "response",
    "model": "gpt-5",
    "status": "completed",
    "output": [
        REASONING,
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "depth",
            "arguments": '{"pier":6}',
            "status": "completed",
        },
    ],
    "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
}


def results(*outputs: tuple[str, str]) -> Any:
    return tool(*(Part("tool_result", tool_call_id=call_id, tool_output=output) for call_id, output in outputs))


def thread() -> Context:
    """Begun on Claude with parallel calls, gone on with Gemini, then with OpenAI, each with its own reasoning."""
    auto = AutoAdapter()
    context = Context().user("Depth at piers 4 to 6, and the tide?")
    context = auto.ingest(context, CLAUDE_SAYS, spec=CLAUDE)
    context = context.append(results(("toolu_1", "6.2 m"), ("toolu_2", "high")))
    context = auto.ingest(context, GEMINI_SAYS, spec=GEMINI)
    context = context.append(results(("g1", "5.1 m"), ("g2", "still high")))
    context = auto.ingest(context, OPENAI_SAYS, spec=OPENAI)
    # The whole history is sent, and OpenAI is not to remember it.
    return context.append(results(("call_1", "4.0 m"))).with_cursor(Context().cursor)


def until(context: Context, length: int) -> Context:
    return Context(context.messages[:length], blob_store=context.blob_store)


# -- what their APIs enforce beside their types ----------------------------------------------------------------


def anthropic_rules(request: Json) -> None:
    turns = request["messages"]
    assert turns[0]["role"] == "user"
    for before, after in pairwise(turns):
        assert before["role"] != after["role"]
        calls = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        answers = [block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"]
        assert calls == answers
        assert [block["type"] for block in after["content"]][: len(answers)] == ["tool_result"] * len(answers)
    assert not any(block["type"] == "tool_use" for block in turns[-1]["content"])
    assert all(block.get("text", "x").strip() for turn in turns for block in turn["content"])


def gemini_rules(request: Json) -> None:
    contents = request["contents"]
    assert contents[0]["role"] == "user"
    for before, after in pairwise(contents):
        assert before["role"] != after["role"]
        calls = [part["function_call"]["name"] for part in before["parts"] if "function_call" in part]
        answers = [part["function_response"]["name"] for part in after["parts"] if "function_response" in part]
        assert calls == answers


def responses_rules(request: Json) -> None:
    waiting: list[str] = []
    for item in request["input"]:
        match item.get("type"):
            case "function_call":
                waiting.append(item["call_id"])
            case "function_call_output":
                waiting.remove(item["call_id"])
    assert waiting == []
    for n, item in enumerate(request["input"]):
        if item.get("type") == "reasoning":  # an item on its own is refused: what it led to must follow
            assert request["input"][n + 1].get("type") in ("function_call", "message")


def chat_rules(request: Json) -> None:
    waiting: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert waiting == []


def bedrock_rules(request: Json) -> None:
    turns = request["messages"]
    assert turns[0]["role"] == "user"
    for before, after in pairwise(turns):
        assert before["role"] != after["role"]
        calls = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block]
        answers = [block["toolResult"]["toolUseId"] for block in after["content"] if "toolResult" in block]
        assert calls == answers


RULES: dict[str, Callable[[Json], None]] = {
    "anthropic": anthropic_rules,
    "gemini": gemini_rules,
    "openai_responses": responses_rules,
    "openai_chat": chat_rules,
    "bedrock": bedrock_rules,
}


def refused(name: str, context: Context, policy: Policy = ADAPTER) -> str | None:
    """Ask the provider's own types. OpenAI's want fields that neither its API nor model.md has: that is a policy."""
    return check(name, plan_with(dialect(name), context, ALL[name], policy=replace(policy, typed=True)).request)


def planned(name: str, context: Context) -> RequestPlan:
    """Plan for one of them, and be sure it would be accepted."""
    plan = AutoAdapter().plan(context, ALL[name])
    assert refused(name, context) is None
    RULES[name](plan.request)
    assert plan.errors == ()
    return plan


def left_out(plan: RequestPlan) -> list[str]:
    return [item.description for item in plan.excluded]


# -- the journey -----------------------------------------------------------------------------------------------


def test_the_first_request_to_claude_leaves_nothing_out() -> None:
    plan = planned("anthropic", until(thread(), 1))

    assert (plan.excluded, plan.must_roundtrip, plan.warnings) == ((), (), ())


def test_gemini_is_not_sent_the_reasoning_of_claude() -> None:
    plan = planned("gemini", until(thread(), 3))

    assert left_out(plan) == ["context.messages[1].parts[0]", "context.messages[1].parts[1]"]
    assert all("anthropic" in item.reason for item in plan.excluded)
    assert plan.must_roundtrip == ()
    assert "Q2xhdWRl" not in str(plan.request)
    [_, model, _] = plan.request["contents"]
    assert [part.get("function_call", {}).get("name") for part in model["parts"]] == [None, "depth", "tide"]


def test_gemini_gets_its_signature_back_on_the_call_it_was_on() -> None:
    plan = planned("gemini", until(thread(), 5))

    own = plan.request["contents"][3]["parts"]
    calls = [part for part in own if "function_call" in part]
    assert [part.get("thought_signature") for part in calls] in (
        [GEMINI_SIGNATURE, None],
        [b"Gemini", None],
    )
    assert "context.messages[3].parts[1]" in plan.must_roundtrip
    assert left_out(plan) == ["context.messages[1].parts[0]", "context.messages[1].parts[1]"]


def test_openai_is_sent_neither_of_theirs() -> None:
    plan = planned("openai_responses", until(thread(), 5))

    assert left_out(plan) == [
        "context.messages[1].parts[0]",
        "context.messages[1].parts[1]",
        "context.messages[3].parts[0]",
    ]
    assert plan.must_roundtrip == ()
    assert not any(item.get("type") == "reasoning" for item in plan.request["input"])
    assert not any(secret in str(plan.request) for secret in ("Q2xhdWRl", "RW5jcnlwdGVk", GEMINI_SIGNATURE))


def test_openai_gets_its_sealed_reasoning_back_in_front_of_its_call() -> None:
    plan = planned("openai_responses", thread())

    items = plan.request["input"]
    [at] = [n for n, item in enumerate(items) if item.get("type") == "reasoning"]
    assert items[at] == REASONING
    assert (items[at + 1]["type"], items[at + 1]["call_id"]) == ("function_call", "call_1")
    assert plan.must_roundtrip == ("context.messages[5].parts[0]",)


def test_back_on_claude_its_own_thinking_is_untouched_and_nobody_elses_is_there() -> None:
    plan = planned("anthropic", thread())

    turns = plan.request["messages"]
    assert turns[1]["content"] == CLAUDE_CONTENT
    thoughts = [block for turn in turns for block in turn["content"] if "thinking" in block["type"]]
    assert thoughts == [SIGNED, SEALED]
    assert plan.must_roundtrip == ("context.messages[1].parts[0]", "context.messages[1].parts[1]")
    assert [(item.description, item.reason) for item in plan.excluded] == [
        ("context.messages[3].parts[0]", "thinking of google carries no signature this endpoint accepts"),
        ("context.messages[5].parts[0]", "thinking of openai carries no signature this endpoint accepts"),
    ]
    assert plan.warnings == ()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("length", [1, 3, 5, 7])
def test_everyone_can_take_over_anywhere(name: str, length: int) -> None:
    """Every call and every result goes along, whoever made it."""
    plan = planned(name, until(thread(), length))

    said = str(plan.request)
    outputs = [("6.2 m", 3), ("high", 3), ("5.1 m", 5), ("still high", 5), ("4.0 m", 7)]
    assert all((output in said) == (length >= since) for output, since in outputs if output != "high")


@pytest.mark.parametrize("name", ALL)
def test_the_reasoning_of_others_may_go_along_as_text(name: str) -> None:
    """An explicit policy: the plan says what became of it, and the request is still accepted."""
    context = thread()
    policy = replace(ADAPTER, foreign_thinking="text")

    plan = plan_with(dialect(name), context, ALL[name], policy=policy)

    assert refused(name, context, policy) is None
    RULES[name](plan.request)
    thoughts = {
        "anthropic": "Two things to ask.",
        "gemini": "Once more, to be sure.",
        "openai_responses": "Pier 6 is left.",
    }
    for words in thoughts.values():
        assert words in str(plan.request)
    own = {
        "anthropic": ("context.messages[1].parts[0]", "context.messages[1].parts[1]"),
        "gemini": ("context.messages[3].parts[0]", "context.messages[3].parts[1]"),
        "openai_responses": ("context.messages[5].parts[0]",),
    }
    assert plan.must_roundtrip == own.get(name, ())
    # What is sealed has no words; it stays behind, unless it is the maker's own.
    assert ("context.messages[1].parts[1]" in left_out(plan)) == (name != "anthropic")


def test_the_thread_may_be_written_down_and_read_again_at_any_point() -> None:
    """The same through to_dict and from_dict."""
    context = thread()
    again = Context.from_dict(context.to_dict(include_blob_payloads=True))

    for name in ALL:
        one, other = planned(name, context), planned(name, again)
        assert one.to_dict() == other.to_dict()


def test_the_thread_may_be_kept_as_turns() -> None:
    """README case 1: ingest, turn, resolve, plan gives the original blocks back, signatures included."""
    context = thread()
    messages: list[Message] = []
    for each in context.messages:
        blocks, losses = write_blocks(each.parts, context.blob_store, provider=each.provider)
        assert losses == []
        role = "user" if each.role == "tool" else each.role
        parts = read_turn(blocks, context.blob_store)
        messages += turn_messages(role, parts, provider=each.provider)
    again = Context(tuple(messages), blob_store=context.blob_store)

    for name in ALL:
        one, other = planned(name, context), planned(name, again)
        assert one.request == other.request
        assert one.must_roundtrip == other.must_roundtrip
        assert left_out(one) == left_out(other)


def test_a_stream_gives_the_same_context_as_a_whole_answer() -> None:
    """README case 2."""
    message = {**CLAUDE_SAYS, "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(CLAUDE_CONTENT):
        opened: Json = {**block, **dict.fromkeys(block.keys() & {"text", "thinking", "signature"}, "")}
        deltas: list[Json] = []
        match block["type"]:
            case "thinking":
                deltas = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
            case "text":
                deltas = [{"type": "text_delta", "text": block["text"]}]
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}})
    events.append({"type": "message_stop"})
    reader = StreamReader(dialect("anthropic").StreamDecoder(), "sse")
    for event in events:
        reader.feed(encode_sse(dumps(event)))
    reader.close()

    whole = dialect("anthropic").decode_response(CLAUDE_SAYS)

    assert reader.reply is not None
    assert reader.reply.message is not None
    assert whole.message is not None
    assert reader.reply.message.parts == whole.message.parts
    assert reader.reply.usage == whole.usage


# -- reasoning on chat -----------------------------------------------------------------------------------------

DETAILS: list[Json] = [
    {
        "type": "reasoning.text",
        "text": "Ask the sonar.",
        "signature": "c2ln",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "c2VhbGVk", "id": "r1", "format": "openai-responses-v1", "index": 1},
]
CHAT_SAYS: Json = {
    "id": "gen-1",
    "model": "anthropic/claude-opus-4.5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": "6.2 m",
                "reasoning": "Ask the sonar.",
                "reasoning_details": DETAILS,
            },
        }
    ],
}


def test_reasoning_details_go_back_in_their_order() -> None:
    """OpenRouter: the sequence must match what it gave, or it is refused."""
    context = AutoAdapter().ingest(Context().user("Depth?"), CHAT_SAYS, spec=CHAT).user("And now?")

    plan = planned("openai_chat", context)

    answer = plan.request["messages"][1]
    assert (answer["content"], answer["reasoning_details"]) == ("6.2 m", DETAILS)
    assert plan.must_roundtrip == ("context.messages[1].parts[1]",)
    again = Context.from_dict(context.to_dict())
    assert planned("openai_chat", again).request == plan.request


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai_responses", "bedrock"])
def test_reasoning_details_go_to_nobody_else(name: str) -> None:
    context = AutoAdapter().ingest(Context().user("Depth?"), CHAT_SAYS, spec=CHAT).user("And now?")

    plan = planned(name, context)

    assert left_out(plan) == ["context.messages[1].parts[1]"]
    assert "Ask the sonar." not in str(plan.request)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_plain_reasoning_goes_back_in_its_own_field(field: str) -> None:
    """DeepSeek, vLLM, Groq: each has its own name for it."""
    answer = {"choices": [{"message": {"role": "assistant", "content": "6.2 m", field: "Ask."}}]}
    context = AutoAdapter().ingest(Context().user("Depth?"), answer, spec=CHAT).user("And now?")

    assert planned("openai_chat", context).request["messages"][1] == {
        "role": "assistant",
        "content": "6.2 m",
        field: "Ask.",
    }


# -- odd cases -------------------------------------------------------------------------------------------------


def test_bedrock_gets_its_signed_reasoning_back() -> None:
    block = {"reasoningContent": {"reasoningText": {"text": "Ask.", "signature": "c2ln"}}}
    sealed = {"reasoningContent": {"redactedContent": b"sealed"}}
    says = {"output": {"message": {"role": "assistant", "content": [block, sealed, {"text": "6.2 m"}]}}}
    context = AutoAdapter().ingest(Context().user("Depth?"), says, spec=BEDROCK).user("And now?")

    plan = planned("bedrock", context)

    assert plan.request["messages"][1]["content"] == [block, sealed, {"text": "6.2 m"}]
    assert plan.must_roundtrip == ("context.messages[1].parts[0]", "context.messages[1].parts[1]")
    for other in ("anthropic", "gemini", "openai_responses"):
        assert left_out(planned(other, context)) == list(plan.must_roundtrip)


def test_every_thinking_part_knows_who_made_it() -> None:
    """Issue 3, item 3: provider, model, dialect."""
    made = [
        dict(thaw(part.json))
        for message in thread().messages
        for part in message.parts
        if part.type == "thinking" and part.json is not None
    ]

    assert made == [
        {"provider": "anthropic", "dialect": "anthropic", "model": "claude-opus-4-5"},
        {"provider": "anthropic", "dialect": "anthropic", "model": "claude-opus-4-5"},
        {"provider": "google", "dialect": "gemini", "model": "gemini-3-pro-preview"},
        {"provider": "openai", "dialect": "openai_responses", "model": "gpt-5"},
    ]


def test_an_answer_that_was_only_foreign_thinking_leaves_no_hole() -> None:
    """A message of which nothing can be sent goes, is reported, and its neighbours still fit."""
    foreign = Part("thinking", "hm", json={"provider": "google", "dialect": "gemini"})
    context = Context((user("a"), assistant(foreign, provider="google"), user("b"), assistant("c"), user("d")))

    plan = planned("anthropic", context)

    assert left_out(plan) == ["context.messages[1].parts[0]", "context.messages[1]"]
    assert [turn["role"] for turn in plan.request["messages"]] == ["user", "assistant", "user"]


def test_a_failed_tool_stays_failed_wherever_that_can_be_said() -> None:
    """README case 8."""
    failed = Part("tool_result", tool_call_id="toolu_1", tool_output="no echo", provider_raw={"is_error": True})
    context = Context(
        (*thread().messages[:2], tool(failed, Part("tool_result", tool_call_id="toolu_2", tool_output="x")))
    )

    claude = planned("anthropic", context).request["messages"][-1]["content"][0]
    bedrock = planned("bedrock", context).request["messages"][-1]["content"][0]["toolResult"]
    assert (claude["is_error"], bedrock["status"]) == (True, "error")
    for name in ("gemini", "openai_responses", "openai_chat"):
        plan = planned(name, context)
        assert "no echo" in str(plan.request)
        assert any("context.messages[2].parts[0]" in told for told in _account(plan.warnings, plan.excluded))


def _account(warnings: Iterable[str], excluded: Iterable[ExcludedItem]) -> list[str]:
    return [*warnings, *(item.description for item in excluded)]


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai_responses", "bedrock", "openai_chat"])
def test_a_picture_goes_along_with_the_same_bytes(name: str) -> None:
    """README case 3."""
    context = Context()
    picture = b"\x89PNG\r\n\x1a\n"
    blob = context.blob_store.put_blob(picture, media_type="image/png", kind="image")
    context = context.user([text("Look:"), Part("image", blob=blob)])

    said = str(planned(name, context).request)

    assert ("iVBORw0KGgo=" in said) or (str(picture) in said)


def test_thinking_made_by_hand_is_anyones() -> None:
    """model.md section 10: without a maker, it is sent as the endpoint has it."""
    context = Context((user("a"), assistant(thinking("hm"), "b"), user("c")))

    assert AutoAdapter().plan(context, CLAUDE).request["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "hm",
    }
