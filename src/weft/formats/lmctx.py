"""lmctx: a Context as its `to_dict` writes it, with the bytes of blobs if there are any (model.md, section 4)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from weft import jsontext
from weft.canon import EMPTY, UNTIMED, Closing, Context, Entry, Message, Opening, Piece, Session, Transcript, thaw
from weft.errors import CodecError, WeftError
from weft.formats.foreign import mappings
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Source

__all__ = ["FORMAT", "read"]

OWN = ("messages", "blob_payloads")
NO_CURSOR = {"last_response_id": None, "conversation_id": None, "session_id": None}


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation."""
    value = source.json()
    if not isinstance(value, dict):
        raise CodecError("a context is an object", where=source.name)
    try:
        context = Context.from_dict(value)
    except (TypeError, ValueError) as problem:
        raise CodecError(str(problem)) from problem
    others = {key: item for key, item in value.items() if key not in OWN}
    if others.get("cursor") in (None, NO_CURSOR):
        others.pop("cursor", None)
    if not others.get("usage_log"):
        others.pop("usage_log", None)
    yield Opening(Session(extras={"lmctx": others} if others else {}))
    before: tuple[str, ...] = ()
    given = value.get("messages") or ()
    for number, (message, record) in enumerate(zip(context.messages, given, strict=True), 1):
        if record.get("timestamp") is None:  # then it was stamped with now, which the file does not say
            fields = (message.role, message.parts, message.id, message.provider, message.turn_id)
            message = Message(*fields, UNTIMED)  # noqa: PLW2901
        known = {"role", "parts", "id", "provider", "turn_id", "timestamp"}
        rest = {key: item for key, item in record.items() if key not in known}
        extras = {"lmctx": rest} if rest else EMPTY
        yield Entry(str(number), message, before, extras=extras, blobs=context.blob_store)
        before = (str(number),)
    yield Closing()


def encode(transcript: Transcript) -> bytes:
    """Write one conversation; the tokens of answers go to the log of usage, which says of none whose they were."""
    messages: list[dict[str, Any]] = []
    payloads: dict[str, dict[str, Any]] = {}
    for entry in transcript.entries:
        written = Context((entry.message,), blob_store=entry.blobs).to_dict()["messages"][0]
        if entry.timestamp is None:
            written["timestamp"] = None
        messages.append({**written, **thaw(entry.noted("lmctx"))})
        for part, plain in zip(entry.message.parts, written["parts"], strict=True):
            if part.blob is not None and part.blob.id not in payloads:
                try:
                    data = base64.b64encode(entry.blobs.get_blob(part.blob)).decode("ascii")
                except WeftError as problem:
                    raise CodecError(f"the bytes of blob {part.blob.id} are not there: {problem}") from problem
                payloads[part.blob.id] = {"ref": plain["blob"], "data_b64": data}
    others = thaw(transcript.session.noted("lmctx"))
    log = [*mappings(others.pop("usage_log", None))]
    log += [
        Context(usage_log=(entry.usage,)).to_dict()["usage_log"][0]
        for entry in transcript.entries
        if entry.usage is not None
    ]
    whole = {"messages": messages, "cursor": others.pop("cursor", None) or NO_CURSOR, "usage_log": log, **others}
    if payloads:
        whole["blob_payloads"] = list(payloads.values())
    try:
        return jsontext.dumps(whole)
    except ValueError as problem:
        raise CodecError(str(problem), where="the context") from problem


def sniff(head: Head) -> float:
    """An object whose messages have parts, with a cursor or a log of usage."""
    first = head.first
    if not head.is_object or "messages" not in first:
        return 0.0
    marked = "cursor" in first or "usage_log" in first
    match first["messages"]:
        case [{"role": _, "parts": _}, *_]:
            return 0.9 if marked else 0.6
    return 0.8 if marked else 0.6 if b'"parts"' in head.data and b'"turn_id"' in head.data else 0.0


FORMAT = Format(
    name="lmctx",
    about="a Context of lmctx, as its to_dict writes it",
    carries=carrying("timestamps thinking signatures calls images files blocks", "system usage extras"),
    notes={
        "system": "as messages",
        "usage": "in a log of its own, which does not say whose they were",
        "extras": "members that are not known here, if the file was of this kind before",
    },
    read=read,
    write=proven("lmctx", encode, read),
    sniff=sniff,
)
