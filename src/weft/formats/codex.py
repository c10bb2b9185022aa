"""Codex's rollouts: ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl, read by `codexreader`, written here.

As it was, if it came from such a file; else one branch, with what Codex needs to resume it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Message,
    Opening,
    Piece,
    Session,
    Stray,
    thaw,
)
from weft.formats.callnames import CallNames
from weft.formats.codexreader import DIALECT, HEADER, NAME, read
from weft.formats.foreign import (
    as_uuid,
    iso,
    line,
    mappings,
    own_line,
    rest,
    spoken,
    text_of,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven_lines
from weft.formats.rollouttokens import TOKENS, token_count
from weft.formats.shown import for_responses, shown_by
from weft.formats.source import Head
from weft.wire import CROSSING, FAITHFUL

__all__ = ["FORMAT"]

KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_WRITTEN_VERSION = "1.0.0"


def _encode(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """Write a rollout that Codex can resume: as it was, if its lines are there; else one branch, with what it needs."""
    session = Session()
    own: bool | None = None
    model = ""
    total = dict.fromkeys(TOKENS, 0)
    names = CallNames()
    for piece in pieces:
        match piece:
            case Opening(session):
                pass
            case Stray():
                if written := own_line(piece, NAME):
                    own = own is not False
                    yield written
            case Entry():
                if own is None:
                    own = False
                    yield line(_meta(session, iso(piece.timestamp)))
                if not own and piece.model and piece.model != model:
                    model = piece.model
                    yield line(_turn_context(session, piece))
                yield from map(line, _lines(piece, piece.message if own else names.named(piece.message), own=own))
                if not own and piece.usage is not None:
                    payload = token_count(piece.usage, total)
                    yield line({"timestamp": _time(piece), "type": "event_msg", "payload": payload})
            case Closing():
                if own is None:
                    yield line(_meta(session, None))


def _turn_context(session: Session, entry: Entry) -> dict[str, Any]:
    context: dict[str, Any] = {"cwd": session.cwd or "/", "approval_policy": "on-request", "model": entry.model}
    context |= {"sandbox_policy": {"type": "read-only"}, "summary": "auto"}
    return {"timestamp": _time(entry), "type": "turn_context", "payload": context}


def _meta(session: Session, first: str | None) -> dict[str, Any]:
    name = as_uuid(session.id or "session")
    time = iso(session.created) or first or "1970-01-01T00:00:00Z"
    instructions = None if session.instructions is None else session.instructions.system
    payload: dict[str, Any] = {
        "id": name,
        "session_id": name,
        "timestamp": time,
        "cwd": session.cwd or "/",
        "originator": "weft",
        "cli_version": _WRITTEN_VERSION,
        "source": "cli",
        "model_provider": session.provider if session.provider not in (None, "anthropic", "google") else "openai",
        "base_instructions": None if instructions is None else {"text": instructions},
    }
    return {"timestamp": time, "type": "session_meta", "payload": payload}


def _lines(entry: Entry, message: Message, *, own: bool) -> Iterator[dict[str, Any]]:
    ours = entry.noted(NAME)
    if own and ours.get("compacted"):
        return  # it is in the `compacted` line, which is kept as it was
    kept = mappings(ours.get("lines"))
    if isinstance(letter := ours.get("letter"), Mapping) and isinstance(letter.get("kind"), str) and kept:
        yield _letter(message, thaw(letter), thaw(kept[0]))
        return
    policy = FAITHFUL if message.provider == "openai" else CROSSING
    items = [_item(item, own=own) for item in spoken(DIALECT, [message], entry.blobs, policy)]
    if not own:
        shown = shown_by(message.parts)
        for item in items:
            if item.get("type") == "function_call_output" and (seen := shown.get(str(item.get("call_id")))):
                item["output"] = for_responses(seen)
    time = _time(entry)
    for number, item in enumerate(items):
        around = thaw(kept[number]) if number < len(kept) else {"timestamp": time}
        is_bare = around.pop("bare", False)
        yield item if is_bare else {**around, "type": "response_item", "payload": item}
    if not own:
        yield from _events(message, time)


def _letter(message: Message, letter: dict[str, Any], around: dict[str, Any]) -> dict[str, Any]:
    """Give what another agent wrote as the line it was."""
    kind = letter.pop("kind")
    if kind == "inter_agent_communication":
        return {**around, "type": kind, "payload": {**letter, "content": text_of(message)}}
    blocks = [
        {"type": "input_text", "text": part.text or ""} if part.type == "text" else thaw(part.provider_raw)
        for part in message.parts
    ]
    return {**around, "type": "response_item", "payload": {"type": kind, **letter, "content": blocks}}


def _item(item: dict[str, Any], *, own: bool) -> dict[str, Any]:
    """Give an item as Codex needs it: with its type, and its content as a list of what it can read.

    It drops a whole line for one block that it does not know, and files are such.
    """
    if "type" in item and item["type"] != "message":
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    elif isinstance(content, list) and not own:
        content = [block for each in content if (block := _readable(each)) is not None]
    named = item if own else rest(item, "id", "status")  # Codex has them only where OpenAI gave them
    return {"type": "message", **named, "content": content}


def _readable(block: Any) -> Any:
    match block:
        case {"type": "input_text" | "output_text", "text": str()} | {"type": "input_image", "image_url": str()}:
            return block
        case {"type": "refusal", "refusal": str(words)}:
            return {"type": "output_text", "text": words}
    return None


def _events(message: Message, time: str) -> Iterator[dict[str, Any]]:
    """Give the mirror for the screen: a session without a word of its user is not offered to be resumed."""
    words = text_of(message)
    kind = {"user": "user_message", "assistant": "agent_message"}.get(message.role)
    if kind and words:
        yield {"timestamp": time, "type": "event_msg", "payload": {"type": kind, "message": words}}


def _time(entry: Entry) -> str:
    return iso(entry.timestamp) or iso(UNTIMED) or "1970-01-01T00:00:00Z"


def _sniff(head: Head) -> float:
    first = head.first
    if first.get("type") == "session_meta" and "payload" in first:
        return 0.97
    if (
        head.is_object
        and {"id", "timestamp"} <= first.keys() <= HEADER
        and ("instructions" in first or b'"record_type"' in head.data or b'"role"' in head.data)
    ):
        return 0.9
    return 0.9 if first.get("type") in KINDS and "payload" in first and "timestamp" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="rollouts of Codex, which can resume what is written",
    carries=carrying(
        yes="timestamps model system thinking signatures calls images blocks extras",
        partial="branches title usage",
    ),
    read=read,
    write=proven_lines(NAME, _encode, read),
    own_branches=True,
    sniff=_sniff,
    aliases=("rollout",),
    notes={
        "branches": "those it has itself: after a compaction, and where turns were rolled back",
        "title": "the session's id, and the name that older versions have in the file",
        "usage": "tokens in and out",
    },
)
