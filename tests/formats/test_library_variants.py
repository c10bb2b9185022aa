"""Files of libraries and captures as versions other than the newest write them, and what is easily missed in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.formats.test_agent_sessions import as_lines, shape
from tests.formats.test_export_variants import Json, read, texts
from weft.canon import Transcript
from weft.errors import CodecError
from weft.formats import Format, Source, format_by_name, guess


def again(kind: Format, transcript: Transcript) -> Transcript:
    """Write and read it, and see that nothing is said to be lost."""
    written, ledger = kind.dump(transcript)
    assert ledger.losses == []
    return kind.load(written)


# -- files of libraries ------------------------------------------------------------------------------------------------


def bare(kind: str, content: Any, **more: Any) -> Json:
    return {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, "id": None, **more}


def test_langchain_messages_are_known_in_every_dress() -> None:
    """`model_dump`, the state of a graph, and messages that were streamed."""
    messages = [bare("human", "hi"), bare("AIMessageChunk", "yes")]

    for given in (messages, {"messages": messages, "step": 1}, {"values": {"messages": messages}}):
        assert guess(json.dumps(given)) is format_by_name("langchain")
        assert [entry.message.role for entry in read("langchain", given).entries] == ["user", "assistant"]


def test_pictures_of_langchain_are_pictures_however_they_are_written() -> None:
    blocks = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "aGk="},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "media", "mime_type": "image/png", "data": "aGk="},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ]

    transcript = read("langchain", [bare("human", blocks)])

    found = [part.blob for part in transcript.entries[0].message.parts]
    assert [transcript.entries[0].blobs.get_blob(blob) for blob in found if blob] == [b"hi"] * len(blocks)


def test_tokens_that_langchain_has_only_in_the_metadata_are_counted() -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    kind = format_by_name("langchain")

    transcript = again(kind, read("langchain", [bare("ai", "x", response_metadata={"token_usage": counts})]))

    assert transcript.entries[0].usage is not None
    assert transcript.entries[0].usage.input_tokens == 3


def test_what_pydantic_ai_asks_again_and_notes_on_results_comes_back() -> None:
    """A retry is told to the model in words of its own; metadata of a result and ids of reasoning are not ours."""
    kind = format_by_name("pydantic-ai")
    returned = {"tool_name": "f", "content": "x", "tool_call_id": "c", "part_kind": "tool-return", "metadata": {"z": 9}}
    thought = {"content": "hm", "id": "rs_1", "signature": "s", "provider_name": "openai", "part_kind": "thinking"}
    parts = [
        {**returned, "outcome": "success"},
        {"tool_name": "f", "content": "bad", "tool_call_id": "d", "part_kind": "retry-prompt"},
        {"content": "again", "tool_name": None, "tool_call_id": "e", "part_kind": "retry-prompt"},
    ]
    answer = {"parts": [thought], "kind": "response", "usage": {}, "timestamp": "2026-01-01T00:00:00Z"}
    history = [{"parts": parts, "kind": "request"}, answer]

    transcript = read("pydantic-ai", history)
    written, ledger = kind.dump(transcript)
    asked, answered = json.loads(written)

    assert ledger.losses == []
    assert "again" in texts(transcript)
    assert [part["part_kind"] for part in asked["parts"]] == ["tool-return", "retry-prompt", "retry-prompt"]
    assert asked["parts"][0]["metadata"] == {"z": 9}
    assert answered["parts"][0]["id"] == "rs_1"


def test_sharegpt_files_may_say_role_and_content() -> None:
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "weight": 0}]

    transcript = again(format_by_name("sharegpt"), read("sharegpt", {"id": 7, "conversations": turns}))

    assert [entry.message.role for entry in transcript.entries] == ["user", "assistant"]
    assert texts(transcript) == ["q", "a"]
    assert transcript.session.extras["sharegpt"] == {"id": 7}


def test_fine_tuning_files_keep_what_is_beside_the_messages() -> None:
    kind = format_by_name("openai-finetuning")
    function = {"name": "f", "description": "", "parameters": {}}
    asked = {"messages": [{"role": "user", "content": "q"}], "tools": [], "parallel_tool_calls": True}
    ways = {"preferred_output": [{"role": "assistant", "content": "good"}], "non_preferred_output": []}
    old = {"messages": asked["messages"], "functions": [function], "input": "a grader's"}

    for line in ({"input": asked, **ways}, old):
        transcript = kind.load(as_lines(line))
        again(kind, transcript)
        written = json.loads(kind.dump(transcript)[0])
        assert {key: written[key] for key in line if key in written} == {key: line[key] for key in written}
    assert [tool.name for tool in kind.load(as_lines(old)).session.tools] == ["f"]


@pytest.mark.parametrize(
    "lines",
    [
        [{"input": {"messages": []}, "preferred_completion": [], "non_preferred_completion": []}],
        [{"messages": [{"role": "user", "content": "q"}]}, {"messages": [{"role": "user", "content": "r"}]}],
    ],
)
def test_fine_tuning_files_are_known_by_their_look(lines: list[Json]) -> None:
    kind = format_by_name("openai-finetuning")

    assert guess(as_lines(*lines)) is kind
    assert guess(json.dumps(lines)) is kind


def test_each_state_of_a_langchain_graph_is_a_conversation() -> None:
    """Issue 8: nothing is lost in silence. A file may have several states, an array of them or a line each."""
    states = [{"messages": [{"type": "human", "data": {"content": words}}], "step": words} for words in ("a", "b", "c")]
    kind = format_by_name("langchain")

    for given in (as_lines(*states), json.dumps(states)):
        found = list(kind.transcripts(Source.of(given)))
        assert [each.entries[0].message.parts[0].text for each in found] == ["a", "b", "c"]
        assert [each.session.extras["langchain"]["step"] for each in found] == ["a", "b", "c"]
    with pytest.raises(CodecError, match=r"line 2\.messages"):
        list(kind.transcripts(Source.of(as_lines(states[0], {"type": "human", "data": {"content": "x"}}))))


def test_uimessages_of_older_versions_are_read_as_those_of_now() -> None:
    """Conventions 4, UIMessage: a result lives in the part of its call; versions 3 and 4 called it otherwise."""
    invoked = {"state": "result", "toolCallId": "c", "toolName": "tide", "args": {"at": 1}, "result": "06:10"}
    attached = [{"name": "a.png", "contentType": "image/png", "url": "data:image/png;base64,aGk="}]
    asked: Json = {"id": "1", "role": "user", "content": "When?", "experimental_attachments": attached}
    parts: list[Json] = [{"type": "tool-invocation", "toolInvocation": invoked}]
    parts.append({"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "signature": "c2ln"}]})
    parts.append({"type": "text", "text": "At six."})
    third = {"id": "2", "role": "assistant", "content": "At six.", "toolInvocations": [invoked]}
    kind = format_by_name("uimessage")

    for answered, last in ((third, ["text"]), ({**third, "parts": parts}, ["thinking", "text"])):
        transcript = again(kind, read("uimessage", [asked, answered]))
        assert shape(transcript) == [
            ("1", None, "user", ["text", "image"]),
            ("2/1", "1", "assistant", ["tool_call"]),
            ("2/2", "2/1", "tool", ["tool_result"]),
            ("2", "2/2", "assistant", last),
        ]
    assert guess(json.dumps([asked, third])) is kind


@pytest.mark.parametrize("beside", [{}, {"parts": []}])
def test_what_older_uimessages_say_beside_their_parts_is_read(beside: Json) -> None:
    """Issue 8: nothing is lost in silence. Versions 3 and 4 had reasoning and text beside the parts, or without any."""
    said = {"id": "1", "role": "assistant", "content": "At six.", "reasoning": "The tide turns.", **beside}

    transcript = again(format_by_name("uimessage"), read("uimessage", [said]))

    assert [(part.type, part.text) for part in transcript.entries[0].message.parts] == [
        ("thinking", "The tide turns."),
        ("text", "At six."),
    ]


# -- spans and captures ------------------------------------------------------------------------------------------------

ASKED = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
ANSWERED = [{"role": "assistant", "parts": [{"type": "text", "content": "yes"}], "finish_reason": "stop"}]


def typed(value: Any) -> Json:
    """Give a value as OTLP's JSON has it."""
    match value:
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [typed(each) for each in value]}}
    return {"kvlistValue": {"values": [{"key": key, "value": typed(each)} for key, each in value.items()]}}


def otlp(*spans: Json) -> Json:
    made = []
    for span in spans:
        attributes = [{"key": key, "value": typed(value)} for key, value in span["attributes"].items()]
        made.append({**span, "attributes": attributes})
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


@pytest.mark.parametrize("as_text", [True, False])
def test_what_a_collector_wrote_is_read(as_text: bool) -> None:
    """OTLP's JSON: attributes are lists of typed values, and not every span is a call of a model."""
    told = (json.dumps(ASKED), json.dumps(ANSWERED)) if as_text else (ASKED, ANSWERED)
    attributes = {"gen_ai.input.messages": told[0], "gen_ai.output.messages": told[1], "gen_ai.usage.input_tokens": 3}
    span = {"name": "chat", "startTimeUnixNano": "1767225600000000000", "attributes": attributes}
    file = otlp({"name": "GET /", "attributes": {"http.method": "GET"}}, span)
    kind = format_by_name("otel")

    transcript = again(kind, read("otel", file))

    assert guess(json.dumps(file)) is kind
    assert texts(transcript) == ["hi", "yes"]
    assert transcript.session.created is not None
    assert transcript.session.created.year == 2026
    assert transcript.entries[1].usage is not None
    assert transcript.entries[1].usage.input_tokens == 3


def test_messages_that_were_events_are_read() -> None:
    """Before the messages were attributes of a span, each was an event of it."""
    call = {"id": "c", "type": "function", "function": {"name": "tide", "arguments": '{"at":1}'}}
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "When?"}},
        {"name": "gen_ai.assistant.message", "body": {"tool_calls": [call]}},
        {"name": "gen_ai.tool.message", "body": {"id": "c", "content": "06:10"}},
        {"name": "gen_ai.choice", "attributes": {"message": '{"content":"At six."}', "finish_reason": "stop"}},
        {"name": "exception", "attributes": {}},
    ]

    transcript = read("otel", {"name": "chat", "attributes": {"gen_ai.system": "openai"}, "events": events})

    assert [entry.message.role for entry in transcript.entries] == ["user", "assistant", "tool", "assistant"]
    assert transcript.entries[1].message.parts[0].tool_args == {"at": 1}
    assert transcript.entries[3].finish_reason == "stop"


@pytest.mark.parametrize("number", ["--5", "9" * 5000, "-", "", "٣"])
def test_a_number_of_otlp_that_is_none_is_no_crash(number: str) -> None:
    """Issue 8, laws: a mutated file gives an error or a result, never a crash."""
    attributes = [
        {"key": "gen_ai.input.messages", "value": typed(json.dumps(ASKED))},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": number}},
    ]
    span = {"attributes": attributes, "startTimeUnixNano": number}

    transcript = read("otel", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})

    assert shape(transcript) == [("1", None, "user", ["text"])]


def test_numbers_that_a_backend_kept_as_texts_are_numbers() -> None:
    usage = {"gen_ai.usage.input_tokens": "3", "gen_ai.usage.output_tokens": "many"}

    counted = read("otel", {"gen_ai.output.messages": ANSWERED, **usage}).entries[0].usage

    assert counted is not None
    assert (counted.input_tokens, counted.output_tokens) == (3, None)


def test_events_of_an_answer_that_claude_trace_took_apart_are_put_together() -> None:
    """Conventions 4, claude-trace: a response has `body`, `body_raw` or `events`."""
    message: Json = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": {}}
    data: list[Json] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "yes"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    events = [{"event": each["type"], "data": each} for each in data]
    body = {"model": "claude-x", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    request = {"timestamp": 1.0, "method": "POST", "url": "https://api.anthropic.com/v1/messages", "body": body}
    pair = {"request": request, "response": {"timestamp": 2.0, "status_code": 200, "events": events}, "note": "odd"}

    transcript = format_by_name("claude-trace").load(as_lines(pair))

    assert texts(transcript) == ["hi", "yes"]
    assert transcript.session.extras["trace"]["note"] == "odd"
