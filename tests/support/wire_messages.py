"""Hypothesis strategies for wire messages: every valid one, the odd ones too."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from tests.support.strategies import json_objects, json_values, plain_text

__all__ = ["contents", "wire_messages"]

_Things = st.SearchStrategy[dict[str, Any]]


def _merged(*things: _Things) -> _Things:
    return st.tuples(*things).map(lambda dicts: {key: value for each in dicts for key, value in each.items()})


def _optional(**fields: st.SearchStrategy[Any]) -> _Things:
    return st.fixed_dictionaries({}, optional=fields)


def _few(values: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=most)


_small = json_values(max_leaves=3)
_maybe = st.none() | plain_text
_unknown = st.dictionaries(st.sampled_from(["x", "detail", "source"]), _small, max_size=1)
_base64 = st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode())
_data = st.one_of(plain_text, st.binary(max_size=9), _base64)
_urls = plain_text | (plain_text | _base64).map(lambda data: f"data:image/webp;base64,{data}")

_texts = st.fixed_dictionaries({"type": st.just("text"), "text": plain_text})
_media = _merged(
    st.fixed_dictionaries({"type": st.sampled_from(["image", "audio", "file"])}),
    _optional(format=_maybe, file_id=_maybe, name=_maybe, url=st.none() | _urls, data=st.none() | _data),
)
contents = plain_text | _few(_merged(_unknown, _texts | _media), 3)
_calls = _merged(
    _unknown,
    st.fixed_dictionaries({"name": plain_text, "arguments": plain_text | json_objects().map(json.dumps)}),
    _optional(id=_maybe, call_id=_maybe, extra=_small),
)

_thinking = st.fixed_dictionaries({"type": st.just("thinking"), "thinking": plain_text, "signature": plain_text})
_redacted = st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": plain_text})
_claude = _optional(
    thinking_blocks=_few(_thinking | _redacted | json_objects(), 3) | _small,
    other_blocks=_few(json_objects()),
    is_error=st.booleans() | plain_text,
    more=plain_text,
)
_places = st.fixed_dictionaries(
    {"kind": st.sampled_from(["thought", "text", "function_call", "data", "?"]), "index": st.integers(-1, 2)}
)
_lengths = st.dictionaries(st.sampled_from(["text", "thought"]), _few(st.integers(0, 4), 3))
_gemini = _optional(
    thought_signatures=_few(plain_text, 3),
    signature_parts=_few(_places, 3),
    other_parts=_few(json_objects()),
    part_lengths=_lengths,
)
_extras = _small | _optional(
    claude=_claude | _small,
    gemini=_gemini | _small,
    weft=_optional(cache=st.booleans()),
    bedrock=_claude,
    other=_small,
)
_roles = st.sampled_from(["system", "developer", "user", "assistant", "tool", "critic", ""])

wire_messages = _merged(
    _unknown,
    st.fixed_dictionaries({"role": _roles, "content": contents}),
    _optional(
        reasoning=st.none() | contents,
        refusal=st.none() | contents,
        tool_calls=st.none() | _few(_calls),
        id=_maybe,
        call_id=_maybe,
        name=_maybe,
        extra=_extras,
    ),
)
