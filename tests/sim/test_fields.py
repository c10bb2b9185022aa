"""The rule tables against the published types: what the SDKs would send is taken, and nothing else is in the tables."""

from __future__ import annotations

import inspect
import re
from typing import Any

from tests.corpus.types import check
from tests.sim.asking import APIS, post
from weft.sim import Simulator, fields

SAMPLING = {"temperature", "top_p", "top_k"}  # Anthropic's service takes them; its newest types do not list them


def keys(typed: Any) -> set[str]:
    return set(typed.__required_keys__) | set(typed.__optional_keys__)


def test_the_tables_are_those_of_the_published_types() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from cohere.v2.client import V2Client
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    chat = set(inspect.signature(V2Client.chat).parameters) - {"self", "request_options"}

    assert keys(CompletionCreateParamsStreaming) == fields.OPENAI_CHAT
    assert keys(ResponseCreateParamsStreaming) == fields.OPENAI_RESPONSES
    assert keys(MessageCreateParamsStreaming) | SAMPLING == fields.ANTHROPIC
    assert chat | {"stream"} == fields.COHERE


def test_gemini_takes_whatever_its_client_writes() -> None:
    """The client has no type for the body; what it writes is read from the functions that write it."""
    from google.genai import models

    source = inspect.getsource(models._GenerateContentConfig_to_mldev)
    written = re.findall(r"setv\(\s*(parent_object|to_object),\s*\['(\w+)'", source)

    assert {name for place, name in written if place == "parent_object"} <= fields.GEMINI
    assert {name for place, name in written if place == "to_object"} <= fields.GEMINI_GENERATION


def test_what_the_published_types_refuse_is_refused(sim: Simulator) -> None:
    """The types are asked about the same requests: neither is stricter about the top of a request than the other."""
    for name in ("openai_chat", "openai_responses", "anthropic", "cohere"):
        api = APIS[name]
        good, bad = api.body("hi"), api.body("hi") | {"colour": "blue"}

        assert (check(name, good), post(sim, api, good).status_code) == (None, 200)
        assert check(name, bad) is not None
        assert post(sim, api, bad).status_code in (400, 422)
