"""Hypothesis strategies for transcripts: trees of entries, with whatever a file may say of them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tests.support.strategies import json_objects, json_texts, plain_text, usages
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    NO_BLOBS,
    UNTIMED,
    Entry,
    Instructions,
    Message,
    Part,
    Session,
    Stray,
    ToolSpecification,
    Transcript,
)

__all__ = ["awkward_texts", "entries", "linear_transcripts", "sessions", "transcripts"]

_names = st.text("abcdefgh-0123", min_size=1, max_size=6)
_maybe = st.none() | _names
_times = st.just(UNTIMED) | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001

# What text formats are broken by: their own separators, fences and commands, and blank lines [J-11].
_lines = st.sampled_from(
    [
        "",
        " ",
        "x",
        "## user",
        "\\## user",
        "##  Assistant ",
        "# title",
        "```",
        "````",
        "```weft text",
        "   ```weft part {}",
        "<!-- weft: {} -->",
        "<!-- weft: 1 -->",
        ";user",
        ";;x",
        ";end",
        ";/*",
        "[[messages]]",
        '"""',
        "---",
        "é\u2028ü",
        "\r",
        "\t",
        "-->",
        "\\",
    ]
)
awkward_texts = plain_text | st.lists(_lines, max_size=5).map("\n".join)
_payloads = st.sampled_from([b"", b"\x89PNG", b"%PDF-1.4", b"abc"])


_media = st.sampled_from(
    ["image/png", "image/png", "image/bmp", "audio/wav", "audio/ogg", "video/mp4", "application/pdf"]
)


def _blob(data: bytes, media_type: str) -> Any:
    kind = media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    return InMemoryBlobStore(hashed=True).put_blob(data, media_type=media_type, kind=kind)


_raw = st.none() | json_objects()
_args = json_objects()
_kinds = st.sampled_from(["image", "file", "audio", "video"])
_urls = st.sampled_from(["https://harbour.example/x.png", "https://harbour.example/y", "data:,x", ""])
_parts = st.one_of(
    st.builds(Part, st.just("text"), text=awkward_texts),
    st.builds(Part, st.just("text"), text=awkward_texts, provider_raw=_raw, json=_raw),
    st.builds(Part, st.sampled_from(["thinking", "refusal"]), text=awkward_texts, provider_raw=_raw),
    st.builds(Part, st.just("thinking"), text=st.none(), provider_raw=json_objects()),
    st.builds(
        Part, st.just("tool_call"), tool_call_id=_maybe, tool_name=awkward_texts, tool_args=_args, provider_raw=_raw
    ),
    st.builds(
        Part,
        st.just("tool_result"),
        tool_call_id=_maybe,
        tool_name=_maybe,
        tool_output=awkward_texts | st.none() | json_objects() | st.lists(json_objects(), max_size=2),
        provider_raw=_raw,
    ),
    st.builds(Part, _kinds, blob=st.builds(_blob, _payloads, _media), json=_raw),
    st.builds(Part, _kinds, json=st.fixed_dictionaries({"url": _urls}, optional={"media_type": _media})),
    st.builds(
        Part,
        st.just("tool_result"),
        provider_raw=st.just({"is_error": True}),
        tool_call_id=_maybe,
        tool_name=_maybe,
        tool_output=awkward_texts | st.none(),
    ),
    st.builds(
        lambda words, maker, seal: Part(
            "thinking",
            words,
            json={"provider": maker, "dialect": maker},
            provider_raw={"type": "thinking", "thinking": words, "signature": seal},
        ),
        awkward_texts,
        st.sampled_from(["anthropic", "bedrock"]),
        plain_text,
    ),
    st.builds(Part, st.sampled_from(["provider", "compaction", "new"]), provider_raw=json_objects()),
    st.builds(Part, st.just("json"), json=json_objects()),
    st.builds(Part, st.just("text"), text=json_texts),
)
_roles: st.SearchStrategy[Any] = st.sampled_from(["system", "developer", "user", "assistant", "tool"])


@st.composite
def _messages(draw: st.DrawFn) -> Message:
    parts = draw(st.lists(_parts, max_size=3))
    if draw(st.integers(0, 5)) == 0:
        parts.append(Part("annotation", json=draw(json_objects())))
    return Message(draw(_roles), parts, draw(_maybe), draw(_maybe), draw(_maybe), draw(_times))


def _store(message: Message) -> Any:
    kept = {}
    for part in message.parts:
        if part.blob is not None:
            data = next(each for each in (b"", b"\x89PNG", b"%PDF-1.4", b"abc") if _digest(each) == part.blob.sha256)
            kept[part.blob.id] = (part.blob, data)
    return InMemoryBlobStore.from_preloaded(kept) if kept else NO_BLOBS


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_extras: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.dictionaries(
    st.sampled_from(["claude-code", "codex", "weft"]), json_objects(), max_size=1
)


@st.composite
def entries(draw: st.DrawFn, entry_id: str, parents: tuple[str, ...]) -> Entry:
    message = draw(_messages())
    return Entry(
        entry_id,
        message,
        parents,
        draw(_maybe),
        draw(st.none() | st.sampled_from(["stop", "length", "tool_calls"])),
        draw(st.none() | usages),
        draw(_extras),
        _store(message),
    )


_tools = st.builds(ToolSpecification, _names, plain_text, json_objects())
sessions = st.builds(
    Session,
    id=_maybe,
    title=st.none() | awkward_texts.filter(bool),
    created=st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    cwd=_maybe,
    provider=_maybe,
    model=_maybe,
    instructions=st.none() | st.builds(Instructions, awkward_texts, st.none() | plain_text),
    tools=st.lists(_tools, max_size=1),
    parameters=json_objects(),
    extras=_extras,
)


@st.composite
def transcripts(draw: st.DrawFn, *, branching: bool = True) -> Transcript:
    """Give a conversation: a chain, or a tree with names on it."""
    count = draw(st.integers(0, 4))
    found: list[Entry] = []
    for number in range(1, count + 1):
        before: tuple[str, ...] = (found[-1].id,) if found else ()
        name = str(number)
        if branching:
            name = draw(st.just(name) | st.sampled_from([f"e{number}", f"n-{number}"]))
            others: list[tuple[str, ...]] = [(each.id,) for each in found]
            before = draw(st.sampled_from([before, *others, ()]))
            if len(found) > 1 and draw(st.integers(0, 4)) == 0:
                before = (found[0].id, found[-1].id)
        found.append(draw(entries(name, before)))
    ids = [entry.id for entry in found]
    heads = draw(st.dictionaries(_names, st.sampled_from(ids), max_size=2)) if branching and ids else {}
    current = draw(st.none() | st.sampled_from(ids)) if branching and ids else None
    strays = sorted(draw(st.lists(st.integers(0, count), max_size=2))) if branching else []
    kept = [Stray("claude-code", draw(awkward_texts), at) for at in strays]
    return Transcript(tuple(found), draw(sessions), heads, current, tuple(kept))


linear_transcripts = transcripts(branching=False)
