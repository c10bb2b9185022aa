"""OpenAI's own client against the simulator: Chat Completions, Responses, the list of models."""

from __future__ import annotations

import time
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response

from tests.sim.clients import openai_client, until_it_breaks
from tests.support.sim import running_simulator
from weft.sim import Simulator

MODEL = "gpt-5.2"
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "depth", "parameters": {"type": "object", "properties": {}}}}
]
FLAT: list[Any] = [{"type": "function", "name": "depth", "parameters": {"type": "object", "properties": {}}}]
CALLS = '[[tool depth {"pier": 4}]] [[tool depth {"pier": 5}]] How deep is it?'
SEALED: Any = {"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}


def ask(client: Any, text: str, **more: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], **more)


def strictly(model: Any, value: Any) -> None:
    """Check a body against the SDK's model, which by itself takes anything."""
    model.model_validate(value.model_dump(warnings="error", exclude_unset=True), strict=False)
    assert set(value.model_extra or ()) <= {"store"}  # said back by the service, and not in its types


# -- Chat Completions ------------------------------------------------------------------------------------------


def test_an_answer_comes_whole(sim: Simulator) -> None:
    with openai_client(sim) as client:
        answer = ask(client, "Good morning")

    strictly(ChatCompletion, answer)
    assert answer.choices[0].message.content == "You said: Good morning"
    assert (answer.choices[0].finish_reason, answer.usage.prompt_tokens > 0) == ("stop", True)


def test_a_stream_adds_up_to_the_whole_answer(sim: Simulator) -> None:
    with openai_client(sim) as client:
        whole = ask(client, "Good morning, harbour").choices[0].message.content
        chunks = list(ask(client, "Good morning, harbour", stream=True, stream_options={"include_usage": True}))

    for chunk in chunks:
        strictly(ChatCompletionChunk, chunk)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == whole
    assert sum(bool(piece) for piece in pieces) > 3
    assert (chunks[-1].choices, chunks[-1].usage.completion_tokens > 0) == ([], True)


def test_usage_ends_a_stream_only_if_asked_for(sim: Simulator) -> None:
    with openai_client(sim) as client:
        chunks = list(ask(client, "Good morning", stream=True))

    assert [chunk.usage for chunk in chunks if chunk.usage] == []


@pytest.mark.parametrize("streamed", [False, True])
def test_parallel_tool_calls_go_round(sim: Simulator, streamed: bool) -> None:
    with openai_client(sim) as client:
        if streamed:
            with client.chat.completions.stream(
                model=MODEL, messages=[{"role": "user", "content": CALLS}], tools=TOOLS
            ) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = ask(client, CALLS, tools=TOOLS).choices[0].message
        assert [call.function.arguments for call in message.tool_calls] == ['{"pier":4}', '{"pier":5}']
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": f"{n} m"} for n, call in enumerate(message.tool_calls)
        ]
        history = [
            {"role": "user", "content": CALLS},
            message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}),
            *results,
        ]
        answer = client.chat.completions.create(model=MODEL, messages=history, tools=TOOLS)

    assert answer.choices[0].message.content == "depth says: 0 m. depth says: 1 m."


def test_a_required_tool_is_called_with_arguments_that_fit(sim: Simulator) -> None:
    schema = {"type": "object", "properties": {"pier": {"type": "integer", "minimum": 3}}, "required": ["pier"]}
    tools = [{"type": "function", "function": {"name": "depth", "parameters": schema}}]
    with openai_client(sim) as client:
        message = ask(client, "How deep?", tools=tools, tool_choice="required").choices[0].message

    assert (message.content, message.tool_calls[0].function.arguments) == (None, '{"pier":3}')


def test_structured_output_fits_its_schema(sim: Simulator) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "open": {"type": "boolean"}}}
    shape = {"type": "json_schema", "json_schema": {"name": "pier", "schema": schema}}
    with openai_client(sim) as client:
        message = ask(client, "Which pier?", response_format=shape).choices[0].message

    assert message.content == '{"name":"name","open":true}'


def test_a_refusal_is_said_as_one(sim: Simulator) -> None:
    with openai_client(sim) as client:
        choice = ask(client, "[[refuse No.]]").choices[0]

    assert (choice.message.refusal, choice.message.content, choice.finish_reason) == ("No.", None, "stop")


def test_reasoning_is_counted_and_not_shown(sim: Simulator) -> None:
    with openai_client(sim) as client:
        answer = ask(client, "Hm?", reasoning_effort="high")

    assert answer.usage.completion_tokens_details.reasoning_tokens > 0
    assert "reasoning_content" not in (answer.choices[0].message.model_extra or {})


def test_other_providers_who_speak_it_show_their_reasoning(sim: Simulator) -> None:
    with openai.OpenAI(base_url=sim.address("deepseek"), api_key="any", max_retries=0) as client:
        answer: Any = client.chat.completions.create(
            model="deepseek-reasoner",
            messages=[{"role": "user", "content": "[[think It is early.]] Good morning"}],
            extra_body={"a_field_of_their_own": 1},
        )

    assert answer.choices[0].message.model_extra["reasoning_content"] == "It is early."


def test_long_answers_end_at_the_limit_and_at_stop_sequences(sim: Simulator) -> None:
    with openai_client(sim) as client:
        limited = ask(client, "[[say one two three four]]", max_completion_tokens=2).choices[0]
        stopped = ask(client, "[[say one two three four]]", stop=["three"]).choices[0]

    assert (limited.message.content, limited.finish_reason) == ("one two ", "length")
    assert (stopped.message.content, stopped.finish_reason) == ("one two ", "stop")


def test_a_prompt_seen_before_is_counted_as_cached(sim: Simulator) -> None:
    text = "harbour " * 2_000
    with openai_client(sim) as client:
        first, second = (ask(client, text).usage for _ in range(2))

    assert first.prompt_tokens_details.cached_tokens == 0
    assert second.prompt_tokens_details.cached_tokens > 3_500
    assert second.prompt_tokens_details.cached_tokens % 128 == 0


# -- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (413, openai.APIStatusError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (502, openai.InternalServerError),
        (503, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
def test_every_status_is_the_exception_it_should_be(sim: Simulator, status: int, expected: type[Exception]) -> None:
    with openai_client(sim) as client, pytest.raises(expected) as caught:
        ask(client, f"[[error {status}]]")

    error: Any = caught.value
    assert error.status_code == status
    if status != 502:  # a gateway's own page is not JSON
        assert set(error.body) == {"message", "type", "param", "code"}


def test_a_retry_waits_as_long_as_it_is_told(sim: Simulator) -> None:
    with openai_client(sim, retries=2) as client:
        begun = time.monotonic()
        answer = ask(client, "[[error 429 times=2 retry-after=0.15s]] [[say At last.]]")
        took = time.monotonic() - begun

    assert answer.choices[0].message.content == "At last."
    assert [seen.status for seen in sim.seen] == [429, 429, 200]
    assert 0.3 <= took < 2


def test_a_stream_that_is_cut_is_an_error_after_what_arrived(sim: Simulator) -> None:
    with openai_client(sim) as client:
        chunks, error = until_it_breaks(ask(client, "[[cut 4]] [[say one two three four five six]]", stream=True))

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "one two three"
    assert isinstance(error, openai.APIConnectionError)


def test_an_error_in_mid_stream_is_the_clients_exception(sim: Simulator) -> None:
    with openai_client(sim) as client:
        chunks, error = until_it_breaks(ask(client, "[[error 500 after=3]] [[say one two three four]]", stream=True))

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "one two"
    assert isinstance(error, openai.APIError)
    assert "server had an error" in str(error)


def test_a_client_gives_up_on_a_stream_that_stalls(sim: Simulator) -> None:
    with openai_client(sim).with_options(timeout=0.3) as client, pytest.raises(Exception, match=r"(?i)timed out"):
        list(ask(client, "[[stall 2]] [[say one two three]]", stream=True))


def test_a_wrong_key_is_refused_without_being_repeated() -> None:
    with running_simulator({"keys": ["right"]}) as sim, openai_client(sim, key="wrong-key") as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            ask(client, "hello")
        with openai_client(sim, key="right") as allowed:
            assert ask(allowed, "hello").choices[0].message.content == "You said: hello"

    assert caught.value.code == "invalid_api_key"
    assert "wrong-key" not in str(caught.value.body)
    assert all("authorization" not in seen.headers for seen in sim.seen)


def test_more_requests_than_allowed_are_refused_for_a_while() -> None:
    with running_simulator({"requests_per_minute": 1}) as sim, openai_client(sim) as client:
        response = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=[{"role": "user", "content": "one"}]
        )
        with pytest.raises(openai.RateLimitError) as caught:
            ask(client, "two")

    assert response.headers["x-ratelimit-remaining-requests"] == "0"
    assert 50 <= int(caught.value.response.headers["retry-after"]) <= 60


# -- Responses -------------------------------------------------------------------------------------------------


def test_responses_come_whole_and_streamed_alike(sim: Simulator) -> None:
    with openai_client(sim) as client:
        whole = client.responses.create(model=MODEL, input="[[think Hm.]] Good morning", **SEALED)
        with client.responses.stream(model=MODEL, input="[[think Hm.]] Good morning", **SEALED) as stream:
            events = list(stream)
            final = stream.get_final_response()

    strictly(Response, whole)
    assert whole.output_text == final.output_text == "You said: Good morning"
    assert [item.type for item in final.output] == ["reasoning", "message"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    added = {event.item.id for event in events if event.type == "response.output_item.added"}
    assert added == {item.id for item in final.output}


def test_reasoning_goes_back_sealed_and_only_untouched(sim: Simulator) -> None:
    with openai_client(sim) as client:
        first = client.responses.create(model=MODEL, input=CALLS, tools=FLAT, store=False, **SEALED)
        items = [item.model_dump(exclude_none=True) for item in first.output]
        outputs = [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "9 m"}
            for item in items
            if item["type"] == "function_call"
        ]
        history = [{"role": "user", "content": CALLS}, *items, *outputs]
        second = client.responses.create(model=MODEL, input=history, tools=FLAT, store=False)
        assert items[0]["type"] == "reasoning"
        sealed = items[0]["encrypted_content"]
        items[0]["encrypted_content"] = sealed[:-2] + ("A=" if not sealed.endswith("A=") else "B=")
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input=history, tools=FLAT, store=False)
        del items[0]["encrypted_content"]
        with pytest.raises(openai.NotFoundError, match="Items are not persisted"):
            client.responses.create(model=MODEL, input=history, tools=FLAT, store=False)

    assert second.output_text == "depth says: 9 m. depth says: 9 m."
    assert caught.value.code == "invalid_encrypted_content"


def test_an_answer_is_continued_by_its_id(sim: Simulator) -> None:
    with openai_client(sim) as client:
        first = client.responses.create(model=MODEL, input='[[tool depth {"pier": 4}]]', tools=FLAT)
        output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "12 m"}
        second = client.responses.create(model=MODEL, input=[output], previous_response_id=first.id, tools=FLAT)
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input="and?", previous_response_id="resp_unknown")

    assert second.output_text == "depth says: 12 m."
    assert caught.value.code == "previous_response_not_found"


def test_a_response_that_runs_out_of_tokens_is_incomplete(sim: Simulator) -> None:
    with openai_client(sim) as client:
        answer = client.responses.create(model=MODEL, input="[[long 100]]", max_output_tokens=16)

    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")


def test_an_error_ends_a_stream_of_responses(sim: Simulator) -> None:
    with openai_client(sim) as client:
        events = list(client.responses.create(model=MODEL, input="[[error 503 after=3]] hello", stream=True))

    assert [event.type for event in events][2:] == ["response.output_item.added", "error"]
    assert "overloaded" in events[-1].message


def test_models_are_listed_and_described(sim: Simulator) -> None:
    with openai_client(sim) as client:
        names = [model.id for model in client.models.list()]
        card = client.models.retrieve(names[0])
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("missing-model")
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="missing-model", messages=[{"role": "user", "content": "hi"}])

    assert card.id == names[0]
    assert caught.value.code == "model_not_found"
