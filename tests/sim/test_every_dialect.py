"""What holds in every dialect alike."""

from __future__ import annotations

import time
from typing import Any

import httpx2
import pytest

from tests.sim.asking import APIS, Api, heard, post
from tests.support.sim import running_simulator
from weft.sim import Simulator

EVERY = pytest.mark.parametrize("api", APIS.values(), ids=APIS.keys())
PROMPTS = (
    "Good morning",
    "[[think Let me see.]] [[say It is deep.]] How deep?",
    '[[think Hm.]] [[tool depth {"pier": 4, "rows": [[1, 2], []]}]] [[tool tide {}]] How deep?',
    "[[say ünïcödé 🌊 and\ttabs\n\nand lines]]",
    "[[redacted]] Hello",
    "[[long 300]]",
)


def said(reply: Any) -> list[tuple[Any, ...]]:
    return [
        (part.type, part.text, part.tool_name, part.tool_args)
        for part in (reply.message.parts if reply.message else ())
        if part.type != "annotation"
    ]


@EVERY
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_stream_says_what_the_whole_answer_says(sim: Simulator, api: Api, prompt: str) -> None:
    whole = heard(api, post(sim, api, api.body(prompt)))
    streamed = heard(api, post(sim, api, api.body(prompt), stream=True))

    assert said(streamed) == said(whole)
    assert (streamed.finish_reason, streamed.finished) == (whole.finish_reason, True)
    assert whole.usage.output_tokens > 0


@EVERY
@pytest.mark.parametrize("stream", [False, True])
def test_the_same_request_gives_the_same_bytes(sim: Simulator, api: Api, stream: bool) -> None:
    body = api.body(PROMPTS[2])
    first, again = (post(sim, api, body, stream=stream) for _ in range(2))
    with running_simulator() as other:
        elsewhere = post(other, api, body, stream=stream)

    assert first.content == again.content == elsewhere.content
    assert first.headers == again.headers == elsewhere.headers


@EVERY
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 502, 503, 529])
def test_every_status_can_be_had(sim: Simulator, api: Api, status: int) -> None:
    response = post(sim, api, api.body(f"[[error {status} retry-after=7]]"))

    assert (response.status_code, response.headers["retry-after"]) == (status, "7")
    if status == 502:
        assert response.headers["content-type"].startswith("text/html")
    else:
        assert "message" in response.text


@EVERY
def test_a_cut_stream_ends_without_an_end(sim: Simulator, api: Api) -> None:
    body = api.body("[[cut 3]] [[say one two three four five]]") | ({"stream": True} if api.flag else {})
    came = bytearray()
    with (
        httpx2.stream("POST", sim.url + api.streamed, json=body, headers=api.headers) as response,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        came.extend(b"".join(_kept(response, came)))

    assert 0 < len(came) < 6_000
    assert b"five" not in came


def _kept(response: httpx2.Response, came: bytearray) -> Any:
    for chunk in response.iter_bytes():
        came.extend(chunk)
        yield b""


@EVERY
def test_a_whole_answer_can_be_cut_and_the_next_try_succeeds(sim: Simulator, api: Api) -> None:
    body = api.body("[[cut 0 times=1]] [[say Here.]]")
    with pytest.raises(httpx2.RemoteProtocolError):
        post(sim, api, body)

    assert ("text", "Here.", None, None) in said(heard(api, post(sim, api, body)))


@EVERY
def test_a_slow_stream_takes_its_time(sim: Simulator, api: Api) -> None:
    begun = time.monotonic()
    post(sim, api, api.body("[[slow 20ms]] [[say one two three]]"), stream=True)

    assert time.monotonic() - begun >= 0.08


@EVERY
def test_a_script_is_spoken_in_every_dialect(api: Api) -> None:
    rules = [{"when": {"text": "DEEP"}, "reply": {"say": "As deep as {text}", "think": "Hm."}}]
    with running_simulator({"rules": rules}) as sim:
        reply = heard(api, post(sim, api, api.body("how deep")))

    assert ("text", "As deep as how deep", None, None) in said(reply)


@EVERY
def test_errors_may_be_anything_at_all(api: Api) -> None:
    rules = [{"reply": {"error": 200, "body": "this is not JSON"}}]
    with running_simulator({"rules": rules}) as sim:
        response = post(sim, api, api.body("hello"))

    assert (response.status_code, response.text) == (200, "this is not JSON")


@EVERY
@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("[[error soon]]", "whole number"),
        ("[[slow down]]", "20ms"),
        ("[[tool depth {]]", "arguments"),
        ("[[tool ]]", "name of a tool"),
        ("[[say forever", "no ]]"),
        ("[[error 500 often=3]]", "often="),
        ("[[cut]]", "needs a number"),
        ('[[tool depth {"a": 1} and more', "no ]]"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_with_the_reason(
    sim: Simulator, api: Api, prompt: str, words: str
) -> None:
    response = post(sim, api, api.body(prompt))

    assert response.status_code == 400
    assert words in response.text
    assert "the simulator" in response.text


@EVERY
def test_other_brackets_are_left_alone(sim: Simulator, api: Api) -> None:
    reply = heard(api, post(sim, api, api.body("see [[wiki links]] and [[1, 2], [3]]")))

    assert said(reply)[-1][1] == "You said: see [[wiki links]] and [[1, 2], [3]]"


FORCED: dict[str, dict[str, Any]] = {
    "openai_chat": {
        "tools": [{"type": "function", "function": {"name": name}} for name in ("tide", "depth")],
        "tool_choice": {"type": "function", "function": {"name": "depth"}},
    },
    "openai_responses": {
        "tools": [{"type": "function", "name": name, "parameters": {}} for name in ("tide", "depth")],
        "tool_choice": {"type": "function", "name": "depth"},
    },
    "anthropic": {
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in ("tide", "depth")],
        "tool_choice": {"type": "tool", "name": "depth"},
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": name} for name in ("tide", "depth")]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["depth"]}},
    },
    "bedrock": {
        "toolConfig": {
            "tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {}}}} for name in ("tide", "depth")],
            "toolChoice": {"tool": {"name": "depth"}},
        }
    },
}
ANY: dict[str, dict[str, Any]] = {
    "anthropic": FORCED["anthropic"] | {"tool_choice": {"type": "any"}},
    "bedrock": {"toolConfig": FORCED["bedrock"]["toolConfig"] | {"toolChoice": {"any": {}}}},
    "cohere": {"tools": FORCED["openai_chat"]["tools"], "tool_choice": "REQUIRED"},
}
STOPS: dict[str, dict[str, Any]] = {
    "openai_chat": {"stop": "three"},
    "anthropic": {"stop_sequences": ["four", "three"]},
    "gemini": {"generationConfig": {"stopSequences": ["three"]}},
    "bedrock": {"inferenceConfig": {"stopSequences": ["three"]}},
    "cohere": {"stop_sequences": ["three"]},
}


@pytest.mark.parametrize(
    ("name", "settings", "tool"),
    [(name, row, "depth") for name, row in FORCED.items()] + [(name, row, "tide") for name, row in ANY.items()],
)
def test_a_tool_that_must_be_called_is_called(sim: Simulator, name: str, settings: dict[str, Any], tool: str) -> None:
    api = APIS[name]
    reply = heard(api, post(sim, api, api.body("hi") | settings))

    assert tool in [part.tool_name for part in reply.message.parts]
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(("name", "settings"), STOPS.items())
def test_an_answer_stops_before_a_stop_sequence(sim: Simulator, name: str, settings: dict[str, Any]) -> None:
    api = APIS[name]
    reply = heard(api, post(sim, api, api.body("[[say one two three four]]") | settings))

    assert (said(reply)[-1][1], reply.finish_reason) == ("one two ", "stop")


@EVERY
def test_a_refusal_is_told_from_an_answer(sim: Simulator, api: Api) -> None:
    whole = heard(api, post(sim, api, api.body("[[refuse No.]]")))
    streamed = heard(api, post(sim, api, api.body("[[refuse No.]]"), stream=True))

    assert said(whole) == said(streamed)
    if api.dialect == "gemini":
        assert (whole.message, whole.finish_reason) == (None, "content_filter")
    else:
        assert said(whole)[0][1] == "No."


@EVERY
def test_pieces_may_be_large(sim: Simulator, api: Api) -> None:
    words = post(sim, api, api.body("[[long 500]]"), stream=True)
    pieces = post(sim, api, api.body("[[long 500]] [[piece 1000]]"), stream=True)

    assert said(heard(api, pieces)) == said(heard(api, words))
    assert len(pieces.content) < len(words.content) / 4
