"""What JSON, NDJSON, TOML and STF have in common: wire messages and metadata, and how a Transcript becomes them.

A wire message is a message of canon and no more: whatever else an entry says is noted as lost. The facts of the session
are members of the metadata, if that is an object; what else the metadata says is kept in the session's extras under
`metadata`. A message that is anything but plain is read back before it is written, so that every change is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    NO_BLOBS,
    ROLES,
    UNTIMED,
    Closing,
    Entry,
    Message,
    Opening,
    Part,
    Piece,
    Session,
    Stray,
    entry_to_dict,
    freeze,
    frozen_part,
    read_arguments,
    session_from_dict,
    session_to_dict,
    thaw,
    write_arguments,
)
from weft.errors import CodecError, WeftError
from weft.formats.format import Sink
from weft.formats.ledger import Ledger
from weft.formats.source import Shelf
from weft.wire import check_message, decode_message, encode_message, without_bytes

__all__ = [
    "ABSENT",
    "CARRIED",
    "CARRIED_IN_PART",
    "NOTES",
    "USUAL",
    "WIRE",
    "Absent",
    "Json",
    "MessageReader",
    "NoNullError",
    "ShapeError",
    "decoded_shape",
    "dumps",
    "is_fact",
    "is_usual",
    "kept_extras",
    "metadata_of",
    "session_of",
    "told",
    "told_as_json",
    "without_raw_bytes",
    "write_joined",
]

Json = dict[str, Any]

CARRIED = "title system tools options thinking signatures calls images files"
CARRIED_IN_PART = "blocks extras"
NOTES = {
    "blocks": "those of Anthropic and Gemini, which have a place in `extra`",
    "extras": "what metadata and messages say beyond the schema, if the file was of this kind before",
}


# The forms in which entries carry a wire message: any, and one of texts alone; that one with its line, if it had one.
WIRE, USUAL = "wire", "wire of texts"


class Absent:
    """The metadata of a file that has none; None is metadata like any other."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = Absent()


class ShapeError(CodecError, TypeError):
    """A value of a type that no file of this kind has."""


class NoNullError(CodecError, ValueError):
    """A value that a format has no form for, such as null in TOML."""


# -- files as values -----------------------------------------------------------------------------------------------


def decoded_shape(value: Any) -> tuple[list[Json], Any]:
    """Take a decoded file as messages and metadata: a list, an object with `messages`, or one message."""
    if isinstance(value, (list, tuple)):
        return list(value), ABSENT
    if isinstance(value, Mapping):
        if "messages" in value:
            return value["messages"], value.get("metadata", ABSENT)
        return [dict(value)], ABSENT
    raise ShapeError(f"a file of messages holds a list or an object, not {type(value).__name__}")


def without_raw_bytes(message: Mapping[str, Any]) -> Json:
    """Copy a wire message with bytes written as base64 [W-3]."""
    copied = dict(message)
    for key in ("content", "reasoning", "refusal"):
        if isinstance(copied.get(key), (list, tuple)):
            copied[key] = without_bytes(copied[key])
    return copied


# -- metadata and session --------------------------------------------------------------------------------------------


def session_of(metadata: Any, extras: Mapping[str, Any] = EMPTY) -> Session:
    """Read the facts of a session from metadata; what is none of them stays metadata."""
    if metadata is ABSENT:
        return Session(extras=extras)
    facts: Json = {}
    rest = metadata
    if isinstance(metadata, Mapping) and metadata:
        facts = {key: value for key, value in metadata.items() if is_fact(key, value)}
        rest = {key: value for key, value in metadata.items() if key not in facts}
    kept = dict(extras)
    if rest or not facts:
        kept["metadata"] = rest
    return session_from_dict({**facts, "extras": kept})


def is_fact(key: str, value: Any) -> bool:
    """Tell whether a member of the metadata is a fact we know, written as we would write it."""
    if key == "extras" or not value:
        return False
    try:
        return session_to_dict(session_from_dict({key: value})) == {key: value}
    except (TypeError, ValueError):
        return False


def metadata_of(session: Session, ledger: Ledger, name: str, *, own: str = "") -> Any:
    """Write a session as metadata; ABSENT if it says nothing. `own` is the key of extras that the caller writes."""
    facts = session_to_dict(session)
    extras = facts.pop("extras", {})
    for key in extras:
        if key not in ("metadata", own):
            ledger.lost_of_whole(f"session.extras.{key}", f"what only {key} knows", f"{name} has no place for it")
    if "metadata" not in extras:
        return facts or ABSENT
    metadata = extras["metadata"]
    if isinstance(metadata, dict):
        for key, value in metadata.items():
            if key in facts or is_fact(key, value):
                for place in (f"session.{key}", "session.extras.metadata"):
                    ledger.lost_of_whole(place, f"the session's {key}", f"the metadata has another {key}", "changed")
        return {**facts, **metadata}
    for key in facts:
        why = "the metadata is not an object, so nothing can be added to it"
        ledger.lost_of_whole(f"session.{key}", f"the session's {key}", why)
    return metadata


# -- entries ---------------------------------------------------------------------------------------------------------


class MessageReader:
    """Wire messages to entries, each after the one before it. They are checked at once, and read when asked for."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        """Start a conversation."""
        self._number = 0

    def entry(self, message: Any, where: str = "") -> Entry:
        """Take the next message; CodecError names the place that does not fit: `where`, else `messages[3]`."""
        kind = USUAL if is_usual(message) else WIRE
        if kind is WIRE:
            check_message(message, where or f"messages[{self._number}]")
        return self._entry((kind, message, None))

    def take(self, raw: bytes, line: int | None = None) -> Entry:
        """Take the next message as JSON; ValueError if it is none.

        One that holds only texts has no number that orjson could change, so it need not be read with care.
        """
        try:
            message = orjson.loads(raw)
            if is_usual(message):
                self._number = number = self._number + 1
                return _late_entry(number, (USUAL, message, None if line is None else raw), _read)
        except orjson.JSONDecodeError:
            pass
        message = jsontext.loads(raw)
        where = f"messages[{self._number}]" if line is None else f"line {line}"
        if message.__class__ is not dict:
            raise ShapeError(f"must be an object, not {type(message).__name__}", where=where)
        return self._entry((WIRE, check_message(message, where), None))

    def _entry(self, native: tuple[str, Json, bytes | None]) -> Entry:
        self._number += 1
        return _late_entry(self._number, native, _read)


_late_entry = Entry.late


def is_usual(message: Any) -> bool:
    """Tell whether a message is text, calls or a result and nothing else: valid, and all that most files hold."""
    try:
        if message["content"].__class__ is not str or message["role"].__class__ is not str:
            return False
        size = len(message)
        if size == 2:
            return message.__class__ is dict
        if size != 3:
            return False
        calls = message.get("tool_calls")
        if calls is None:
            return message.get("call_id").__class__ is str
        for call in calls:
            if len(call) != 3 or call["name"].__class__ is not str or call["arguments"].__class__ is not str:
                return False
            if call["id"].__class__ is not str:
                return False
        return calls.__class__ is list
    except (KeyError, TypeError, AttributeError):
        return False


def dumps(value: Any, ledger: Ledger) -> bytes:
    """Write a value; CodecError names the entry that cannot be written."""
    try:
        return jsontext.dumps(value)
    except ValueError as problem:
        raise CodecError(str(problem), where=ledger.place) from problem


def _read(message: Json) -> tuple[Message, BlobStore]:
    role = message["role"]
    if len(message) == 2 and message["content"].__class__ is str and role in ROLES and role != "tool":
        return Message(role, (frozen_part("text", message["content"]),), None, None, None, UNTIMED), NO_BLOBS
    if (usual := _read_usual(message)) is not None:
        return usual, NO_BLOBS
    shelf = Shelf()
    read = decode_message(message, shelf.store)
    return Message(read.role, read.parts, read.id, read.provider, read.turn_id, UNTIMED), shelf.taken()


def _read_usual(message: Json) -> Message | None:
    """Read what an agent's messages usually are, calls and results: the same as `decode_message`, sooner."""
    role, content = message["role"], message["content"]
    if content.__class__ is not str:
        return None
    keys = message.keys()
    if role == "tool":
        if keys != _RESULT or message["call_id"] is None or not message["call_id"]:
            return None
        part = frozen_part("tool_result", tool_call_id=message["call_id"], tool_output=content)
        return Message("tool", (part,), None, None, None, UNTIMED)
    if role != "assistant" or keys != _CALLING or not message["tool_calls"]:
        return None
    parts = [frozen_part("text", content)]
    for call in message["tool_calls"]:
        if call.keys() != _CALL or call["id"] is None:
            return None
        text = call["arguments"]
        arguments: Any = read_arguments(text)
        raw = None if write_arguments(arguments) == text else freeze({"arguments": text})
        parts.append(
            frozen_part(
                "tool_call", tool_call_id=call["id"], tool_name=call["name"], tool_args=arguments, provider_raw=raw
            )
        )
    return Message("assistant", tuple(parts), None, None, None, UNTIMED)


_RESULT = {"role", "content", "call_id"}
_CALLING = {"role", "content", "tool_calls"}
_CALL = {"name", "arguments", "id"}
_NO_PLACE = "a wire message has no place for it"
_TOLD_OF_CALLS = frozenset({"arguments", "function", "thoughtSignature", "thought_signature"})  # of a provider's block
_SIMPLE_ORDER = {"thinking": 0, "text": 1, "refusal": 2, "tool_call": 3}


def told(pieces: Iterator[Piece], ledger: Ledger, name: str, *, own: str = "") -> Iterator[Any]:
    """Give the metadata first (or ABSENT), then each wire message; note what neither has a place for."""
    opened = Session()
    for piece in pieces:
        if piece.__class__ is Entry:
            yield from _said(piece, ledger, name)
        elif isinstance(piece, Opening):
            opened = piece.session
            yield metadata_of(opened, ledger, name, own=own)
        else:
            _note_rest(piece, opened, ledger, name)


def told_as_json(pieces: Iterator[Piece], ledger: Ledger, name: str, *, own: str = "") -> Iterator[Any]:
    """Give the metadata first (or ABSENT), then each wire message as JSON."""
    opened = Session()
    for piece in pieces:
        if piece.__class__ is Entry:
            native = piece.native
            if native is not None and native[0] is USUAL:
                yield native[2].strip() if native[2] is not None else orjson.dumps(native[1])
            else:
                for message in _said(piece, ledger, name):
                    yield dumps(message, ledger)
        elif isinstance(piece, Opening):
            opened = piece.session
            yield metadata_of(opened, ledger, name, own=own)
        else:
            _note_rest(piece, opened, ledger, name)


def write_joined(messages: Iterator[bytes], separator: bytes, sink: Sink, lead: bytes = b"") -> None:
    """Write messages with something between them, a few at a time: that is sooner, and they may be large."""
    while batch := list(islice(messages, 8)):
        sink.write(lead + separator.join(batch))
        lead = separator


def _said(entry: Entry, ledger: Ledger, name: str) -> list[Json]:
    if entry.native is not None and entry.native[0] in (WIRE, USUAL):
        return [entry.native[1]]  # as it came: reading and writing it gives the same
    ledger.unsaid_of_entry(entry, name)
    return _messages(entry, ledger)


def _note_rest(piece: Piece, opened: Session, ledger: Ledger, name: str) -> None:
    match piece:
        case Stray():
            ledger.unsaid_stray(piece, name)
        case Closing(_, _, session):
            ledger.unsaid_heads(piece, name)
            if session is not None and session != opened:
                _late(session, opened, ledger, name)


def _late(session: Session, opened: Session, ledger: Ledger, name: str) -> None:
    for key, value in session_to_dict(session).items():
        if session_to_dict(opened).get(key) != value:
            why = f"it was known only at the end of a file too large to be held, and {name} says it first"
            ledger.lost_of_whole(f"session.{key}", f"the session's {key}", why)


def _messages(entry: Entry, ledger: Ledger) -> list[Json]:
    message = entry.message
    if len(message.parts) == 1 and message.id is None:
        part = message.parts[0]
        if part.type == "text" and part.text is not None and message.role != "tool" and _is_bare(part):
            return [{"role": message.role, "content": part.text}]
    written = [without_raw_bytes(each) for each in encode_message(message, entry.blobs)]
    lost = _blocks_lost(message)
    if lost is None:
        _note_changes(entry, written, ledger)
    for p in lost or ():
        ledger.lost(f"message.parts[{p}].provider_raw", "provider_raw of a tool_call part", _NO_PLACE)
    return written


def _blocks_lost(message: Message) -> list[int] | None:
    """Give the calls whose block of their provider's is lost, if all else certainly reads back as it was; else None."""
    if message.role == "tool":
        if len(message.parts) != 1:
            return None
        part = message.parts[0]
        # An id given to the message would be taken for the call's.
        named = part.tool_call_id is not None or message.id is None
        return (
            []
            if part.type == "tool_result" and part.tool_output.__class__ is str and named and _is_bare(part)
            else None
        )
    place, texts = 0, 0
    lost = []
    for p, part in enumerate(message.parts):
        order = _SIMPLE_ORDER.get(part.type, -1)
        if order < place or part.json is not None or part.blob is not None or (order < 3 and not part.text):
            return None
        if part.provider_raw is not None:
            if order != 3 or not _TOLD_OF_CALLS.isdisjoint(part.provider_raw):
                return None
            lost.append(p)
        if order == 3 and (part.tool_args is None or part.tool_name is None):
            return None
        texts += order == 1
        place = max(order, 1) if order == 2 else order
        if order in (0, 2):
            place = order + 1  # one thought, one refusal: several would be joined
    return lost if texts == 1 else None


def _is_bare(part: Part) -> bool:
    return part.provider_raw is None and part.json is None and part.blob is None


def _note_changes(entry: Entry, written: list[Json], ledger: Ledger) -> None:
    """Read back what was written and note what differs."""
    if len(written) != 1:
        ledger.changed("", "a message with several results", "each result is a message of its own")
        return
    shelf = Shelf()
    try:
        read = decode_message(check_message(written[0]), shelf.store)
    except WeftError as problem:
        raise CodecError(f"this message cannot be written: {problem}", where=ledger.place) from problem
    before, after = _plain(entry.message, entry.blobs), _plain(read, shelf.store)
    if len(before["parts"]) != len(after["parts"]):
        kinds = ", ".join(part["type"] for part in before["parts"]) or "nothing"
        ledger.changed("message.parts", "the parts of a message", f"a wire message holds {kinds} in another way")
        return
    for p, (one, other) in enumerate(zip(before["parts"], after["parts"], strict=True)):
        for key in dict.fromkeys((*one, *other)):
            if one.get(key) != other.get(key):
                note = ledger.lost if key not in other else ledger.changed
                what = f"{key} of a {one['type']} part"
                note(f"message.parts[{p}].{key}", what, _NO_PLACE)
    for key in ("role", "id"):
        if before.get(key) != after.get(key):
            ledger.changed(f"message.{key}", f"the message's {key}", _NO_PLACE)


def _plain(message: Message, blobs: BlobStore) -> Json:
    said: Json = entry_to_dict(Entry("1", message, blobs=blobs))["message"]
    for part in said["parts"]:
        if "blob" in part:
            del part["blob"]["id"]
    return said


def kept_extras(session: Session, own: str) -> Json:
    """Give what the extras hold for a format, if it is an object."""
    extras = session.extras.get(own)
    return thaw(extras) if isinstance(extras, Mapping) else {}
