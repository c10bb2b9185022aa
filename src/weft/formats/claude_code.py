"""Claude Code's sessions: ~/.claude/projects/<folder>/<session>.jsonl, read by `claudecodereader` and written here.

One block a line, each line after the one before it, with what Claude Code needs to resume it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.canon import Closing, Entry, Message, Opening, Piece, Session, Stray, thaw
from weft.formats.callnames import CallNames
from weft.formats.claudecodereader import NAME, TITLES, read
from weft.formats.foreign import (
    Tree,
    as_uuid,
    iso,
    line,
    mappings,
    own_line,
    renewed,
    rest,
    spoken,
    text,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven_lines
from weft.formats.shown import for_anthropic, shown_by
from weft.formats.source import Head
from weft.wire import CROSSING, FAITHFUL

__all__ = ["FORMAT"]

# What a session may begin with for longer than is looked at to know what a file is.
_FIRST = ("file-history-snapshot", "queue-operation", "permission-mode", "mode", "last-prompt", *TITLES)
_WRITTEN_VERSION = "2.1.0"  # of the session files that are written here


def _encode(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """Write a session that Claude Code can resume: one block a line, each line after the one before it."""
    common: dict[str, Any] = {}
    title, is_titled = None, False
    before = None  # the id of the last answer
    names, unsaid = CallNames(), Tree()
    for piece in pieces:
        match piece:
            case Opening(session):
                common, title = _common(session), session.title
            case Stray():
                if written := own_line(piece, NAME):
                    is_titled = is_titled or any(kind.encode() in written for kind in TITLES)
                    yield written
            case Entry():
                if piece.noted(NAME).get("again") is True:  # the compaction's own line says it
                    continue
                above = unsaid.above(piece.parent_id)
                lines = list(_lines(piece, names.named(piece.message), above[0] if above else None, common))
                if not lines:  # what continues it continues what it continued
                    unsaid.passed(piece.id, piece.parent_id)
                if piece.message.role == "assistant" and lines:
                    is_ours = bool(piece.noted(NAME).get("lines"))  # then it was read as another one already
                    if lines[0]["message"].get("id") == before is not None and not is_ours:  # or they would be one
                        for said in lines:
                            said["message"]["id"] = f"msg_{as_uuid(piece.id).replace('-', '')[:24]}"
                    before = lines[-1]["message"].get("id")
                yield from map(line, lines)
            case Closing(_, _, session):
                title = session.title if session else title
                if title and not is_titled:
                    yield line({"type": "custom-title", "customTitle": title, "sessionId": common["sessionId"]})


def _common(session: Session) -> dict[str, Any]:
    """Give what every line says of the session."""
    ours = session.noted(NAME)
    common = {
        "sessionId": as_uuid(session.id or "session"),
        "cwd": session.cwd or "/",
        "version": ours.get("version", _WRITTEN_VERSION),
        "userType": ours.get("userType", "external"),
        "isSidechain": False,
    }
    if "gitBranch" in ours:
        common["gitBranch"] = ours["gitBranch"]
    return common


def _lines(
    entry: Entry, message: Message, parent_id: str | None, common: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    noted = entry.noted(NAME)
    ours = mappings(noted.get("lines"))
    is_moved = bool(ours) and noted.get("continues") != parent_id
    is_told = message.role in ("system", "developer")  # it has no place for these: told to the model, not shown
    if is_told:
        message = renewed(message, role="user")
    said = spoken("anthropic", [message], entry.blobs, FAITHFUL if message.provider == "anthropic" else CROSSING)
    blocks = [block for each in said for block in _blocks(each.get("content"))]
    role = "assistant" if message.role == "assistant" else "user"
    if not ours:  # Anthropic refuses messages that say nothing, and with them the whole session
        blocks = [block for block in blocks if block != {"type": "text", "text": ""}]
        if not blocks:
            return
        shown = shown_by(message.parts)
        for block in blocks:
            if block.get("type") == "tool_result" and (seen := shown.get(block.get("tool_use_id"))):
                block["content"] = for_anthropic(seen)
    groups = [[block] for block in blocks] if role == "assistant" else [blocks]
    if len(ours) == 1 or not groups:
        groups = [blocks]
    before = as_uuid(parent_id) if parent_id else None
    for number, group in enumerate(groups):
        kept = dict(ours[number]) if len(ours) == len(groups) else {}
        last = number == len(groups) - 1
        uuid = text(kept.get("uuid")) or as_uuid(entry.id if last else f"{entry.id}/{number}")
        ours_around = kept.get("message")
        content: Any = group
        if role == "user" and len(group) == 1 and group[0].keys() == {"type", "text"}:
            content = group[0]["text"]
        body: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            around = thaw(ours_around) if isinstance(ours_around, Mapping) else _envelope(entry)
            body = {**around, "role": role, "content": content}
        elif isinstance(ours_around, Mapping):
            body = {**thaw(ours_around), **body}
        told: dict[str, Any] = {"type": role, "message": body}
        if role == "user" and isinstance(attached := kept.get("attachment"), Mapping):
            told = {"type": "attachment", "attachment": {**thaw(attached), "prompt": content}}
        yield {
            "parentUuid": before if is_moved else kept.get("parentUuid", before),
            **(common if not kept else {}),
            **({"isMeta": True} if is_told and not kept else {}),
            **told,
            "uuid": uuid,
            "timestamp": kept.get("timestamp") or iso(entry.timestamp) or "1970-01-01T00:00:00.000Z",
            **thaw(rest(kept, "uuid", "parentUuid", "timestamp", "message", "attachment")),
        }
        before = uuid


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _envelope(entry: Entry) -> dict[str, Any]:
    """Give what Anthropic says around an answer's content."""
    usage = entry.usage
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
    counts = {"input_tokens": 0, "output_tokens": 0}
    if usage is not None:
        counts = dict(usage.provider_usage) if "input_tokens" in usage.provider_usage else counts
        counts["input_tokens"] = usage.input_tokens or 0
        counts["output_tokens"] = usage.output_tokens or 0
    return {
        "id": entry.message.id or f"msg_{as_uuid(entry.id).replace('-', '')[:24]}",
        "type": "message",
        "model": entry.model or "unknown",
        "stop_reason": reasons.get(entry.finish_reason or ""),
        "stop_sequence": None,
        "usage": counts,
    }


def _sniff(head: Head) -> float:
    if not head.is_object:
        return 0.0
    start = head.data[:65536]
    if b'"sessionId"' in start and (b'"parentUuid"' in start or b'"leafUuid"' in start):
        return 0.95
    first = head.first
    if first.get("type") in _FIRST and first.keys() & {"sessionId", "messageId"}:
        return 0.9
    return 0.6 if b'"leafUuid"' in start and b'"summary"' in start else 0.0


FORMAT = Format(
    name=NAME,
    about="sessions of Claude Code, which can resume what is written",
    carries=carrying(
        yes="branches ids timestamps model usage finish title thinking signatures calls images blocks extras",
        partial="files system",
    ),
    read=read,
    write=proven_lines(NAME, _encode, read),
    sniff=_sniff,
    aliases=("claude",),
    extensions=(),
    notes={"files": "documents, as Anthropic takes them", "system": "as a line of the user's"},
)
