"""Content blocks: from what a caller gives to what is stored, and from stored bytes back.

A turn's payload is a JSON list of blocks, or the bytes of a file. Blocks of known types are checked when a caller
writes them as JSON; unknown ones pass unchanged, because providers add new ones without notice.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from weft import jsontext
from weft.errors import InvalidContentError
from weft.store import Flag, TurnRow

__all__ = ["blocks_from", "blocks_of", "document_block", "extra_of", "read_json"]

Blocks = list[dict[str, Any]]

_DIGITS = bytes.maketrans(b"0123456789", b"0" * 10)
_LONG_NUMBER = b"0" * 19
_fast_loads = orjson.loads


def read_json(data: bytes) -> Any:
    """Read a payload; the exact reader is needed only where a number may be longer than 64 bits."""
    try:
        value = _fast_loads(data)
    except orjson.JSONDecodeError:
        return jsontext.loads(data)
    if value.__class__ is list and len(value) == 1:
        block = value[0]
        if block.__class__ is dict and len(block) == 2 and block.get("text").__class__ is str:
            return value  # one block of text, as most are: there is no number in it
    return jsontext.loads(data) if _LONG_NUMBER in data.translate(_DIGITS) else value


def blocks_from(content: Any, *, is_json: bool) -> Blocks:
    """Turn what a caller gives into blocks [T-15, T-16]."""
    if is_json:
        return _json_blocks(content)
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, (list, tuple)) and content and all(isinstance(item, str) for item in content):
        return [{"type": "text", "text": item} for item in content]
    raise InvalidContentError(
        f"invalid content: a text or a list of texts is needed, not {_named(content)} (blocks are given with json=True)"
    )


def _json_blocks(content: Any) -> Blocks:
    if isinstance(content, (str, bytes)):
        try:
            content = jsontext.loads(content)
        except ValueError as error:
            raise InvalidContentError(f"invalid content: not JSON ({error})") from error
    blocks = [content] if isinstance(content, Mapping) else content
    if not isinstance(blocks, (list, tuple)):
        raise InvalidContentError(f"invalid content: a block or a list of blocks is needed, not {_named(content)}")
    for index, block in enumerate(blocks):
        if not isinstance(block, Mapping):
            raise InvalidContentError(f"invalid content: block {index} is {_named(block)}, not an object")
        _check(block, index)
    return list(blocks)


def _check(block: Mapping[str, Any], index: int) -> None:
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        raise InvalidContentError(f"invalid content: block {index} has no type")
    for name, (wanted, is_needed) in _FIELDS.get(kind, {}).items():
        if name not in block:
            if is_needed:
                raise InvalidContentError(f"invalid content: block {index} ({kind}) has no {name}")
        elif not wanted(block[name]):
            raise InvalidContentError(f"invalid content: {name} of block {index} ({kind}) is {_named(block[name])}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_objects(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value)


def _is_source(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    if value["type"] != "base64":
        return True  # a provider's own kind of source, such as a URL or a file id
    if not isinstance(value.get("media_type"), str) or not isinstance(value.get("data"), str):
        return False
    try:
        base64.b64decode(value["data"], validate=True)
    except ValueError:
        return False
    return True


_FIELDS: dict[str, dict[str, tuple[Callable[[Any], bool], bool]]] = {
    "text": {"text": (_is_text, True)},
    "document": {"source": (_is_source, True)},
    "tool_use": {"id": (_is_text, False), "name": (_is_text, True), "input": (_is_object, True)},
    "tool_result": {
        "name": (_is_text, True),
        "content": (_is_objects, True),
        "tool_use_id": (_is_text, False),
        "is_error": (lambda value: isinstance(value, bool), False),
    },
}


def extra_of(row: TurnRow) -> Mapping[str, Any]:
    """Read what a row's meta says beyond its columns."""
    extra: Mapping[str, Any] = jsontext.loads(row.extra) if row.extra is not None else {}
    return extra


def blocks_of(row: TurnRow) -> Blocks | None:
    """Give a stored turn's blocks, or None if it has no content (section 5, frame to turn)."""
    data = row.data
    if not data:
        return None
    if row.flags & Flag.DOCUMENT:
        return [document_block(row, data)]
    if row.flags & Flag.JSON:
        try:
            blocks = read_json(data)
        except ValueError as error:
            raise InvalidContentError(f"the content of turn {row.id} is not JSON: {error}") from error
        return blocks if blocks.__class__ is list else [blocks]
    return [{"type": "text", "text": data.decode("utf-8", "replace")}]


def document_block(row: TurnRow, data: bytes) -> dict[str, Any]:
    """Give a document turn's one block."""
    media_type = extra_of(row).get("content_type")
    if not isinstance(media_type, str) or not media_type:
        raise InvalidContentError(f"document turn {row.id} has no content_type")
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
    return {"type": "document", "source": source}


def texts_of(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Join the texts of blocks, a blank line between."""
    return "\n\n".join(str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block)


def _named(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "an empty list" if not value else "a list that is not all of that kind"
    return f"a {type(value).__name__}"
