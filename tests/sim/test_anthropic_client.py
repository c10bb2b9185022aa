"""Anthropic's own client against the simulator."""

from __future__ import annotations

import time
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message

from tests.sim.clients import anthropic_client, until_it_breaks
from tests.support.sim import running_simulator
from weft.sim import Simulator

MODEL = "claude-sonnet-4-6"
TOOLS: list[Any] = [{"name": "depth", "input_schema": {"type": "object", "properties": {"pier": {"type": "integer"}}}}]
THINKING: Any = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}
CALLS = '[[think The tool knows.]] [[tool depth {"pier": 4}]] [[tool depth {"pier": 5}]] How deep is it?'


def ask(client: Any, text: Any, **more: Any) -> Any:
    settings: Any = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **more}
    return client.messages.create(**settings)


def strictly(value: Any) -> None:
    Message.model_validate(value.model_dump(warnings="error", exclude_unset=True))
    assert not value.model_extra
    assert not value.usage.model_extra


def final(client: Any, text: str, **more: Any) -> Any:
    with client.messages.stream(
        **{"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **more}
    ) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("get", [ask, final])
def test_an_answer_is_the_same_whole_and_streamed(sim: Simulator, get: Any) -> None:
    with anthropic_client(sim) as client:
        message = get(client, "Good morning")

    strictly(message)
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "You said: Good morning"}]
    assert (message.stop_reason, message.usage.input_tokens > 0, message.usage.output_tokens > 1) == (
        "end_turn",
        True,
        True,
    )


@pytest.mark.parametrize("get", [ask, final])
def test_thinking_goes_round_with_its_signature(sim: Simulator, get: Any) -> None:
    with anthropic_client(sim) as client:
        first = get(client, CALLS, tools=TOOLS, **THINKING)
        content = [block.to_dict() for block in first.content]
        assert [block["type"] for block in content] == ["thinking", "tool_use", "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": f"{block['input']['pier'] * 3} m"}
            for block in content[1:]
        ]
        history = [
            {"role": "user", "content": CALLS},
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ]
        second = get(client, None, messages=history, tools=TOOLS, **THINKING)

    strictly(first)
    assert second.content[-1].text == "depth says: 12 m. depth says: 15 m."
    assert second.content[0].type == "thinking"


def tampered(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "signature": "A" + block["signature"][1:] if block["signature"][0] != "A" else "B"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (tampered, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (lambda block: {**block, "thinking": "Something else."}, "Invalid `signature` in `thinking` block"),
        (lambda block: {"type": "thinking", "thinking": block["thinking"]}, "thinking.signature: Field required"),
        (lambda block: {"type": "text", "text": block["thinking"]}, "Expected `thinking` or `redacted_thinking`"),
        (lambda _: {"type": "redacted_thinking", "data": "made up"}, "Invalid `data` in `redacted_thinking` block"),
    ],
)
def test_changed_thinking_is_refused(sim: Simulator, change: Any, words: str) -> None:
    with anthropic_client(sim) as client:
        content = [block.to_dict() for block in ask(client, CALLS, tools=TOOLS, **THINKING).content]
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "1"} for block in content[1:]]
        history = [
            {"role": "user", "content": CALLS},
            {"role": "assistant", "content": [change(content[0]), *content[1:]]},
            {"role": "user", "content": results},
        ]
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(client, None, messages=history, tools=TOOLS, **THINKING)

    body: Any = caught.value.body
    assert body["error"]["type"] == "invalid_request_error"
    assert words in body["error"]["message"]


@pytest.mark.parametrize("get", [ask, final])
def test_redacted_thinking_goes_round(sim: Simulator, get: Any) -> None:
    with anthropic_client(sim) as client:
        content = [block.to_dict() for block in get(client, "[[redacted]] Hello", **THINKING).content]
        history = [
            {"role": "user", "content": "[[redacted]] Hello"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "And?"},
        ]
        answer = ask(client, None, messages=history)

    assert [block["type"] for block in content] == ["redacted_thinking", "text"]
    assert answer.content[-1].text == "You said: And?"


def test_a_signature_of_another_simulator_is_refused(sim: Simulator) -> None:
    with running_simulator({"seed": "another"}) as other, anthropic_client(other) as client:
        content = [block.to_dict() for block in ask(client, "Hello", **THINKING).content]
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "And?"},
    ]
    with anthropic_client(sim) as client, pytest.raises(anthropic.BadRequestError):
        ask(client, None, messages=history)


def test_what_is_marked_is_cached(sim: Simulator) -> None:
    system = [{"type": "text", "text": "harbour " * 1_000, "cache_control": {"type": "ephemeral"}}]
    with anthropic_client(sim) as client:
        first, second = (ask(client, f"Question {n}", system=system).usage for n in range(2))
        unmarked = [ask(client, "harbour " * 1_000).usage for _ in range(2)][1]

    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (2_002 - 1, 0)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 2_001)
    assert first.cache_creation.ephemeral_5m_input_tokens == 2_001
    assert unmarked.cache_read_input_tokens == 0


@pytest.mark.parametrize("get", [ask, final])
def test_a_refusal_and_a_stop_sequence_have_their_reasons(sim: Simulator, get: Any) -> None:
    with anthropic_client(sim) as client:
        refused = get(client, "[[refuse]]")
        stopped = get(client, "[[say one two three]]", stop_sequences=["three"])
        limited = get(client, "[[long 50]]", max_tokens=5)

    assert refused.stop_reason == "refusal"
    assert (stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text) == (
        "stop_sequence",
        "three",
        "one two ",
    )
    assert limited.stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("status", "expected", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (413, anthropic.APIStatusError, "request_too_large"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (503, anthropic.APIStatusError, "api_error"),
        (529, anthropic.APIStatusError, "overloaded_error"),
    ],
)
def test_every_status_is_the_exception_it_should_be(
    sim: Simulator, status: int, expected: type[Exception], kind: str
) -> None:
    with anthropic_client(sim) as client, pytest.raises(expected) as caught:
        ask(client, f"[[error {status}]]")

    error: Any = caught.value
    assert (error.status_code, error.body["type"], error.body["error"]["type"]) == (status, "error", kind)
    assert error.request_id.startswith("req_")


def test_a_gateways_error_is_not_json(sim: Simulator) -> None:
    with anthropic_client(sim) as client, pytest.raises(anthropic.APIStatusError) as caught:
        ask(client, "[[error 502]]")

    assert caught.value.response.headers["content-type"].startswith("text/html")


def test_a_retry_waits_as_long_as_it_is_told(sim: Simulator) -> None:
    with anthropic_client(sim, retries=2) as client:
        begun = time.monotonic()
        message = ask(client, "[[error 529 times=1 retry-after=200ms]] [[say At last.]]")
        took = time.monotonic() - begun

    assert message.content[0].text == "At last."
    assert [seen.status for seen in sim.seen] == [529, 200]
    assert 0.2 <= took < 2


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("[[cut 6]]", httpx2.RemoteProtocolError), ("[[error 529 after=6]]", anthropic.APIStatusError)],
)
def test_a_stream_breaks_off_with_what_arrived(sim: Simulator, rule: str, expected: type[Exception]) -> None:
    question = [{"role": "user", "content": f"{rule} [[say one two three four]]"}]
    with (
        anthropic_client(sim) as client,
        client.messages.stream(model=MODEL, max_tokens=9, messages=question) as stream,
    ):
        texts, error = until_it_breaks(stream.text_stream)

    assert "".join(texts) == "one two three"
    assert isinstance(error, expected)


def test_a_wrong_key_is_refused() -> None:
    with (
        running_simulator({"keys": ["right"]}) as sim,
        anthropic_client(sim, key="wrong") as client,
        pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"),
    ):
        ask(client, "hello")


def test_models_are_listed_and_described(sim: Simulator) -> None:
    with anthropic_client(sim) as client:
        names = [model.id for model in client.models.list()]
        card = client.models.retrieve(names[0])
        with pytest.raises(anthropic.NotFoundError, match="model: missing-one"):
            client.models.retrieve("missing-one")

    assert (card.id, card.lifecycle) == (names[0], "active")
