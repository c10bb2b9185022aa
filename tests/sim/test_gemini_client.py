"""Google's own client against the simulator."""

from __future__ import annotations

import base64
import time
from typing import Any

import httpx2
import pytest
from google.genai import errors, types

from tests.sim.clients import gemini_client
from tests.support.sim import running_simulator
from weft.sim import Simulator

MODEL = "gemini-3-pro-preview"
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="depth", parameters_json_schema={"type": "object", "properties": {"pier": {}}})
    ]
)
CALLS = '[[think The tool knows.]] [[tool depth {"pier": 4}]] [[tool depth {"pier": 5}]] How deep is it?'


def ask(client: Any, contents: Any, **config: Any) -> Any:
    return client.models.generate_content(model=MODEL, contents=contents, config=config or None)


def streamed(client: Any, contents: Any, **config: Any) -> list[Any]:
    return list(client.models.generate_content_stream(model=MODEL, contents=contents, config=config or None))


def user(text: str) -> Any:
    return types.Content(role="user", parts=[types.Part(text=text)])


def strictly(answer: Any) -> None:
    """The SDK's models forbid what they do not know, so being read is being valid."""
    types.GenerateContentResponse.model_validate(answer.model_dump(exclude_unset=True))


def test_an_answer_is_the_same_whole_and_streamed(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        whole = ask(client, "Good morning")
        chunks = streamed(client, "Good morning")

    strictly(whole)
    assert whole.text == "".join(chunk.text or "" for chunk in chunks) == "You said: Good morning"
    assert whole.candidates[0].finish_reason == chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP
    assert whole.usage_metadata.prompt_token_count > 0
    assert len(chunks) > 3


def round_trip(client: Any, change: Any, model: str = MODEL) -> Any:
    """Ask, keep the answer's content as the SDK has it, change it, and send it back with the results."""
    content = (
        client.models.generate_content(model=model, contents=CALLS, config={"tools": [TOOL]}).candidates[0].content
    )
    calls = [part.function_call for part in content.parts if part.function_call]
    results = [
        types.Part(function_response=types.FunctionResponse(name=call.name, id=call.id, response={"result": "9 m"}))
        for call in calls
    ]
    change(content)
    history = [user(CALLS), content, types.Content(role="user", parts=results)]
    return client.models.generate_content(model=model, contents=history, config={"tools": [TOOL]})


def call_part(content: Any) -> Any:
    return next(part for part in content.parts if part.function_call)


def test_tools_go_round_with_their_signature(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        answer = round_trip(client, lambda _: None)

    assert answer.text == "depth says: 9 m. depth says: 9 m."


def test_a_streamed_call_goes_round_with_its_signature(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        chunks = streamed(client, CALLS, tools=[TOOL])
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
        calls = [part.function_call for part in parts if part.function_call]
        results = [
            types.Part(function_response=types.FunctionResponse(name=call.name, id=call.id, response={"m": 9}))
            for call in calls
        ]
        history = [user(CALLS), types.Content(role="model", parts=parts), types.Content(role="user", parts=results)]
        answer = ask(client, history, tools=[TOOL])

    assert [dict(call.args) for call in calls] == [{"pier": 4}, {"pier": 5}]
    assert answer.text == "depth says: 9. depth says: 9."


def without_signature(content: Any) -> None:
    call_part(content).thought_signature = None


def with_a_broken_signature(content: Any) -> None:
    call_part(content).thought_signature = base64.b64encode(b"made up")


def with_other_arguments(content: Any) -> None:
    call_part(content).function_call.args = {"pier": 40}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_signature, "Function call is missing a thought_signature in functionCall parts."),
        (with_a_broken_signature, "Corrupted thought signature."),
        (with_other_arguments, "Corrupted thought signature."),
    ],
)
def test_a_changed_call_is_refused(sim: Simulator, change: Any, words: str) -> None:
    with gemini_client(sim) as client, pytest.raises(errors.ClientError) as caught:
        round_trip(client, change)

    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert words in str(caught.value.message)


def test_older_models_and_earlier_turns_need_no_signature(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        assert round_trip(client, without_signature, "gemini-2.5-flash").text
        call = types.Part(function_call=types.FunctionCall(name="depth", args={}))
        result = types.Part(function_response=types.FunctionResponse(name="depth", response={"result": "1"}))
        earlier = [
            user("a"),
            types.Content(role="model", parts=[call]),
            types.Content(role="user", parts=[result]),
            types.Content(role="model", parts=[types.Part(text="1")]),
            user("b"),
        ]
        assert ask(client, earlier).text == "You said: b"


def test_the_documented_waiver_stands_for_a_signature(sim: Simulator) -> None:
    call = {"functionCall": {"name": "depth", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "How deep?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": {"name": "depth", "response": {"result": "7 m"}}}]},
        ]
    }
    url = f"{sim.url}/v1beta/models/{MODEL}:generateContent"
    answer = httpx2.post(url, json=body, headers={"x-goog-api-key": "any"}).json()

    assert answer["candidates"][0]["content"]["parts"][0]["text"] == "depth says: 7 m."


def test_thoughts_are_shown_and_counted(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        answer = ask(client, "Why?", thinking_config=types.ThinkingConfig(include_thoughts=True))

    thought, text = answer.candidates[0].content.parts
    assert (thought.thought, bool(text.thought_signature)) == (True, True)
    assert answer.usage_metadata.thoughts_token_count > 0


def test_a_refused_prompt_has_no_candidates(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        whole = ask(client, "[[refuse]]")
        chunks = streamed(client, "[[refuse]]")

    assert (whole.candidates, whole.prompt_feedback.block_reason) == (None, types.BlockedReason.PROHIBITED_CONTENT)
    assert chunks[-1].prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT


def test_settings_are_obeyed(sim: Simulator) -> None:
    schema = {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]}
    calling = types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
    )
    with gemini_client(sim) as client:
        limited = ask(client, "[[long 50]]", max_output_tokens=5)
        stopped = ask(client, "[[say one two three]]", stop_sequences=["three"])
        shaped = ask(client, "x", response_mime_type="application/json", response_json_schema=schema)
        forced = ask(client, "x", tools=[TOOL], tool_config=calling)

    assert limited.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert (stopped.text, shaped.text) == ("one two ", '{"pier":1}')
    assert forced.function_calls[0].name == "depth"


@pytest.mark.parametrize(
    ("status", "expected", "name"),
    [
        (400, errors.ClientError, "INVALID_ARGUMENT"),
        (401, errors.ClientError, "UNAUTHENTICATED"),
        (403, errors.ClientError, "PERMISSION_DENIED"),
        (404, errors.ClientError, "NOT_FOUND"),
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (500, errors.ServerError, "INTERNAL"),
        (503, errors.ServerError, "UNAVAILABLE"),
        (504, errors.ServerError, "DEADLINE_EXCEEDED"),
    ],
)
@pytest.mark.parametrize("get", [ask, streamed])
def test_every_status_is_the_exception_it_should_be(
    sim: Simulator, get: Any, status: int, expected: type[Exception], name: str
) -> None:
    with gemini_client(sim) as client, pytest.raises(expected) as caught:
        get(client, f"[[error {status}]]")

    error: Any = caught.value
    assert (error.code, error.status) == (status, name)


def test_a_retry_succeeds(sim: Simulator) -> None:
    with gemini_client(sim, retries=3) as client:
        begun = time.monotonic()
        answer = ask(client, "[[error 503 times=2]] [[say At last.]]")

    assert answer.text == "At last."
    assert [seen.status for seen in sim.seen] == [503, 503, 200]
    assert time.monotonic() - begun < 5


def test_a_stream_that_is_cut_is_an_error(sim: Simulator) -> None:
    with gemini_client(sim) as client, pytest.raises(httpx2.RemoteProtocolError):
        streamed(client, "[[cut 2]] [[say one two three four]]")


def test_a_wrong_key_is_a_bad_request() -> None:
    with (
        running_simulator({"keys": ["right"]}) as sim,
        gemini_client(sim, key="wrong") as client,
        pytest.raises(errors.ClientError) as caught,
    ):
        ask(client, "hello")

    assert caught.value.code == 400
    assert "API key not valid" in str(caught.value.message)


def test_models_are_listed_and_described(sim: Simulator) -> None:
    with gemini_client(sim) as client:
        names = [model.name for model in client.models.list()]
        card = client.models.get(model=names[0])
        with pytest.raises(errors.ClientError, match="is not found for API version v1beta"):
            client.models.get(model="missing-one")

    assert card.name == names[0]
    assert card.input_token_limit > 0
