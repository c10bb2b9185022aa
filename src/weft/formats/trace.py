"""Trace records: recorded calls, a line each, with the request and the response as they crossed the wire.

Each record is one conversation: the messages of the request, then the answer. Which dialect they are in, the path
tells, else the bodies. A record that is no conversation is kept as a stray line (trace-and-cook.md, section 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from weft import jsontext
from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Message,
    Opening,
    Piece,
    Reply,
    RunSpec,
    Session,
    Stray,
    Transcript,
    thaw,
)
from weft.errors import CodecError, UsageError, WeftError
from weft.formats.entryblobs import EntryBlobs
from weft.formats.format import Format, carrying
from weft.formats.jsonfeed import keys_of
from weft.formats.proof import proven
from weft.formats.source import Head, Source
from weft.wire import (
    CROSSING,
    FAITHFUL,
    ODDITIES,
    Dialect,
    dialect,
    dialect_of,
    forms_of,
    put_forms,
    recorded_reply,
)

__all__ = ["FORMAT", "is_conversation", "read", "read_record"]

_BARE = ("provider", "endpoint", "model", "instructions", "tools")


# -- reading -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read records: a line each, or one JSON list of them, or one record."""
    for number, record in _records(source):
        yield from read_record(record, number)


def _records(source: Source) -> Iterator[tuple[int, Any]]:
    if source.head.is_array:
        feed = source.json_feed()
        yield from enumerate(feed.elements(), 1)
        feed.end()
        return
    if source.head.is_object and not source.head.is_lines and source.head.start.partition(b"\n")[0].strip() == b"{":
        yield 1, source.json()  # one record, over several lines
        return
    yield from source.json_lines()


def is_conversation(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a call of a model, in a dialect known here."""
    return _dialect(record) is not None


def read_record(record: Any, number: int) -> Iterator[Piece]:
    """Read one record as a conversation; `number` is its line."""
    if not isinstance(record, dict):
        raise CodecError(f"a record is an object, not {type(record).__name__}", where=f"line {number}")
    kept = {key: value for key, value in record.items() if key not in ("id", "request", "response")}
    spoken = _dialect(record)
    blobs = InMemoryBlobStore(hashed=True)
    decoded = None
    if spoken is not None and isinstance(record.get("request"), Mapping):
        try:
            decoded = spoken.decode_request(record["request"], blobs)
        except (WeftError, *ODDITIES):
            decoded = None
    if decoded is None or spoken is None:
        yield Opening(Session(id=_text(record.get("id"))))
        yield Stray("trace", jsontext.dumps_text(record))
        yield Closing()
        return
    facts = {**kept, "dialect": spoken.name}
    if forms := forms_of(record["request"], spoken.encode_request(decoded.messages, decoded.spec, blobs).body):
        facts["forms"] = forms
    yield Opening(_session(record, decoded.spec, facts))
    before: tuple[str, ...] = ()
    count = 0
    for message in decoded.messages:
        count += 1
        yield Entry(str(count), _untimed(message), before, blobs=blobs)
        before = (str(count),)
    response = record.get("response")
    reply = _reply(response, spoken, blobs)
    if reply is not None and reply.message is not None:
        count += 1
        yield Entry(
            str(count),
            _untimed(reply.message),
            before,
            reply.model,
            reply.finish_reason,
            reply.usage,
            {"trace": {"response": response}},
            blobs,
        )
    elif response is not None:
        yield Stray("trace", jsontext.dumps_text({"response": response}))
    yield Closing()


def _dialect(record: Mapping[str, Any]) -> Dialect | None:
    try:
        name = dialect_of(record)
    except (WeftError, *ODDITIES):
        return None
    return dialect(name) if name else None


def _session(record: Mapping[str, Any], spec: RunSpec, kept: dict[str, Any]) -> Session:
    plain = RunSpec("", "", "")
    said = {each.name: getattr(spec, each.name) for each in fields(RunSpec) if each.name not in _BARE}
    parameters = {key: value for key, value in said.items() if value != getattr(plain, key)}
    return Session(
        id=_text(record.get("id")),
        created=_moment(record.get("timestamp")),
        provider=spec.provider or None,
        model=spec.model or None,
        instructions=spec.instructions,
        tools=spec.tools,
        parameters=parameters,
        extras={"trace": {**kept, "endpoint": spec.endpoint}},
    )


def _reply(response: Any, spoken: Dialect, blobs: BlobStore) -> Reply | None:
    """Read a response, whole or as recorded lines of a stream; None if no one answered."""
    if not isinstance(response, Mapping) or "raw" in response:
        return None
    try:
        return recorded_reply(response, spoken, blobs)
    except (WeftError, *ODDITIES):
        return None


def _untimed(message: Message) -> Message:
    return Message(message.role, message.parts, message.id, message.provider, message.turn_id, UNTIMED)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


# -- writing -----------------------------------------------------------------------------------------------------


def encode(transcript: Transcript) -> bytes:
    """Write a conversation as one record: what was said before the last answer is the request."""
    session = transcript.session
    for stray in transcript.strays:
        if stray.format == "trace" and not transcript.entries:
            return stray.text.encode() + b"\n"
    kept = thaw(session.noted("trace"))
    spoken = _spoken(kept.pop("dialect", None), session)
    endpoint = kept.pop("endpoint", None) or spoken.endpoint
    forms = kept.pop("forms", None) or {}
    entries = list(transcript.entries)
    last = entries.pop() if entries and entries[-1].message.role == "assistant" else None
    blobs = EntryBlobs(transcript)
    policy = FAITHFUL if session.extras.get("trace") else CROSSING
    spec = session.run_spec(session.provider or spoken.provider, endpoint, session.model)
    try:
        body = spoken.encode_request([entry.message for entry in entries], spec, blobs, policy).body
        put_forms(body, forms)
        response = _response(last, spoken, blobs, policy) if last else None
        for stray in transcript.strays:
            response = jsontext.loads(stray.text).get("response") if stray.format == "trace" else response
        record = {
            "id": session.id or "",
            "timestamp": None if session.created is None else session.created.isoformat(),
            "duration_ms": 0,
            "request": body,
            "response": response,
            "error": None,
        }
        return jsontext.dumps({**record, **kept}) + b"\n"
    except (WeftError, ValueError, TypeError) as problem:
        raise CodecError(f"this cannot be said to {spoken.name}: {problem}", where="entries") from problem


def _spoken(name: Any, session: Session) -> Dialect:
    for candidate in (name, session.provider):
        try:
            return dialect(str(candidate))
        except UsageError:
            continue
    return dialect("openai_chat")


def _response(entry: Entry, spoken: Dialect, blobs: BlobStore, policy: Any) -> Any:
    """Give the response as it was recorded, if it still says the same; else as the dialect would say it."""
    given = entry.extras.get("trace")
    recorded = thaw(given.get("response")) if isinstance(given, Mapping) else None
    if recorded is not None:
        reply = _reply(recorded, spoken, InMemoryBlobStore(hashed=True))
        if reply is not None and reply.message is not None and _untimed(reply.message) == _untimed(entry.message):
            return recorded
    reply = Reply((entry.message,), entry.message.id, entry.model, entry.finish_reason, usage=entry.usage)
    return spoken.encode_response(reply, blobs, policy).body


def sniff(head: Head) -> float:
    """Objects with a request and a response; the first request may be longer than this look, and mostly is."""
    first = head.first
    if not first and head.ends(".jsonl", ".ndjson"):  # a line that cannot be read costs itself: the next one tells
        first = next((found for line in head.data.split(b"\n") if (found := keys_of(line))), {})
    if "request" not in first:
        return 0.0
    is_cut = first["request"] is None and next(reversed(first)) == "request"
    if "response" not in first and not (is_cut and first.keys() & {"timestamp", "duration_ms"}):
        return 0.0
    return 0.9 if "duration_ms" in first or "timestamp" in first else 0.4


FORMAT = Format(
    name="trace",
    about="recorded calls: requests and responses as they crossed the wire",
    aliases=("llm-path", "records", "raw"),
    extensions=(".trace.jsonl",),
    carries=carrying(
        "many model usage finish system tools options thinking signatures calls images files blocks",
        "title extras",
    ),
    notes={
        "title": "the id of the record",
        "usage": "of the last answer",
        "extras": "fields of the record that are not known here",
    },
    read=read,
    write=proven("trace", encode, read),
    sniff=sniff,
)
