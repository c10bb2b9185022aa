"""Turn meta as columns, and back.

Nearly every turn says the same few things in its meta. Those become columns: a role, an options delta, a bookmark, some
flags; and only what is left over is kept as JSON. That halves what a short turn costs on disk, and resolving a thread
need not parse a meta per turn. Meta that does not fit this form exactly, such as a hand-written `continues` that is
a string, is kept whole beside the columns (`Flag.VERBATIM`), so that what was stored always comes back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft import jsontext
from weft.store.base import Columns, Flag

__all__ = ["JSON_TYPE", "is_storable", "merge_options", "meta_of", "model_of", "split_meta"]

JSON_TYPE = "application/json"
_IN_COLUMNS = frozenset({"role", "content_type", "options", "head", "continues", "cache"})
_MAX_DEPTH = 100  # of options; deeper ones are replaced whole rather than followed until the stack ends


def split_meta(meta: Mapping[str, Any], parent_ids: Sequence[str]) -> Columns:
    """Turn a meta into columns; `parent_ids` are what `continues` was resolved to."""
    keys = meta.keys()
    role = meta.get("role")
    head = meta.get("head")
    options = meta.get("options")
    continues = meta.get("continues")
    flags = 0
    if meta.get("cache") is True:
        flags |= Flag.CACHE
    if meta.get("type") == "document":
        flags |= Flag.DOCUMENT
    elif meta.get("content_type") == JSON_TYPE:
        flags |= Flag.JSON
    fits = (
        isinstance(role, str)
        and is_storable(role)
        and (is_storable(head) if head.__class__ is str else "head" not in keys)
        and (options.__class__ is dict or "options" not in keys)
        and (continues == parent_ids if continues.__class__ is list else "continues" not in keys and not parent_ids)
        and (flags & Flag.CACHE or "cache" not in keys)
        and "inherited" not in keys
    )
    if not fits:
        delta = _effective_options(meta)
        return Columns(
            role if isinstance(role, str) and is_storable(role) else "user",
            jsontext.dumps_text(delta) if delta else None,
            head if isinstance(head, str) and is_storable(head) else None,
            flags | Flag.VERBATIM,
            jsontext.dumps_text(meta),
        )
    if "options" not in keys:
        flags |= Flag.NO_OPTIONS
    if "continues" not in keys:
        flags |= Flag.NO_CONTINUES
    left = keys - _IN_COLUMNS
    rest = {key: meta[key] for key in meta if key in left} if left else {}
    if "content_type" in keys and not flags & Flag.JSON:
        rest["content_type"] = meta["content_type"]
    return Columns(
        str(role),
        jsontext.dumps_text(options) if options else None,
        head,
        flags,
        jsontext.dumps_text(rest) if rest else None,
    )


def meta_of(columns: Columns, parent_ids: Sequence[str]) -> dict[str, Any]:
    """Give back the meta that `split_meta` took apart."""
    extra = jsontext.loads(columns.extra) if columns.extra is not None else {}
    flags = columns.flags
    if flags & Flag.VERBATIM:
        return dict(extra)
    meta: dict[str, Any] = {"role": columns.role}
    if flags & Flag.JSON:
        meta["content_type"] = JSON_TYPE
    if not flags & Flag.NO_OPTIONS:
        meta["options"] = jsontext.loads(columns.options) if columns.options else {}
    if columns.head is not None:
        meta["head"] = columns.head
    if not flags & Flag.NO_CONTINUES:
        meta["continues"] = list(parent_ids)
    if flags & Flag.CACHE:
        meta["cache"] = True
    meta.update(extra)
    return meta


def is_storable(text: str) -> bool:
    """Tell whether a text can be a value in both databases: PostgreSQL has no NUL, UTF-8 no lone surrogates."""
    return (text.isascii() and "\0" not in text) or not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)


def model_of(meta: Mapping[str, Any]) -> str | None:
    """Read which model answered, if the turn is an answer."""
    message = meta.get("message")
    if message is None:
        return None
    model = message.get("model") if isinstance(message, Mapping) else None
    return model if isinstance(model, str) and model else None


def _effective_options(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Read this turn's delta; `inherited` is the coming name of `options` and wins over it."""
    merged: dict[str, Any] = {}
    for name in ("options", "inherited"):
        value = meta.get(name)
        if isinstance(value, Mapping):
            merged = merge_options(merged, value)
    return merged


def merge_options(left: Mapping[str, Any], right: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Merge two option records: the right one wins, objects are merged key by key [T-43, T-44]."""
    merged = dict(left)
    for key, value in right.items():
        merged[key] = _merge(merged[key], value, depth) if key in merged else value
    return merged


def _merge(left: Any, right: Any, depth: int) -> Any:
    if depth < _MAX_DEPTH:
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            return merge_options(left, right, depth + 1)
        if isinstance(left, list) and isinstance(right, list) and _all_objects(left) and _all_objects(right):
            both = [merge_options(old, new, depth + 1) for old, new in zip(left, right, strict=False)]
            longer = left if len(left) > len(right) else right
            return both + longer[len(both) :]
    return right


def _all_objects(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Mapping) for item in items)
