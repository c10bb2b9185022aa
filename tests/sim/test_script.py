"""Scripts: what a file may say, and what it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sim.asking import APIS, heard, post
from tests.support.sim import running_simulator
from weft.errors import UsageError
from weft.sim import Script, Simulator, load_script

TOML = """
keys = ["any"]
models = ["gpt-5.2", "some-model"]

[[rules]]
when = { text = "how deep", provider = "openai" }
steps = [
    { think = "The tool knows.", tools = [{ name = "depth", arguments = { pier = 4 } }] },
    { say = "At pier 4: {results}" },
]

[[rules]]
when = { matches = "^tide\\\\b", model = "some-*" }
reply = { say = "The tide turns." }
"""


def answered(sim: Simulator, text: str, api: str = "openai_chat") -> list[Any]:
    return [part.text for part in heard(APIS[api], post(sim, APIS[api], APIS[api].body(text))).message.parts]


def test_a_file_says_what_is_answered_round_by_round(tmp_path: Path) -> None:
    (tmp_path / "harbour.toml").write_text(TOML)
    script = load_script(tmp_path / "harbour.toml")
    question = {"role": "user", "content": "How deep is it?"}
    with running_simulator(script) as sim:
        first = post(sim, APIS["openai_chat"], {"model": "gpt-5.2", "messages": [question]}).json()
        message = first["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "12 m"}
        history = [question, {"role": "assistant", "tool_calls": message["tool_calls"]}, result]
        second = post(sim, APIS["openai_chat"], {"model": "gpt-5.2", "messages": history}).json()
        tide = answered(sim, "tide tables?")
        other = answered(sim, "a tide?")

    assert second["choices"][0]["message"]["content"] == "At pier 4: depth: 12 m"
    assert (tide, other) == (["The tide turns."], ["You said: a tide?"])


def test_a_model_that_is_not_in_the_script_is_not_found() -> None:
    with running_simulator({"models": ["only-this"]}) as sim:
        response = post(sim, APIS["openai_chat"], APIS["openai_chat"].body("hi"))
        listed = post(sim, APIS["cohere"], APIS["cohere"].body("hi") | {"model": "only-this"})

    assert (response.status_code, listed.status_code) == (404, 200)


def test_rules_may_ask_for_dialect_and_round() -> None:
    rules = [
        {"when": {"dialect": "cohere", "round": 0}, "reply": {"say": "To Cohere."}},
        {"when": {"round": 1}, "reply": {"say": "Never."}},
    ]
    with running_simulator({"rules": rules}) as sim:
        assert answered(sim, "hi", "cohere") == ["To Cohere."]
        assert answered(sim, "hi") == ["You said: hi"]


def test_a_rule_that_calls_a_tool_does_not_call_it_for_ever() -> None:
    rules = [{"reply": {"tools": [{"name": "depth"}]}}]
    question = {"role": "user", "content": "How deep?"}
    with running_simulator({"rules": rules}) as sim:
        message = post(sim, APIS["openai_chat"], {"model": "m", "messages": [question]}).json()["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "12 m"}
        history = [question, {"role": "assistant", "tool_calls": message["tool_calls"]}, result]
        answer = post(sim, APIS["openai_chat"], {"model": "m", "messages": history}).json()

    assert answer["choices"][0]["message"]["content"] == "depth says: 12 m."


def test_json_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"seed": "x", "rules": [{"reply": {"refuse": ""}}], "cache_minimum": 0}')
    script = load_script(tmp_path / "script.json")

    assert (script.seed, script.cache_minimum) == ("x", 0)
    assert script.rules[0].steps[0].refusal == "I can't help with that."


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "script: must be a table"),
        ({"colour": 1}, "no such setting: colour"),
        ({"rules": {}}, "script.rules: must be a list"),
        ({"rules": [7]}, "script.rules[0]: must be a table"),
        ({"rules": [{"answer": 1}]}, "script.rules[0]: no such setting: answer"),
        ({"rules": [{"when": {"colour": 1}, "reply": {}}]}, "script.rules[0].when"),
        ({"rules": [{"when": {}}]}, "needs `reply`"),
        ({"rules": [{"when": {"matches": "("}, "reply": {}}]}, "not a regular expression"),
        ({"rules": [{"reply": {"shout": "x"}}]}, "script.rules[0].steps[0]: no such setting: shout"),
        ({"rules": [{"reply": {"say": 7}}]}, "steps[0].say: must be a text"),
        ({"rules": [{"reply": {"cut": "soon"}}]}, "steps[0].cut: must be a number"),
        ({"rules": [{"reply": {"tools": [{"arguments": {}}]}}]}, "steps[0].tools[0]: must be"),
    ],
)
def test_a_script_that_does_not_fit_says_where(given: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Script.read(given)

    assert words in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("rules = [")
    with pytest.raises(UsageError, match=r"broken\.toml: cannot be read"):
        load_script(tmp_path / "broken.toml")


def test_steps_in_a_prompt_answer_round_by_round(sim: Simulator) -> None:
    question = {"role": "user", "content": '[[tool a {}]] [[then]] [[tool b {"x": [[1]]}]] [[then]] [[say Done.]]'}
    history: list[Any] = [question]
    names = []
    for _ in range(2):
        message = post(sim, APIS["openai_chat"], {"model": "m", "messages": history}).json()["choices"][0]["message"]
        call = message["tool_calls"][0]
        names.append((call["function"]["name"], call["function"]["arguments"]))
        history += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
        ]
    last = post(sim, APIS["openai_chat"], {"model": "m", "messages": history}).json()["choices"][0]["message"]

    assert names == [("a", "{}"), ("b", '{"x":[[1]]}')]
    assert last["content"] == "Done."
