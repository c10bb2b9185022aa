"""Contexts as plain JSON containers and back.

Kept apart from the types because it is long and dull; `Context.to_dict` and `Context.from_dict` are the doors.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson

from weft.blobs import BlobReference, BlobStore
from weft.canon.freezing import Frozen, freeze, thaw
from weft.canon.misfit import (
    Misfit,
    each,
    mapping,
    named,
    nonempty_text,
    optional_int,
    optional_mapping,
    optional_text,
    reading,
    required_int,
    shown,
)
from weft.canon.part import ROLES, Message, Part, frozen_part
from weft.canon.usage import Cursor, Usage
from weft.errors import BlobIntegrityError, BlobNotFoundError, ContextError

__all__ = [
    "context_from_dict",
    "context_to_dict",
    "message_to_dict",
    "part_from_dict",
    "part_to_dict",
    "read_message",
    "read_time",
    "read_usage",
    "ref_to_dict",
    "usage_to_dict",
    "write_time",
]

Payloads = dict[str, tuple[BlobReference, bytes]]

_CURSOR_FIELDS = ("last_response_id", "conversation_id", "session_id")


def context_to_dict(
    messages: tuple[Message, ...], cursor: Cursor, usage_log: tuple[Usage, ...], store: BlobStore | None
) -> dict[str, Any]:
    """Write a Context; with a `store`, its blobs' bytes too."""
    written: dict[str, Any] = {
        "messages": [message_to_dict(message) for message in messages],
        "cursor": {name: getattr(cursor, name) for name in _CURSOR_FIELDS},
        "usage_log": [usage_to_dict(usage) for usage in usage_log],
    }
    if store is not None:
        written["blob_payloads"] = _payloads(messages, store)
    return written


def context_from_dict(
    value: object, *, has_store: bool
) -> tuple[tuple[Message, ...], Cursor, tuple[Usage, ...], Payloads | None]:
    """Read a Context's fields, and the bytes that came with them or None; they must not, if it has a store already."""
    return reading("Context", partial(_read_context, has_store=has_store), value)


def part_to_dict(part: Part, thaw: Callable[[Any], Any] = thaw) -> dict[str, Any]:
    """Write a Part: its type, and the fields that are set [M-14]; frozen ones as `thaw` says."""
    written: dict[str, Any] = {"type": part.type}
    if part.text is not None:
        written["text"] = part.text
    if part.json is not None:
        written["json"] = thaw(part.json)
    if part.blob is not None:
        written["blob"] = ref_to_dict(part.blob)
    if part.tool_call_id is not None:
        written["tool_call_id"] = part.tool_call_id
    if part.tool_name is not None:
        written["tool_name"] = part.tool_name
    if part.tool_args is not None:
        written["tool_args"] = thaw(part.tool_args)
    if part.tool_output is not None:
        written["tool_output"] = thaw(part.tool_output)
    if part.provider_raw is not None:
        written["provider_raw"] = thaw(part.provider_raw)
    return written


def message_to_dict(message: Message) -> dict[str, Any]:
    """Write a Message: every field [M-14]."""
    return {
        "role": message.role,
        "parts": [part_to_dict(part) for part in message.parts],
        "id": message.id,
        "provider": message.provider,
        "turn_id": message.turn_id,
        "timestamp": write_time(message.timestamp),
    }


def write_time(moment: datetime) -> str:
    """Write a moment as ISO-8601."""
    if moment.tzinfo is not UTC:
        return moment.isoformat()
    try:
        return orjson.dumps(moment)[1:-1].decode()  # the same text, in a third of the time
    except TypeError:  # a kind of datetime that someone derived
        return moment.isoformat()


def usage_to_dict(usage: Usage, thaw: Callable[[Any], Any] = thaw) -> dict[str, Any]:
    """Write a Usage: every field, the provider's account as `thaw` says."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "provider_usage": thaw(usage.provider_usage),
    }


def ref_to_dict(ref: BlobReference) -> dict[str, Any]:
    """Write a blob reference [M-15]."""
    return {"id": ref.id, "sha256": ref.sha256, "media_type": ref.media_type, "kind": ref.kind, "size": ref.size}


def _payloads(messages: tuple[Message, ...], store: BlobStore) -> list[dict[str, Any]]:
    refs: dict[str, BlobReference] = {}
    for message in messages:
        for part in message.parts:
            if part.blob is not None:
                refs.setdefault(part.blob.id, part.blob)
    written = []
    for ref in refs.values():
        try:
            data = store.get_blob(ref)
        except (BlobNotFoundError, BlobIntegrityError) as error:
            raise ContextError(f"the bytes of blob {ref.id} cannot be included: {error}") from error
        written.append({"ref": ref_to_dict(ref), "data_b64": base64.b64encode(data).decode("ascii")})
    return written


# -- reading ---------------------------------------------------------------------------------------------------


def _read_context(
    value: Any, *, has_store: bool
) -> tuple[tuple[Message, ...], Cursor, tuple[Usage, ...], Payloads | None]:
    data = mapping(value)
    payloads = data.get("blob_payloads")
    if payloads is not None and has_store:
        raise Misfit("blob_payloads", "is there, so blob_store must not be given as well", ValueError)
    messages = each("messages", _list(data.get("messages", ()), "messages"), read_message)
    cursor = named("cursor", _read_cursor, data.get("cursor"))
    usage_log = each("usage_log", _list(data.get("usage_log", ()), "usage_log"), read_usage)
    if payloads is not None:
        read = each("blob_payloads", _list(payloads, "blob_payloads"), _read_payload)
        payloads = {ref.id: (ref, data) for ref, data in read}
    return tuple(messages), cursor, tuple(usage_log), payloads


def _list(value: Any, name: str) -> list[Any] | tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return value
    raise Misfit(name, f"must be a list, not {shown(value)}")


def read_message(value: Any, untimed: datetime | None = None) -> Message:
    """Read a Message; one without a timestamp is of now, or `untimed` if that is given."""
    data = value if type(value) is dict else mapping(value)
    get = data.get
    role = get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise Misfit("role", f"must be one of {', '.join(sorted(ROLES))}, not {shown(role)}")
    parts = get("parts")
    if not isinstance(parts, (list, tuple)):
        raise Misfit("parts", f"must be a list, not {type(parts).__name__}")
    return Message(
        role,  # type: ignore[arg-type]  # one of ROLES, as was just checked
        tuple(each("parts", parts, part_from_dict)),
        optional_text(get("id"), "id"),
        optional_text(get("provider"), "provider"),
        optional_text(get("turn_id"), "turn_id"),
        read_time(get("timestamp")) or untimed,
    )


def part_from_dict(value: Any) -> Part:
    """Read a Part, freezing as the constructor would."""
    data = value if type(value) is dict else mapping(value)
    get = data.get
    kind = nonempty_text(get("type"), "type")
    text = optional_text(get("text"), "text")
    if len(data) <= 2 and text is not None:  # a plain text part: most parts of most conversations
        return frozen_part(kind, text)
    blob = get("blob")
    return frozen_part(
        kind,
        text,
        json=_frozen_mapping(get("json"), "json"),
        blob=None if blob is None else named("blob", _read_ref, blob),
        tool_call_id=optional_text(get("tool_call_id"), "tool_call_id"),
        tool_name=optional_text(get("tool_name"), "tool_name"),
        tool_args=_frozen_mapping(get("tool_args"), "tool_args"),
        tool_output=_frozen(get("tool_output"), "tool_output"),
        provider_raw=_frozen_mapping(get("provider_raw"), "provider_raw"),
    )


def _frozen_mapping(value: Any, name: str) -> Frozen | None:
    return None if value is None else _frozen(mapping(value, name), name)


def _frozen(value: Any, name: str) -> Any:
    try:
        return freeze(value)
    except ValueError as error:  # it contains itself, so it was never JSON
        raise Misfit(name, "contains itself", ValueError) from error


def _read_ref(value: Any) -> BlobReference:
    data = mapping(value)
    return BlobReference(
        nonempty_text(data.get("id"), "id"),
        nonempty_text(data.get("sha256"), "sha256"),
        optional_text(data.get("media_type"), "media_type"),
        nonempty_text(data.get("kind"), "kind"),
        required_int(data.get("size"), "size"),
    )


def read_time(value: Any) -> datetime | None:
    """Read a timestamp; one without a zone is in UTC, none at all is now [M-19]."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Misfit("timestamp", f"must be an ISO-8601 string or null, not {shown(value)}")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise Misfit("timestamp", f"must be an ISO-8601 string, not {shown(value)}", ValueError) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read_cursor(value: Any) -> Cursor:
    data: Mapping[str, Any] = {} if value is None else mapping(value)
    return Cursor(*(optional_text(data.get(name), name) for name in _CURSOR_FIELDS))


def read_usage(value: Any) -> Usage:
    """Read a Usage."""
    data = mapping(value)
    return Usage(
        optional_int(data.get("input_tokens"), "input_tokens"),
        optional_int(data.get("output_tokens"), "output_tokens"),
        optional_int(data.get("total_tokens"), "total_tokens"),
        optional_mapping(data.get("provider_usage"), "provider_usage") or {},
    )


def _read_payload(value: Any) -> tuple[BlobReference, bytes]:
    data = mapping(value)
    ref = named("ref", _read_ref, data.get("ref"))
    text = data.get("data_b64")
    if not isinstance(text, str):
        raise Misfit("data_b64", f"must be a string, not {type(text).__name__}")
    try:
        payload = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misfit("data_b64", f"is not base64: {error}", ValueError) from error
    actual = hashlib.sha256(payload).hexdigest()
    if actual != ref.sha256:
        raise Misfit("data_b64", f"has sha256 {actual}, but ref says {ref.sha256}", ValueError)
    return ref, payload
