"""AWS's own client against the simulator: Converse and ConverseStream, with the real event-stream framing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError  # type: ignore[import-untyped]

from tests.sim.clients import bedrock_client
from tests.support.sim import running_simulator
from weft.sim import Simulator

MODEL = "anthropic.claude-sonnet-4-6-v1:0"
TOOLS = {"tools": [{"toolSpec": {"name": "depth", "inputSchema": {"json": {"type": "object"}}}}]}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
CALLS = '[[think The tool knows.]] [[tool depth {"pier": 4}]] [[tool depth {"pier": 5}]] How deep is it?'


@pytest.fixture
def client(sim: Simulator) -> Iterator[Any]:
    made = bedrock_client(sim)
    yield made
    made.close()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


def folded(answer: Any) -> dict[str, Any]:
    """Put a stream together as the documentation says."""
    blocks: dict[int, Any] = {}
    whole: dict[str, Any] = {}
    for event in answer["stream"]:
        match event:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": tool}}}:
                blocks[index] = {"toolUse": {**tool, "input": ""}}
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": text}}}:
                blocks.setdefault(index, {"text": ""})["text"] += text
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": text}}}}:
                blocks[index]["toolUse"]["input"] += text
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"reasoningContent": said}}}:
                block = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {}}})
                for key, value in said.items():
                    inner = block["reasoningContent"]["reasoningText"]
                    inner[key] = inner.get(key, "") + value
            case {"messageStop": stop}:
                whole |= stop
            case {"metadata": metadata}:
                whole |= metadata
    return {**whole, "content": [blocks[index] for index in sorted(blocks)]}


def test_an_answer_is_the_same_whole_and_streamed(client: Any) -> None:
    whole = client.converse(modelId=MODEL, messages=[user("Good morning")])
    streamed = folded(client.converse_stream(modelId=MODEL, messages=[user("Good morning")]))

    assert whole["output"]["message"]["content"] == streamed["content"] == [{"text": "You said: Good morning"}]
    assert whole["stopReason"] == streamed["stopReason"] == "end_turn"
    assert whole["usage"] == streamed["usage"]


def converse(client: Any, first: Any, second: Any) -> Any:
    content = client.converse(
        modelId=MODEL, messages=[user(CALLS)], toolConfig=TOOLS, additionalModelRequestFields=THINKING
    )["output"]["message"]["content"]
    results = [
        {"toolResult": {"toolUseId": block["toolUse"]["toolUseId"], "content": [{"text": "9 m"}]}}
        for block in content
        if "toolUse" in block
    ]
    messages = [
        user(CALLS),
        {"role": "assistant", "content": first(content)},
        {"role": "user", "content": second(results)},
    ]
    return client.converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)


def same(value: Any) -> Any:
    return value


def test_tools_and_thinking_go_round(client: Any) -> None:
    answer = converse(client, same, same)

    assert answer["output"]["message"]["content"] == [{"text": "depth says: 9 m. depth says: 9 m."}]


def test_a_stream_carries_tools_and_signatures(client: Any) -> None:
    settings = {"toolConfig": TOOLS, "additionalModelRequestFields": THINKING}
    whole = client.converse(modelId=MODEL, messages=[user(CALLS)], **settings)["output"]["message"]["content"]
    streamed = folded(client.converse_stream(modelId=MODEL, messages=[user(CALLS)], **settings))["content"]

    assert streamed[0] == whole[0]
    assert [block["toolUse"]["input"] for block in streamed[1:]] == ['{"pier":4}', '{"pier":5}']


def tampered(content: Any) -> Any:
    content[0]["reasoningContent"]["reasoningText"]["text"] += " Or so."
    return content


def unsigned(content: Any) -> Any:
    del content[0]["reasoningContent"]["reasoningText"]["signature"]
    return content


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (tampered, same, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (unsigned, same, "thinking.signature: Field required"),
        (same, lambda results: results[:1], "Expected toolResult blocks at messages.2.content for the following Ids"),
        (same, lambda results: [*results, results[0]], "exceeds the number of toolUse blocks of previous turn"),
    ],
)
def test_what_was_changed_or_left_out_is_refused(client: Any, first: Any, second: Any, words: str) -> None:
    with pytest.raises(client.exceptions.ValidationException) as caught:
        converse(client, first, second)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "must start with a user message"),
        ([{"role": "assistant", "content": [{"text": "hi"}]}], "must start with a user message"),
        ([user("a"), user("b")], "must alternate between user and assistant roles"),
        ([{"role": "user", "content": []}], "is empty. Add a ContentBlock object"),
    ],
)
def test_bad_conversations_are_refused(client: Any, messages: Any, words: str) -> None:
    with pytest.raises(client.exceptions.ValidationException) as caught:
        client.converse(modelId=MODEL, messages=messages)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "ValidationException"),
        (403, "AccessDeniedException"),
        (404, "ResourceNotFoundException"),
        (408, "ModelTimeoutException"),
        (424, "ModelErrorException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
@pytest.mark.parametrize("verb", ["converse", "converse_stream"])
def test_every_status_is_the_exception_it_should_be(client: Any, verb: str, status: int, name: str) -> None:
    with pytest.raises(getattr(client.exceptions, name)) as caught:
        getattr(client, verb)(modelId=MODEL, messages=[user(f"[[error {status}]]")])

    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_a_retry_succeeds(sim: Simulator) -> None:
    client = bedrock_client(sim, retries=2)
    answer = client.converse(modelId=MODEL, messages=[user("[[error 503 times=1]] [[say At last.]]")])
    client.close()

    assert answer["output"]["message"]["content"] == [{"text": "At last."}]
    assert [seen.status for seen in sim.seen] == [503, 200]


def test_an_error_in_mid_stream_is_an_exception_frame(client: Any) -> None:
    answer = client.converse_stream(modelId=MODEL, messages=[user("[[error 500 after=3]] [[say one two three]]")])
    with pytest.raises(EventStreamError, match="modelStreamErrorException"):
        folded(answer)
    answer["stream"].close()


def test_a_stream_that_is_cut_is_an_error(client: Any) -> None:
    answer = client.converse_stream(modelId=MODEL, messages=[user("[[cut 3]] [[say one two three]]")])
    with pytest.raises(Exception, match=r"(?i)incomplete|broken|prematurely"):
        folded(answer)
    answer["stream"].close()


def test_a_slow_stream_arrives_piece_by_piece(client: Any) -> None:
    answer = client.converse_stream(modelId=MODEL, messages=[user("[[slow 30ms]] [[say one two three four]]")])
    times = [time.monotonic() for _ in answer["stream"]]

    assert times[-1] - times[0] >= 0.15


def test_what_is_marked_is_cached(client: Any) -> None:
    system = [{"text": "harbour " * 1_000}, {"cachePoint": {"type": "default"}}]
    first, second = (client.converse(modelId=MODEL, system=system, messages=[user(f"{n}")])["usage"] for n in range(2))

    assert (first["cacheWriteInputTokens"], first["cacheReadInputTokens"]) == (2_000, 0)
    assert (second["cacheWriteInputTokens"], second["cacheReadInputTokens"]) == (0, 2_000)


def test_an_unknown_access_key_is_refused() -> None:
    with running_simulator({"keys": ["AKIARIGHT"]}) as sim:
        wrong, right = bedrock_client(sim, key="AKIAWRONG"), bedrock_client(sim, key="AKIARIGHT")
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            wrong.converse(modelId=MODEL, messages=[user("hello")])
        assert right.converse(modelId=MODEL, messages=[user("hello")])["stopReason"] == "end_turn"
        wrong.close()
        right.close()


def test_a_model_that_is_not_there_is_a_validation(client: Any) -> None:
    with pytest.raises(client.exceptions.ValidationException, match="model identifier is invalid"):
        client.converse(modelId="missing-one", messages=[user("hello")])
