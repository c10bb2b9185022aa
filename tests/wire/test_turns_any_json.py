"""The turn face given any JSON at all: only declared errors, never a crash."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.wire.turns import PROVIDERS, Streamer, aggregate, encode_turns, show_events

# The words the providers use, so that any JSON is often nearly right.
_KEYS = (
    "type role content text name id input source media_type data tool_use_id is_error thinking origin provider_raw "
    "delta message choices index function arguments tool_calls candidates parts functionCall args thought usage "
    "content_block partial_json finish_reason event usageMetadata"
)
_KINDS = (
    "text document image tool_use tool_result thinking provider base64 image/png text/plain iVBORw== user assistant "
    "content_block_start content_block_delta message_start message_delta text_delta input_json_delta content-delta "
    "tool-call-start tool-call-delta message-end web_search_tool_result"
)
KEYS, KINDS = _KEYS.split(), _KINDS.split()
words = st.sampled_from(KINDS) | st.text(max_size=3)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
blocks = st.fixed_dictionaries({"type": words}, optional=dict.fromkeys(KEYS[3:13], values))
providers = st.sampled_from(sorted(PROVIDERS))


@given(providers, st.lists(blocks, max_size=4), st.sampled_from(["user", "assistant", "system"]), objects)
def test_a_request_is_prepared_or_refused(provider: str, content: list[Any], role: str, tool: dict[str, Any]) -> None:
    """J-09."""
    asked = {"messages": [{"role": role, "content": content, "cache": True}], "options": {"tool_mode": "any"}}

    try:
        encoded = encode_turns(provider, asked, [tool] if "name" in tool else [])
    except WeftError:
        return
    assert isinstance(encoded.body, dict)


@given(providers, st.lists(objects, max_size=5))
def test_a_stream_is_shown_and_put_together_whatever_comes(provider: str, events: list[dict[str, Any]]) -> None:
    """J-09, S-09."""
    streamer = Streamer(provider)

    show_events(shown for event in events for shown in streamer.feed(event))
    try:
        answer = aggregate(provider, events, new_id=lambda: "made")
    except WeftError:
        return
    assert isinstance(answer["message"]["content"], list)
