"""What a wire message may look like, and complaints that name the place.

A wire message is plain data: `role` and `content`, and optionally `reasoning`, `refusal`, `tool_calls`, `id`,
`call_id`, `name` and `extra`. Optional fields may be null; keys nobody here knows are kept and ignored; any role is
a role [W-1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import CodecError
from weft.wire.codec import Json

__all__ = ["MEDIA", "MEDIA_TEXTS", "check_content", "check_message", "check_messages"]

MEDIA = ("image", "audio", "file")
PART_TYPES = ("text", *MEDIA)
MEDIA_TEXTS = ("format", "file_id", "name", "url")


def check_messages(value: Any, where: str = "messages") -> Sequence[Json]:
    """Give a list of wire messages back if it is one; CodecError names the first place that does not fit [W-2]."""
    for m, message in enumerate(_list(value, where)):
        check_message(message, f"{where}[{m}]")
    messages: Sequence[Json] = value
    return messages


def check_message(value: Any, where: str = "message") -> Json:
    """Give a wire message back if it is one."""
    message = _object(value, where)
    _text(message, "role", where)
    check_content(_needed(message, "content", where), f"{where}.content")
    for key in ("reasoning", "refusal"):
        if message.get(key) is not None:
            check_content(message[key], f"{where}.{key}")
    for key in ("id", "call_id", "name"):
        _optional_text(message, key, where)
    if message.get("tool_calls") is not None:
        for c, call in enumerate(_list(message["tool_calls"], f"{where}.tool_calls")):
            _check_call(call, f"{where}.tool_calls[{c}]")
    return message


def _check_call(value: Any, where: str) -> None:
    call = _object(value, where)
    _text(call, "name", where)
    _text(call, "arguments", where)
    _optional_text(call, "id", where)
    _optional_text(call, "call_id", where)


def check_content(value: Any, where: str) -> None:
    """Complain about content that is neither a string nor a list of parts."""
    if isinstance(value, str):
        return
    if not isinstance(value, (list, tuple)):
        raise _complaint("a string or a list of parts", value, where)
    for p, item in enumerate(value):
        _check_part(item, f"{where}[{p}]")


def _check_part(value: Any, where: str) -> None:
    part = _object(value, where)
    kind = _text(part, "type", where)
    if kind not in PART_TYPES:
        raise CodecError(f"must be one of {', '.join(PART_TYPES)}, not {kind!r}", where=f"{where}.type")
    if kind == "text":
        _text(part, "text", where)
        return
    for key in MEDIA_TEXTS:
        _optional_text(part, key, where)
    data = part.get("data")
    if data is not None and not isinstance(data, (str, bytes)):
        raise _complaint("base64 text or bytes", data, f"{where}.data")


def _needed(value: Json, key: str, where: str) -> Any:
    if key not in value:
        raise CodecError("missing", where=f"{where}.{key}")
    return value[key]


def _text(value: Json, key: str, where: str) -> str:
    found = _needed(value, key, where)
    if not isinstance(found, str):
        raise _complaint("a string", found, f"{where}.{key}")
    return found


def _optional_text(value: Json, key: str, where: str) -> None:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise _complaint("a string", found, f"{where}.{key}")


def _object(value: Any, where: str) -> Json:
    if not isinstance(value, Mapping):
        raise _complaint("an object", value, where)
    return value  # type: ignore[return-value]  # any mapping will do for reading


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise _complaint("a list", value, where)
    return value


def _complaint(wanted: str, value: Any, where: str) -> CodecError:
    found = "null" if value is None else type(value).__name__
    return CodecError(f"must be {wanted}, not {found}", where=where)
