"""Messages of libraries: what is written is read by the packages that own the format, and theirs is read here."""

from __future__ import annotations

import json
import subprocess
import warnings
from typing import Any

import pytest

from tests.formats.test_agent_sessions import shape
from tests.support.components import require
from weft.blobs import InMemoryBlobStore
from weft.canon import Entry, Instructions, Message, Part, Session, ToolSpecification, Transcript, Usage
from weft.formats import format_by_name, guess

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
    from pydantic_ai import messages as pydantic_ai
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
        "tool_result", json={"is_error": True}, tool_call_id="c2", tool_name="depth", tool_output="no such pier"
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


def test_uimessages_are_valid_for_the_ai_sdk() -> None:
    folder = require("mcp-servers").parent.parent
    check = (
        "import { validateUIMessages } from 'ai';"
        "let text = ''; for await (const piece of process.stdin) text += piece;"
        "const found = await validateUIMessages({ messages: JSON.parse(text) });"
        "console.log(found.length);"
    )
    said = json.loads(written("uimessage"))
    messages = said["messages"] if isinstance(said, dict) else said

    run = subprocess.run(
        ["node", "--input-type=module", "-e", check],
        input=json.dumps(messages),
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )

    assert (run.returncode, run.stdout.strip()) == (0, str(len(messages))), run.stderr


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
