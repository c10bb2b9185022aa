"""Messages of libraries: what is written is read by the packages that own the format, and theirs is read here."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.formats.test_agent_sessions import shape
from tests.support.asked import Asked, asked
from tests.support.components import require
from tests.support.transcripts import transcripts
from weft.blobs import InMemoryBlobStore
from weft.canon import UNTIMED, Entry, Instructions, Message, Part, Session, ToolSpecification, Transcript, Usage
from weft.formats import Source, format_by_name, guess
from weft.formats.foreign import is_failed, spoken

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import atif
    from langchain_core.load import dumpd
    from langchain_core.messages import (
        AIMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        messages_from_dict,
        messages_to_dict,
    )
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai import messages as pydantic_ai
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.usage import RequestUsage

BLOBS = InMemoryBlobStore(hashed=True)
PICTURE = BLOBS.put_blob(b"\x89PNG", media_type="image/png", kind="image")
SEALED = {"type": "thinking", "thinking": "hm", "signature": "SIG"}


def a_transcript() -> Transcript:
    """Give a conversation with one of everything."""
    thought = Part("thinking", "hm", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw=SEALED)
    calls = [
        Part("tool_call", tool_call_id=name, tool_name="depth", tool_args={"pier": pier})
        for name, pier in (("c1", 4), ("c2", 5))
    ]
    failed = Part(
        "tool_result", provider_raw={"is_error": True}, tool_call_id="c2", tool_name="depth", tool_output="no such pier"
    )
    messages = [
        Message("user", [Part("text", "Depth?"), Part("image", blob=PICTURE)]),
        Message("assistant", [thought, Part("text", "One moment."), *calls], provider="anthropic"),
        Message("tool", [Part("tool_result", tool_call_id="c1", tool_name="depth", tool_output="6 m"), failed]),
        Message("assistant", [Part("text", "Six.")], provider="anthropic"),
    ]
    entries = [
        Entry(
            str(number),
            message,
            () if number == 1 else (str(number - 1),),
            "claude-x" if message.role == "assistant" else None,
            {2: "tool_calls", 4: "stop"}.get(number),
            Usage(3, 4, 7) if message.role == "assistant" else None,
            blobs=BLOBS,
        )
        for number, message in enumerate(messages, 1)
    ]
    tool = ToolSpecification("depth", "Sounds.", {"type": "object", "properties": {"pier": {"type": "integer"}}})
    return Transcript(tuple(entries), Session(id="s1", instructions=Instructions("Be brief."), tools=(tool,)))


def written(name: str) -> bytes:
    return format_by_name(name).dump(a_transcript())[0]


def taken_by_atif(data: bytes) -> None:
    atif.Trajectory.model_validate_json(data)


def taken_by_pydantic_ai(data: bytes) -> None:
    pydantic_ai.ModelMessagesTypeAdapter.validate_json(data)


def taken_by_langchain(data: bytes) -> None:
    for message in messages_from_dict(json.loads(data)):
        _ = message.content_blocks  # what it makes of content is made when it is asked for


TAKEN = {"atif": taken_by_atif, "pydantic-ai": taken_by_pydantic_ai, "langchain": taken_by_langchain}


@pytest.mark.parametrize(("name", "take"), TAKEN.items(), ids=TAKEN)
@settings(max_examples=15)
@given(given_one=transcripts())
def test_whatever_is_written_its_owner_takes(name: str, take: Callable[[bytes], None], given_one: Transcript) -> None:
    """Any conversation: calls without ids, no parts, failed tools, half characters, all kinds of media."""
    take(format_by_name(name).dump(given_one)[0])


@pytest.mark.soak
@pytest.mark.parametrize(("name", "take"), TAKEN.items(), ids=TAKEN)
@settings(max_examples=1000)
@given(given_one=transcripts())
def test_very_much_that_is_written_its_owner_takes(
    name: str, take: Callable[[bytes], None], given_one: Transcript
) -> None:
    take(format_by_name(name).dump(given_one)[0])


@pytest.mark.parametrize("words", ["Depth?", "Depth? " * 20_000], ids=["short", "long"])
@pytest.mark.parametrize("name", ["atif", "sharegpt", "openai-finetuning", "otel"])
def test_several_conversations_in_a_file_are_read_again(name: str, words: str) -> None:
    """A line each; the first may be longer than the look that tells what a file is."""
    kind = format_by_name(name)
    both = [Transcript.of([Message("user", [Part("text", words)], timestamp=UNTIMED)]) for _ in range(2)]

    data, _ = kind.dump(both)

    assert [found.entries[0].message.parts for found in kind.transcripts(data)] == [
        each.entries[0].message.parts for each in both
    ]
    assert guess(Source.of(data, "talks.jsonl")) is kind
    if name == "atif":
        for line in data.splitlines():
            taken_by_atif(line)


@pytest.mark.parametrize("name", ["inspect", "langchain", "otel", "pydantic-ai", "uimessage"])
def test_a_tool_that_failed_has_failed_wherever_it_goes(name: str) -> None:
    """What canon and every dialect call failed: from a session of Claude Code, through a file, to a provider."""
    kind = format_by_name(name)
    result = {"type": "tool_result", "tool_use_id": "c", "content": "no such pier", "is_error": True}
    call = Part("tool_call", tool_call_id="c", tool_name="depth", tool_args={})
    failed = Part("tool_result", tool_call_id="c", tool_output="no such pier", provider_raw=result)
    messages = [Message("assistant", [call], timestamp=UNTIMED), Message("tool", [failed], timestamp=UNTIMED)]

    back = kind.load(kind.dump(Transcript.of(messages))[0])

    found = back.entries[1]
    assert is_failed(found.message.parts[0])
    (said,) = spoken("anthropic", [found.message], found.blobs)
    assert said["content"][0]["is_error"] is True


def sealed_answer() -> Transcript:
    """Give an answer with reasoning that only who made it can read: Anthropic's redacted, OpenAI's encrypted."""
    item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "so"}]}
    item["encrypted_content"] = "ENC"
    hidden = {"type": "redacted_thinking", "data": "DATA"}
    parts = [
        Part("thinking", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw=hidden),
        Part("thinking", "so", json={"provider": "openai", "dialect": "openai_responses"}, provider_raw=item),
        Part("text", "Six."),
    ]
    return Transcript.of([Message("assistant", parts, timestamp=UNTIMED)])


def test_redacted_and_encrypted_reasoning_is_pydantic_ais_own_and_comes_back() -> None:
    kind = format_by_name("pydantic-ai")
    data, _ = kind.dump(sealed_answer())

    (answer,) = pydantic_ai.ModelMessagesTypeAdapter.validate_json(data)

    assert answer.parts[:2] == [
        pydantic_ai.ThinkingPart("", id="redacted_thinking", signature="DATA", provider_name="anthropic"),
        pydantic_ai.ThinkingPart("so", id="rs_1", signature="ENC", provider_name="openai"),
    ]
    again = pydantic_ai.ModelMessagesTypeAdapter.dump_json([answer])
    assert kind.load(again).entries[0].message.parts == sealed_answer().entries[0].message.parts


def test_a_call_between_texts_keeps_its_place_in_langchain() -> None:
    kind = format_by_name("langchain")
    call = Part("tool_call", tool_call_id="c1", tool_name="f", tool_args={"a": 1})
    parts = [Part("text", "a"), call, Part("text", "b")]

    data, ledger = kind.dump(Transcript.of([Message("assistant", parts, timestamp=UNTIMED)]))

    (message,) = messages_from_dict(json.loads(data))
    assert [block["type"] for block in message.content_blocks] == ["text", "tool_call", "text"]
    found = kind.load(data).entries[0].message.parts
    assert [(part.type, part.text, part.tool_args) for part in found] == [
        (part.type, part.text, part.tool_args) for part in parts
    ]
    assert ledger.losses == []


def test_redacted_reasoning_is_a_block_of_langchains_and_comes_back() -> None:
    kind = format_by_name("langchain")
    data, _ = kind.dump(sealed_answer())

    (answer,) = messages_from_dict(json.loads(data))

    hidden = sealed_answer().entries[0].message.parts[0]
    assert answer.content_blocks[0] == {"type": "non_standard", "value": dict(hidden.provider_raw or {})}
    plain = messages_to_dict([AIMessage([dict(hidden.provider_raw or {}), "Six."])])
    for said in (messages_to_dict([answer]), plain):
        assert kind.load(json.dumps(said)).entries[0].message.parts[0] == hidden


def test_a_trajectory_is_valid_atif() -> None:
    trajectory = atif.Trajectory.model_validate_json(written("atif"))

    assert [step.source for step in trajectory.steps] == ["system", "user", "agent", "agent"]
    assert trajectory.steps[2].observation is not None
    assert [result.source_call_id for result in trajectory.steps[2].observation.results] == ["c1", "c2"]


def test_a_trajectory_of_atif_is_read_and_written_again() -> None:
    calls = [atif.ToolCall(tool_call_id="c", function_name="ls", arguments={"dir": "."}, extra={"timeout": 3})]
    results = atif.Observation(results=[atif.ObservationResult(source_call_id="c", content="a b", extra={"ms": 1})])
    metrics = atif.Metrics(prompt_tokens=3, completion_tokens=4, cost_usd=0.1)
    trajectory = atif.Trajectory(
        schema_version="ATIF-v1.8",
        session_id="s",
        agent=atif.Agent(name="a", version="1", model_name="m"),
        steps=[
            atif.Step(step_id=1, source="user", message="list"),
            atif.Step(
                step_id=2,
                source="agent",
                message="Look.",
                reasoning_content="hm",
                tool_calls=calls,
                observation=results,
                metrics=metrics,
                extra={"x": 1},
            ),
        ],
        notes="n",
    ).to_json_dict()
    kind = format_by_name("atif")

    transcript = kind.load(json.dumps(trajectory))

    assert shape(transcript) == [
        ("1", None, "user", ["text"]),
        ("2", "1", "assistant", ["thinking", "text", "tool_call"]),
        ("3", "2", "tool", ["tool_result"]),
    ]
    assert json.loads(kind.dump(transcript)[0]) == trajectory


def test_a_step_of_atif_that_saw_nothing_is_one_step() -> None:
    steps = [
        atif.Step(step_id=1, source="user", message="list"),
        atif.Step(step_id=2, source="agent", message="", observation=atif.Observation(results=[])),
    ]
    agent = atif.Agent(name="a", version="1")
    trajectory = atif.Trajectory(schema_version="ATIF-v1.8", agent=agent, steps=steps).to_json_dict()
    kind = format_by_name("atif")

    data, ledger = kind.dump(kind.load(json.dumps(trajectory)))

    assert [step["source"] for step in json.loads(data)["steps"]] == ["user", "agent"]
    assert ledger.losses == []


def test_a_history_is_read_by_pydantic_ai() -> None:
    request, answer, results, last = pydantic_ai.ModelMessagesTypeAdapter.validate_json(written("pydantic-ai"))

    assert isinstance(request, pydantic_ai.ModelRequest)
    assert request.instructions == "Be brief."
    assert isinstance(answer, pydantic_ai.ModelResponse)
    assert answer.parts[0] == pydantic_ai.ThinkingPart("hm", signature="SIG", provider_name="anthropic")
    assert answer.finish_reason == "tool_call"
    assert [part.part_kind for part in results.parts] == ["tool-return", "tool-return"]
    assert last.parts == [pydantic_ai.TextPart("Six.")]


def test_what_pydantic_ai_dumps_is_read_and_written_again() -> None:
    picture = pydantic_ai.BinaryContent(b"abc", media_type="image/png")
    asked: list[pydantic_ai.UserContent] = ["see", pydantic_ai.ImageUrl("https://example.org/y.png"), picture]
    history: list[pydantic_ai.ModelMessage] = [
        pydantic_ai.ModelRequest([pydantic_ai.SystemPromptPart("Be brief."), pydantic_ai.UserPromptPart(asked)]),
        pydantic_ai.ModelResponse(
            [
                pydantic_ai.ThinkingPart("hm", signature="s", provider_name="anthropic"),
                pydantic_ai.TextPart("ok"),
                pydantic_ai.ToolCallPart("f", {"a": 1}, tool_call_id="c1"),
            ],
            model_name="m",
            usage=RequestUsage(input_tokens=3, output_tokens=4),
            finish_reason="tool_call",
        ),
        pydantic_ai.ModelRequest([pydantic_ai.ToolReturnPart("f", {"deep": [1]}, tool_call_id="c1")]),
    ]
    dumped = pydantic_ai.ModelMessagesTypeAdapter.dump_json(history)
    kind = format_by_name("pydantic-ai")

    transcript = kind.load(dumped)
    again = pydantic_ai.ModelMessagesTypeAdapter.validate_json(kind.dump(transcript)[0])

    assert [each[2:] for each in shape(transcript)] == [
        ("system", ["text"]),
        ("user", ["text", "image", "image"]),
        ("assistant", ["thinking", "text", "tool_call"]),
        ("tool", ["tool_result"]),
    ]
    assert [[part.part_kind for part in message.parts] for message in again] == [
        [part.part_kind for part in message.parts] for message in history
    ]
    assert again[1].parts == history[1].parts
    assert guess(dumped) is kind


def test_a_run_of_pydantic_ai_is_read_and_written_again() -> None:
    """An agent's own history: parallel calls, one of which it is told to try again, and a retry that is no tool's."""
    said: Iterator[list[pydantic_ai.ModelResponsePart]] = iter(
        [
            [
                pydantic_ai.ThinkingPart("hm", signature="SIG", provider_name="anthropic", id="t1"),
                pydantic_ai.ToolCallPart("depth", {"pier": 4}, tool_call_id="c4"),
                pydantic_ai.ToolCallPart("depth", {"pier": 5}, tool_call_id="c5"),
            ],
            [pydantic_ai.TextPart("")],
            [pydantic_ai.TextPart("Six.")],
        ]
    )

    def answer(_messages: list[pydantic_ai.ModelMessage], _info: AgentInfo) -> pydantic_ai.ModelResponse:
        return pydantic_ai.ModelResponse(next(said))

    agent = Agent(FunctionModel(answer), instructions="Be brief.", retries=2)

    @agent.tool_plain
    def depth(pier: int) -> dict[str, int]:
        """Sound the depth."""
        if pier == 5:
            raise ModelRetry("no such pier")
        return {"metres": pier + 2}

    dumped = asyncio.run(agent.run("Depth?")).all_messages_json()
    kind = format_by_name("pydantic-ai")

    transcript = kind.load(dumped)
    data, ledger = kind.dump(transcript)

    results = [part for entry in transcript.entries for part in entry.message.parts if part.type == "tool_result"]
    assert [(part.tool_call_id, is_failed(part)) for part in results] == [("c4", False), ("c5", True)]
    assert ledger.losses == []
    adapter = pydantic_ai.ModelMessagesTypeAdapter
    histories = [json.loads(dumped), json.loads(adapter.dump_json(adapter.validate_json(data)))]
    for history in histories:
        for part in (part for message in history for part in message["parts"]):
            part.pop("timestamp", None)  # those of one request are said at once here
    assert histories[1] == histories[0]


HISTORIES: dict[str, pydantic_ai.ModelMessage] = {
    "media": pydantic_ai.ModelRequest(
        [
            pydantic_ai.UserPromptPart(
                [
                    "see",
                    pydantic_ai.ImageUrl("https://harbour.example/y.png", vendor_metadata={"detail": "low"}),
                    pydantic_ai.BinaryContent(b"abc", media_type="application/pdf", identifier="i", vendor_metadata={}),
                    pydantic_ai.AudioUrl("https://harbour.example/a.mp3"),
                    pydantic_ai.DocumentUrl("https://harbour.example/d", media_type="application/pdf"),
                    pydantic_ai.CachePoint(),
                ]
            )
        ],
        instructions="Be brief.",
    ),
    "an answer": pydantic_ai.ModelResponse(
        [
            pydantic_ai.TextPart("t", id="x", provider_name="openai", provider_details={"a": 1}),
            pydantic_ai.ToolCallPart("f", '{"a":', tool_call_id="c"),
            pydantic_ai.ToolCallPart("g", {"a": 1}, tool_call_id="d", id="fc_1", provider_name="openai"),
            pydantic_ai.FilePart(
                pydantic_ai.BinaryImage(b"img", media_type="image/png"), id="f1", provider_name="openai"
            ),
            pydantic_ai.NativeToolCallPart("web_search", {"q": 1}, tool_call_id="w", provider_name="openai"),
            pydantic_ai.NativeToolReturnPart("web_search", {"r": 1}, tool_call_id="w", provider_name="openai"),
        ],
        usage=RequestUsage(input_tokens=3, output_tokens=4, cache_read_tokens=2, details={"r": 1}),
        model_name="m",
        provider_name="openai",
        provider_details={"finish_reason": "length"},
        provider_response_id="r1",
        finish_reason="length",
    ),
    "reasoning": pydantic_ai.ModelResponse(
        [
            pydantic_ai.ThinkingPart("", id="redacted_thinking", signature="D", provider_name="anthropic"),
            pydantic_ai.ThinkingPart("a", id="r", signature="S", provider_name="openai", provider_details={"x": 1}),
            pydantic_ai.ThinkingPart("b", id="r", provider_name="openai"),
            pydantic_ai.ThinkingPart("plain"),
        ]
    ),
    "results": pydantic_ai.ModelRequest(
        [
            pydantic_ai.ToolReturnPart("f", {"deep": [1, None]}, tool_call_id="c", metadata={"m": 1}),
            pydantic_ai.ToolReturnPart("f", "no", tool_call_id="d", outcome="denied"),
        ],
        metadata={"q": 1},
    ),
    "nothing said": pydantic_ai.ModelResponse([]),
    "nothing asked": pydantic_ai.ModelRequest([]),
}


@pytest.mark.parametrize("message", HISTORIES.values(), ids=HISTORIES)
def test_a_message_of_pydantic_ai_comes_back_as_it_was(message: pydantic_ai.ModelMessage) -> None:
    """Whatever it holds, with all that is said beside it; but for when each part of a request was said."""
    adapter = pydantic_ai.ModelMessagesTypeAdapter
    dumped = adapter.dump_json([message])
    kind = format_by_name("pydantic-ai")

    data, ledger = kind.dump(kind.load(dumped))

    found = [json.loads(dumped), json.loads(adapter.dump_json(adapter.validate_json(data)))]
    for part in (part for history in found for part in history[0]["parts"]):
        part.pop("timestamp", None)
    assert found[1] == found[0]
    assert ledger.losses == []


def test_messages_are_loaded_by_langchain() -> None:
    system, asked, answer, *results, last = messages_from_dict(json.loads(written("langchain")))

    assert (system.type, asked.type, answer.type, last.type) == ("system", "human", "ai", "ai")
    assert isinstance(answer, AIMessage)
    assert [call["id"] for call in answer.tool_calls] == ["c1", "c2"]
    assert [result.status for result in results if isinstance(result, ToolMessage)] == ["success", "error"]
    assert answer.content_blocks[0]["type"] == "reasoning"


@pytest.mark.parametrize("form", ["dict", "constructor"])
def test_what_langchain_dumps_is_read(form: str) -> None:
    call = {"name": "f", "args": {"a": 1}, "id": "c1"}
    picture = {"type": "image", "base64": "YWJj", "mime_type": "image/png"}
    messages = [
        SystemMessage("s"),
        HumanMessage([{"type": "text", "text": "x"}, picture]),
        AIMessage(
            [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "t"}],
            tool_calls=[call],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            response_metadata={"model_name": "m"},
        ),
        ToolMessage("out", tool_call_id="c1", status="error"),
    ]
    said = messages_to_dict(messages) if form == "dict" else [dumpd(message) for message in messages]
    kind = format_by_name("langchain")

    transcript = kind.load(json.dumps(said))

    assert [each[2:] for each in shape(transcript)] == [
        ("system", ["text"]),
        ("user", ["text", "image"]),
        ("assistant", ["thinking", "text", "tool_call"]),
        ("tool", ["tool_result"]),
    ]
    assert transcript.entries[2].usage == Usage(1, 2, 3, {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})
    back = messages_from_dict(json.loads(kind.dump(transcript)[0]))
    assert [message.content for message in back] == [message.content for message in messages]
    assert guess(json.dumps(said)) is kind


CALL: Any = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
MESSAGES = {
    "a cached prompt": SystemMessage([{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}], id="x"),
    "media": HumanMessage(
        [
            {"type": "image", "base64": "YWJj", "mime_type": "image/png", "id": "i1"},
            {"type": "image", "url": "https://harbour.example/y.png"},
            {"type": "file", "base64": "YWJj", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
            {"type": "audio", "file_id": "f1"},
            {"type": "text-plain", "text": "t", "mime_type": "text/plain"},
        ],
        name="bob",
        additional_kwargs={"k": 1},
    ),
    "calls of all kinds": AIMessage(
        "",
        tool_calls=[CALL, {"name": "g", "args": {}, "id": None, "type": "tool_call"}],
        invalid_tool_calls=[{"name": "h", "args": "{", "id": "c9", "error": "bad", "type": "invalid_tool_call"}],
    ),
    "a call between texts": AIMessage(
        [
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            {"type": "text", "text": "b"},
        ],
        tool_calls=[CALL],
        response_metadata={"model_name": "m", "stop_reason": "tool_use", "model_provider": "anthropic"},
    ),
    "Anthropic's own blocks": AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "SIG"},
            {"type": "redacted_thinking", "data": "DATA"},
            {"type": "text", "text": "t", "citations": [{"u": 1}]},
        ],
        response_metadata={"model_provider": "anthropic"},
    ),
    "standard blocks": AIMessage(
        [
            {"type": "reasoning", "reasoning": "r", "extras": {"signature": "SIG", "more": 1}, "id": "rs"},
            {"type": "server_tool_call", "name": "web", "args": {}, "id": "s1"},
            {"type": "non_standard", "value": {"z": 1}},
        ],
        response_metadata={"output_version": "v1"},
    ),
    "a failed tool": ToolMessage("out", tool_call_id="c1", name="f", artifact={"big": 1}, status="error", id="t1"),
    "a tool's picture": ToolMessage(
        [{"type": "image", "base64": "YWJj", "mime_type": "image/png"}], tool_call_id="c1", name="f"
    ),
    "nothing": AIMessage(""),
}


@pytest.mark.parametrize("form", ["dict", "constructor"])
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_a_message_of_langchain_comes_back_as_it_was(message: Any, form: str) -> None:
    """Whatever it holds, in its place, with all that is said beside it."""
    said = messages_to_dict([message]) if form == "dict" else [dumpd(message)]
    kind = format_by_name("langchain")

    data, ledger = kind.dump(kind.load(json.dumps(said)))

    assert (messages_from_dict(json.loads(data)), ledger.losses) == ([message], [])


def test_fine_tuning_lines_hold_messages_of_openais_own_types() -> None:
    line = json.loads(written("openai-finetuning"))

    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(line["messages"])
    assert [message["role"] for message in line["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]


def test_fine_tuning_lines_are_written_again_as_they_were() -> None:
    lines: list[dict[str, Any]] = [
        {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4", "weight": 1}]},
        {
            "input": {"messages": [{"role": "user", "content": "2+2?"}]},
            "preferred_output": [{"role": "assistant", "content": "4"}],
            "non_preferred_output": [{"role": "assistant", "content": "5"}],
        },
        {"messages": [{"role": "user", "content": "x"}], "reference": {"answer": 4}},
    ]
    kind = format_by_name("openai-finetuning")
    data = "\n".join(json.dumps(line) for line in lines)

    transcripts = list(kind.transcripts(data))

    assert transcripts[1].heads.keys() == {"preferred", "rejected"}
    assert [json.loads(line) for line in kind.dump(transcripts)[0].splitlines()] == lines
    assert guess(data) is kind


def test_sharegpt_is_written_again_as_it_was() -> None:
    said = {
        "conversations": [
            {"from": "human", "value": "Depth?"},
            {"from": "function_call", "value": '{"name":"depth","arguments":{"pier":4}}'},
            {"from": "observation", "value": "6 m"},
            {"from": "gpt", "value": "Six."},
            {"from": "critic", "value": "Hm."},
        ],
        "system": "Be brief.",
        "tools": '[{"name":"depth","description":"Sounds.","parameters":{"type":"object"}}]',
        "source": "here",
    }
    kind = format_by_name("sharegpt")

    transcript = kind.load(json.dumps(said))

    assert [each[2:] for each in shape(transcript)] == [
        ("user", ["text"]),
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    assert transcript.entries[2].message.parts[0].tool_call_id == transcript.entries[1].message.parts[0].tool_call_id
    assert json.loads(kind.dump(transcript)[0]) == said
    assert guess(json.dumps(said)) is kind


UIMESSAGES = [
    {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "Rain?"}]},
    {
        "id": "m1",
        "role": "assistant",
        "metadata": {"at": 1},
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "s"}}},
            {
                "type": "tool-weather",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"city": "Oslo"},
                "output": {"rain": True},
            },
            {"type": "step-start"},
            {"type": "text", "text": "It rains.", "state": "done"},
            {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
        ],
    },
    {
        "id": "m2",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,YWJj"}],
    },
]


def test_uimessages_are_written_again_as_they_were() -> None:
    kind = format_by_name("uimessage")

    transcript = kind.load(json.dumps(UIMESSAGES))

    assert shape(transcript) == [
        ("m0", None, "user", ["text"]),
        ("m1/1", "m0", "assistant", ["thinking", "tool_call"]),
        ("m1/2", "m1/1", "tool", ["tool_result"]),
        ("m1", "m1/2", "assistant", ["text", "provider"]),
        ("m2", "m1", "user", ["image"]),
    ]
    assert json.loads(kind.dump(transcript)[0]) == UIMESSAGES
    assert guess(json.dumps(UIMESSAGES)) is kind


@pytest.fixture(scope="module")
def ai_sdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Vercel's AI SDK in Node, asked line by line."""
    program = Path(__file__).resolve().parents[1] / "support" / "mcp" / "uimessages.mjs"
    command = ("node", "--input-type=module", "-e", program.read_text("utf-8"))
    folder = require("mcp-servers").parent.parent
    with asked(command, tmp_path_factory.mktemp("home"), folder) as ask:
        yield ask


def taken_by_ai_sdk(ask: Asked, data: bytes) -> list[str]:
    """Give the roles of the messages that a model would be sent."""
    said = json.loads(data)
    messages = said["messages"] if isinstance(said, dict) else said
    found = ask({"do": "check", "messages": messages}) if messages else []  # it takes no empty conversation
    assert isinstance(found, list), found["error"]
    return found


def test_uimessages_are_valid_for_the_ai_sdk(ai_sdk: Asked) -> None:
    assert taken_by_ai_sdk(ai_sdk, written("uimessage")) == ["user", "assistant", "tool", "assistant"]


@settings(max_examples=15)
@given(given_one=transcripts())
def test_whatever_is_written_as_uimessages_the_ai_sdk_takes(ai_sdk: Asked, given_one: Transcript) -> None:
    taken_by_ai_sdk(ai_sdk, format_by_name("uimessage").dump(given_one)[0])


def test_a_talk_of_the_ai_sdk_is_read_and_written_as_it_was(ai_sdk: Asked) -> None:
    """A scripted model's stream, put together by the SDK: sealed reasoning, parallel calls, failed ones."""
    talk = ai_sdk({"do": "talk"})
    kind = format_by_name("uimessage")

    transcript = kind.load(json.dumps(talk))
    data, ledger = kind.dump(transcript)

    assert [each[2:] for each in shape(transcript)] == [
        ("user", ["text"]),
        ("assistant", ["thinking", "text", "tool_call", "tool_call", "tool_call"]),
        ("tool", ["tool_result", "tool_result", "tool_result"]),
        ("assistant", ["text", "provider", "image"]),
    ]
    assert transcript.entries[1].message.parts[0].provider_raw == SEALED
    assert transcript.entries[1].message.parts[-1].tool_args == {"_raw": '{"pier":'}
    assert [is_failed(part) for part in transcript.entries[2].message.parts] == [False, True, True]
    assert (json.loads(data), ledger.losses) == (talk, [])


def test_sealed_reasoning_is_the_ai_sdks_own_and_comes_back() -> None:
    kind = format_by_name("uimessage")
    seals = [SEALED, {"type": "redacted_thinking", "data": "DATA"}]
    made = {"provider": "anthropic", "dialect": "anthropic"}
    parts = [Part("thinking", seal.get("thinking"), json=made, provider_raw=seal) for seal in seals]
    data, _ = kind.dump(Transcript.of([Message("assistant", parts, timestamp=UNTIMED)]))

    assert [part["providerMetadata"] for part in json.loads(data)[0]["parts"]] == [
        {"anthropic": {"signature": "SIG"}},
        {"anthropic": {"redactedData": "DATA"}},
    ]
    assert list(kind.load(data).entries[0].message.parts) == parts


def test_otel_messages_are_read_as_an_array_and_as_attributes() -> None:
    kind = format_by_name("otel")
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "Rain in Oslo?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "yes"}]},
    ]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "It rains."}], "finish_reason": "stop"}]
    span = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "s",
        "gen_ai.provider.name": "openai",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(answer),
        "gen_ai.response.model": "m",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
    }

    plain, told = kind.load(json.dumps(messages)), kind.load(json.dumps({"name": "chat m", "attributes": span}))

    assert [each[2:] for each in shape(plain)] == [
        ("user", ["text"]),
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
    ]
    assert [entry.message.parts for entry in told.entries[:3]] == [entry.message.parts for entry in plain.entries]
    assert (told.entries[3].usage, told.entries[3].finish_reason) == (Usage(3, 4), "stop")
    assert guess(json.dumps(messages)) is kind
    assert guess(json.dumps(span)) is kind


def test_otel_attributes_carry_the_seal_of_reasoning() -> None:
    kind = format_by_name("otel")

    back = kind.load(written("otel"))

    assert back.entries[1].message.parts[0].provider_raw == SEALED


def test_a_picture_in_a_later_step_of_a_uimessage_keeps_its_bytes() -> None:
    kind = format_by_name("uimessage")
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw=="}
    words = {"type": "text", "text": "First."}
    message = {"id": "m", "role": "assistant", "parts": [words, {"type": "step-start"}, picture]}

    transcript = kind.load(json.dumps([message]))

    assert [len(entry.message.parts) for entry in transcript.entries] == [1, 1]
    reference = transcript.entries[1].message.parts[0].blob
    assert reference is not None
    assert transcript.entries[1].blobs.get_blob(reference) == b"\x89PNG"
    assert json.loads(kind.dump(transcript)[0]) == [message]


def test_otel_media_come_back_in_each_of_their_forms() -> None:
    """As bytes, as an address, and as a file the provider has; a broken attribute stays what it is."""
    kind = format_by_name("otel")
    parts = [
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw=="},
        {"type": "uri", "modality": "audio", "uri": "https://harbour.example/bell.wav"},
        {"type": "file", "modality": "video", "file_id": "f1"},
        {"type": "file", "modality": "scent", "file_id": "f2"},
        {"type": "tide_table", "rows": 3},
    ]
    messages = [{"role": "user", "parts": parts}]

    transcript = kind.load(json.dumps(messages))

    found = transcript.entries[0].message.parts
    assert [part.type for part in found] == ["image", "audio", "video", "file", "provider"]
    said = json.loads(kind.dump(transcript)[0])["gen_ai.input.messages"][0]["parts"]
    assert [part["type"] for part in said] == ["blob", "uri", "file", "file", "tide_table"]
    assert said[:3] == parts[:3]
