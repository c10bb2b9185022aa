"""Transcripts, and the pieces they come in, as plain JSON containers and back.

Fields that say nothing are left out, so a line of a file of a million entries is no longer than it must be. The doors
are `Transcript.to_dict` and `from_dict`; the pieces are what the native file format has on each line.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from weft import jsontext
from weft.blobs import BlobReference, BlobStore, InMemoryBlobStore
from weft.canon.freezing import thaw
from weft.canon.misfit import (
    Misfit,
    each,
    mapping,
    named,
    nonempty_text,
    optional_text,
    reading,
    required_int,
    shown,
    text_mapping,
)
from weft.canon.part import Message
from weft.canon.runspec import Instructions
from weft.canon.serde import part_to_dict, read_message, read_time, read_usage, usage_to_dict, write_time
from weft.canon.transcript import NO_BLOBS, UNTIMED, Entry, Session, Stray, Transcript
from weft.canon.usage import ToolSpecification
from weft.errors import BlobIntegrityError, BlobNotFoundError, ContextError

__all__ = [
    "entry_from_dict",
    "entry_to_dict",
    "entry_to_json",
    "session_from_dict",
    "session_to_dict",
    "transcript_from_dict",
    "transcript_to_dict",
]

_SESSION_TEXTS = ("id", "title", "cwd", "provider", "model")


# -- writing -----------------------------------------------------------------------------------------------------


def transcript_to_dict(transcript: Transcript, *, include_blob_payloads: bool) -> dict[str, Any]:
    """Write a Transcript."""
    return {
        "session": session_to_dict(transcript.session),
        "entries": [entry_to_dict(entry, payloads=include_blob_payloads) for entry in transcript.entries],
        "heads": dict(transcript.heads),
        "current": transcript.current,
        "strays": [stray_to_dict(stray) for stray in transcript.strays],
    }


def session_to_dict(session: Session) -> dict[str, Any]:
    """Write a Session: what it says."""
    written: dict[str, Any] = {}
    for name in _SESSION_TEXTS:
        if (text := getattr(session, name)) is not None:
            written[name] = text
    if session.created is not None:
        written["created"] = write_time(session.created)
    if session.updated is not None:
        written["updated"] = write_time(session.updated)
    if session.instructions is not None:
        said = session.instructions.to_dict()
        written["instructions"] = {key: text for key, text in said.items() if text is not None}
    if session.tools:
        written["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": thaw(tool.input_schema)}
            for tool in session.tools
        ]
    if session.parameters:
        written["parameters"] = thaw(session.parameters)
    if session.extras:
        written["extras"] = thaw(session.extras)
    return written


def entry_to_dict(entry: Entry, *, payloads: bool = False) -> dict[str, Any]:
    """Write an Entry: what it says, its message without the fields that are not set."""
    return _entry_to_dict(entry, thaw, payloads=payloads)


def entry_to_json(entry: Entry) -> bytes:
    """Write an Entry with its blobs' bytes, as one line of JSON; ValueError says what has no form in it."""
    written = _entry_to_dict(entry, _as_it_is, payloads=True)
    return jsontext.dumps(written, is_finite=entry.plain_extras is not None)


def _as_it_is(value: Any) -> Any:
    return value


def _entry_to_dict(entry: Entry, thaw: Callable[[Any], Any], *, payloads: bool) -> dict[str, Any]:
    message = entry.message
    said: dict[str, Any] = {"role": message.role, "parts": [part_to_dict(part, thaw) for part in message.parts]}
    if message.id is not None:
        said["id"] = message.id
    if message.provider is not None:
        said["provider"] = message.provider
    if message.turn_id is not None:
        said["turn_id"] = message.turn_id
    if (moment := entry.timestamp) is not None:
        said["timestamp"] = write_time(moment)
    written: dict[str, Any] = {"id": entry.id}
    if entry.parent_ids:
        written["parent_ids"] = list(entry.parent_ids)
    written["message"] = said
    if entry.native is not None:  # it says no more than its message
        if payloads and (kept := _payloads(entry)):
            written["blobs"] = kept
        return written
    if entry.model is not None:
        written["model"] = entry.model
    if entry.finish_reason is not None:
        written["finish_reason"] = entry.finish_reason
    if entry.usage is not None:
        written["usage"] = usage_to_dict(entry.usage, thaw)
    if extras := entry.extras if entry.plain_extras is None else entry.plain_extras:
        written["extras"] = thaw(extras)
    if payloads and (kept := _payloads(entry)):
        written["blobs"] = kept
    return written


def stray_to_dict(stray: Stray) -> dict[str, Any]:
    """Write a Stray."""
    return {"format": stray.format, "text": stray.text, "at": stray.at}


def _payloads(entry: Entry) -> dict[str, str]:
    """Give the bytes of an entry's blobs by id, as base64."""
    kept = {}
    for part in entry.message.parts:
        if part.blob is not None and part.blob.id not in kept:
            try:
                data = entry.blobs.get_blob(part.blob)
            except (BlobNotFoundError, BlobIntegrityError) as error:
                raise ContextError(f"the bytes of blob {part.blob.id} cannot be included: {error}") from error
            kept[part.blob.id] = base64.b64encode(data).decode("ascii")
    return kept


# -- reading -----------------------------------------------------------------------------------------------------


def transcript_from_dict(value: object) -> Transcript:
    """Read a Transcript."""
    return reading("Transcript", _read_transcript, value)


def session_from_dict(value: object) -> Session:
    """Read a Session."""
    return reading("session", _read_session, value)


def entry_from_dict(value: object) -> Entry:
    """Read an Entry."""
    return reading("entry", _read_entry, value)


def _read_transcript(value: Any) -> Transcript:
    data = mapping(value)
    session = data.get("session")
    entries = each("entries", _list(data, "entries"), _read_entry)
    strays = each("strays", _list(data, "strays"), _read_stray)
    heads, current = text_mapping(data.get("heads"), "heads"), optional_text(data.get("current"), "current")
    read = Session() if session is None else named("session", _read_session, session)
    try:
        return Transcript(tuple(entries), read, heads, current, tuple(strays))
    except ValueError as problem:
        raise Misfit("", str(problem), ValueError) from problem


def _read_session(value: Any) -> Session:
    data = mapping(value)
    instructions = data.get("instructions")
    return Session(
        **{name: optional_text(data.get(name), name) for name in _SESSION_TEXTS},
        created=_moment(data, "created"),
        updated=_moment(data, "updated"),
        instructions=None if instructions is None else named("instructions", Instructions.read, instructions),
        tools=tuple(each("tools", _list(data, "tools"), _read_tool)),
        parameters=mapping(data.get("parameters") or {}, "parameters"),
        extras=mapping(data.get("extras") or {}, "extras"),
    )


def _read_tool(value: Any) -> ToolSpecification:
    data = mapping(value)
    name, description = data.get("name"), data.get("description")
    if not isinstance(name, str):
        raise Misfit("name", f"must be a string, not {shown(name)}")
    if not isinstance(description, str):
        raise Misfit("description", f"must be a string, not {shown(description)}")
    return ToolSpecification(name, description, mapping(data.get("input_schema"), "input_schema"))


def _read_entry(value: Any) -> Entry:
    data = value if type(value) is dict else mapping(value)
    get = data.get
    parents = get("parent_ids")
    if parents is None:
        parent_ids: tuple[str, ...] = ()
    elif isinstance(parents, (list, tuple)) and all(parent.__class__ is str for parent in parents):
        parent_ids = tuple(parents)
    else:
        raise Misfit("parent_ids", f"must be a list of strings, not {shown(parents)}")
    message = named("message", _read_timed, get("message"))
    usage, extras, blobs = get("usage"), get("extras"), get("blobs")
    return Entry(
        nonempty_text(get("id"), "id"),
        message,
        parent_ids,
        optional_text(get("model"), "model"),
        optional_text(get("finish_reason"), "finish_reason"),
        None if usage is None else named("usage", read_usage, usage),
        mapping(extras or {}, "extras"),
        NO_BLOBS if blobs is None else _read_blobs(blobs, message),
    )


def _read_timed(value: Any) -> Message:
    """Read a message; one that does not say when it was is not of now."""
    return read_message(value, UNTIMED)


def _read_blobs(value: Any, message: Message) -> BlobStore:
    payloads: dict[str, tuple[BlobReference, bytes]] = {}
    given = text_mapping(value, "blobs")
    for part in message.parts:
        if part.blob is None or part.blob.id not in given:
            continue
        try:
            data = base64.b64decode(given[part.blob.id], validate=True)
        except (binascii.Error, ValueError) as problem:
            raise Misfit(f"blobs[{part.blob.id!r}]", f"is not base64: {problem}", ValueError) from problem
        if (actual := hashlib.sha256(data).hexdigest()) != part.blob.sha256:
            problem_text = f"has sha256 {actual}, but its reference says {part.blob.sha256}"
            raise Misfit(f"blobs[{part.blob.id!r}]", problem_text, ValueError)
        payloads[part.blob.id] = (part.blob, data)
    return InMemoryBlobStore.from_preloaded(payloads)


def _read_stray(value: Any) -> Stray:
    data = mapping(value)
    text = data.get("text")
    if not isinstance(text, str):
        raise Misfit("text", f"must be a string, not {shown(text)}")
    return Stray(nonempty_text(data.get("format"), "format"), text, required_int(data.get("at", 0), "at"))


def _moment(data: Mapping[Any, Any], name: str) -> datetime | None:
    try:
        return read_time(data.get(name))
    except Misfit as misfit:
        raise Misfit(name, misfit.problem, misfit.error) from misfit


def _list(data: Mapping[Any, Any], name: str) -> list[Any] | tuple[Any, ...]:
    value = data.get(name)
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return value
    raise Misfit(name, f"must be a list, not {shown(value)}")
