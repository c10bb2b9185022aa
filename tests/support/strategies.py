"""Hypothesis strategies for canon: JSON values, parts, messages, contexts, replies."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from weft.blobs import BlobReference
from weft.canon import ROLES, Context, Cursor, Message, Part, Reply, Usage

__all__ = [
    "blob_references",
    "contexts",
    "cursors",
    "json_objects",
    "json_texts",
    "json_values",
    "messages",
    "parts",
    "replies",
    "usages",
]

# Any text but one with a surrogate in it: what arrives as UTF-8.
plain_text = st.text(max_size=12)
# Lone surrogates too. Two that happen to form a pair are one character in JSON, so halves of one kind only. They are
# chosen from lists: among all the characters of an alphabet these thousand would never turn up.
_halves = st.characters(min_codepoint=0xDC00, max_codepoint=0xDFFF)
json_texts = st.one_of(plain_text, st.lists(st.one_of(st.characters(), _halves), max_size=6).map("".join))
_numbers = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(allow_nan=False, allow_infinity=False),
)


def json_values(texts: st.SearchStrategy[str] = plain_text, *, max_leaves: int = 12) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.one_of(st.none(), st.booleans(), _numbers, texts),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
        max_leaves=max_leaves,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(plain_text, json_values(max_leaves=6), max_size=3)


_names = st.text(min_size=1, max_size=8)
_maybe_name = st.none() | _names
_sha256 = st.text("0123456789abcdef", min_size=64, max_size=64)
_TYPES = "text json image audio video file tool_call tool_result thinking compaction refusal provider annotation new"
_types = st.sampled_from(_TYPES.split())
_zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))

blob_references = st.builds(BlobReference, _names, _sha256, _maybe_name, _names, st.integers(0, 2**40))
parts = st.builds(
    Part,
    type=_types,
    text=st.none() | plain_text,
    json=st.none() | json_objects(),
    blob=st.none() | blob_references,
    tool_call_id=_maybe_name,
    tool_name=_maybe_name,
    tool_args=st.none() | json_objects(),
    tool_output=st.none() | json_values(max_leaves=6),
    provider_raw=st.none() | json_objects(),
)
messages = st.builds(
    Message,
    role=st.sampled_from(sorted(ROLES)),
    parts=st.lists(parts, max_size=3),
    id=_maybe_name,
    provider=_maybe_name,
    turn_id=_maybe_name,
    timestamp=st.datetimes(timezones=_zones),
)
_counts = st.none() | st.integers(0, 2**40)
usages = st.builds(Usage, _counts, _counts, _counts, json_objects())
cursors = st.builds(Cursor, _maybe_name, _maybe_name, _maybe_name)
contexts = st.builds(Context, st.lists(messages, max_size=3), cursors, st.lists(usages, max_size=2))


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Replies that events can tell: one choice or none, finished or broken off."""
    finish = draw(st.none() | st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    notes = draw(st.lists(plain_text, max_size=2))
    reply_id = draw(_maybe_name)
    content = draw(st.lists(parts, max_size=4))
    answer = Message(draw(st.sampled_from(["assistant", "user"])), content, id=reply_id)
    return Reply(
        messages=(answer,) if content else (),
        id=reply_id,
        model=draw(_maybe_name),
        finish_reason=finish,
        stop_reason=draw(_maybe_name),
        usage=draw(st.none() | usages),
        raw=draw(json_objects()),
        finished=finish is not None and not notes,
        notes=tuple(notes),
    )
