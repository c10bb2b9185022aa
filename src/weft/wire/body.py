"""Small questions that every codec asks of a body, and of the parts it turns into.

Reading: `need` and friends raise a WireError that names the place. Keeping: what canon has no field for stays in
`provider_raw` (a block), in an annotation part (a message) or in `extra_body` (a request), so that writing it back
in the same dialect gives the same body.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

from weft.blobs import BlobStore, InMemoryBlobStore, media_kind
from weft.canon import EMPTY, Frozen, Message, Part, RunSpec, ToolSpecification, freeze, frozen_part, remembered, thaw
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.codec import Json

__all__ = [
    "annotation",
    "annotation_of",
    "as_body",
    "blobs_or_new",
    "closed_schema",
    "deep_merge",
    "from_base64",
    "is_failed",
    "is_plain",
    "listed",
    "maker",
    "mapping_at",
    "media_part",
    "need",
    "optional_text",
    "origin",
    "residue",
    "same",
    "to_base64",
    "tools_of",
    "unknown",
]


_ANTHROPIC: Frozen = freeze({"provider": "anthropic", "dialect": "anthropic"})


def as_body(value: Any, what: str = "body") -> Mapping[str, Any]:
    """Take a body as a mapping: as it is, or from an SDK object [M-42]."""
    if isinstance(value, Mapping):
        return value
    for name in ("model_dump", "to_dict"):
        dump = getattr(value, name, None)
        if callable(dump):
            dumped = dump()
            if isinstance(dumped, Mapping):
                return dumped
    raise TypeError(
        f"{what} must be a mapping, or an object with model_dump() or to_dict(), not {type(value).__name__}"
    )


def blobs_or_new(blobs: BlobStore | None) -> BlobStore:
    """Give the store, or a new one for a caller who brought none."""
    return InMemoryBlobStore() if blobs is None else blobs


def need(body: Mapping[str, Any], key: str, at: str = "", *, table: Mapping[str, Any] | None = None) -> Any:
    """Take a field that must be there; with a `table`, translate its value."""
    place = f"{at}.{key}" if at else key
    if key not in body:
        found = ", ".join(sorted(map(str, body))[:12]) or "nothing"
        raise WireError(f"missing; found {found}", where=place)
    value = body[key]
    if table is None:
        return value
    if not isinstance(value, str) or value not in table:
        shown = repr(value[:40]) if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise WireError(f"must be one of {', '.join(table)}, not {shown}", where=place)
    return table[value]


def mapping_at(value: Any, where: str) -> Mapping[str, Any]:
    """Take an object."""
    if isinstance(value, Mapping):
        return value
    raise WireError(f"must be an object, not {type(value).__name__}", where=where)


def listed(value: Any, where: str) -> Sequence[Any]:
    """Take a list; null is an empty one."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return value
    raise WireError(f"must be a list, not {type(value).__name__}", where=where)


def optional_text(value: Any, where: str) -> str | None:
    """Take a text or null."""
    if value is None or isinstance(value, str):
        return value
    raise WireError(f"must be a string, not {type(value).__name__}", where=where)


def is_plain(block: Mapping[str, Any], *keys: str) -> bool:
    """Tell whether a block says nothing but `keys`; null says nothing."""
    return all(key in keys or value is None for key, value in block.items())


def unknown(block: Any, *, dialect: str) -> Part:
    """Keep a block nobody here understands, whole. `json` says whose it is."""
    raw = block if isinstance(block, Mapping) else {"value": block}
    return frozen_part("provider", json=freeze({"dialect": dialect}), provider_raw=freeze(raw))


def origin(provider: str, dialect: str, model: str | None) -> Frozen:
    """Say who produced a part that only they will take back: the `json` of every thinking part."""
    made: Json = {"provider": provider, "dialect": dialect}
    if model:
        made["model"] = model
    frozen: Frozen = freeze(made)
    return frozen


def maker(part: Part) -> Mapping[str, Any]:
    """Read back who produced a part; empty for one made by hand.

    Stored turns keep Anthropic's blocks as they came and nothing beside them: there, the shape says whose it is.
    """
    made = part.json or EMPTY
    raw = part.provider_raw
    if raw is None or "dialect" in made or raw.get("type") not in ("thinking", "redacted_thinking"):
        return made
    return _ANTHROPIC if "signature" in raw or "data" in raw else made


def annotation(attributes: Mapping[str, Any]) -> tuple[Part, ...]:
    """Carry what a message has and Message lacks, as one last part; nothing if there is nothing [R-11]."""
    return (frozen_part("annotation", json=freeze(attributes)),) if attributes else ()


def annotation_of(message: Message) -> Mapping[str, Any]:
    """Read a message's annotation back."""
    if message.parts and message.parts[-1].type == "annotation":
        return message.parts[-1].json or EMPTY
    return EMPTY


def is_failed(part: Part) -> bool:
    """Tell whether a tool result says that the tool failed."""
    return part.provider_raw is not None and part.provider_raw.get("is_error") is True


def residue(block: Mapping[str, Any], *known: str) -> Json:
    """Give the fields of a block other than the known ones, leaving out nulls."""
    return {key: value for key, value in block.items() if key not in known and value is not None}


def deep_merge(target: Json, extra: Mapping[str, Any]) -> Json:
    """Merge `extra` into `target`: mappings recursively, all else replaced [M-44]."""
    todo = [(target, extra)]
    for into, more in todo:  # grows while it is walked: however deep, it needs no stack
        for key, value in more.items():
            held = into.get(key)
            if isinstance(held, dict) and isinstance(value, Mapping):
                todo.append((held, value))
            else:
                into[key] = thaw(value)
    return target


def closed_schema(schema: Any, *, only_missing: bool = False) -> Any:
    """Copy a JSON Schema with `additionalProperties: false` on every object node.

    With `only_missing`, nodes that say something about it already keep it.
    """
    copied = thaw(schema)
    todo = [copied]
    for node in todo:  # grows while it is walked
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            kind = node.get("type")
            is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
            if is_object and not (only_missing and "additionalProperties" in node):
                node["additionalProperties"] = False
            todo.extend(node.values())
    return copied


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, however deep they are nested."""
    try:
        return one is other or bool(one == other)
    except RecursionError:
        return _same_deep(one, other)


def _same_deep(one: Any, other: Any) -> bool:
    todo = [(one, other)]
    while todo:
        one, other = todo.pop()
        if one is other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            todo.extend((one[key], other[key]) for key in one)
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            if len(one) != len(other):
                return False
            todo.extend(zip(one, other, strict=True))
        elif is_dataclass(one) and not isinstance(one, type) and one.__class__ is other.__class__:
            todo.extend((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
        elif one != other:
            return False
    return True


def tools_of(spec: RunSpec, form: str, write: Callable[[ToolSpecification], Json]) -> list[Json]:
    """Write a spec's tools in one `form`: plain containers of the caller's own, every time.

    Every request of a run carries the same tools. They are written once; after that their JSON text is read, which is
    several times faster than copying frozen schemas.
    """
    texts: dict[str, bytes | None] = remembered(spec, _no_texts)
    text = texts.get(form)
    if text is not None:
        return orjson.loads(text)  # type: ignore[no-any-return]  # a list, as it was written
    tools = [write(tool) for tool in spec.tools]
    if form not in texts:
        texts[form] = _exact_text(tools)
    return tools


def _no_texts(_spec: RunSpec) -> dict[str, bytes | None]:
    return {}


def _exact_text(tools: list[Json]) -> bytes | None:
    try:
        text = dumps(tools)
        return text if orjson.loads(text) == tools else None
    except (ValueError, TypeError, RecursionError):
        return None


def to_base64(data: bytes) -> str:
    """Write bytes as standard base64."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: Any) -> bytes | None:
    """Read base64 that would be written back the same; None for anything else, which is then kept as given [J-06]."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(text) % 4 == 0 and to_base64(data) == text else None


def media_part(
    data: Any,
    media_type: str | None,
    blobs: BlobStore,
    *,
    kind: str | None = None,
    raw: Callable[[], Mapping[str, Any]] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Part | None:
    """Make a part of base64 media, its bytes in the store; None if the text is not base64.

    `raw` gives the block without its data, for the parts that have more to say than their bytes; `attributes`
    (a name, a detail) are in our words and travel to other dialects.
    """
    payload = from_base64(data)
    if payload is None:
        return None
    kind = kind or media_kind(media_type)
    return frozen_part(
        kind,
        json=freeze(attributes) if attributes else None,
        blob=blobs.put_blob(payload, media_type=media_type, kind=kind),
        provider_raw=freeze(raw()) if raw else None,
    )
