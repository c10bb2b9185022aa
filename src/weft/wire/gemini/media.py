"""Media: bytes in `inlineData`, or the address of a file in `fileData`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore, media_kind
from weft.canon import EMPTY, Part, freeze, frozen_part
from weft.wire.body import to_base64
from weft.wire.codec import Json
from weft.wire.gemini.keeping import kept, native, opened
from weft.wire.gemini.spelling import find, get
from weft.wire.gemini.way import Way

__all__ = ["decode_file", "decode_inline", "encode_media"]

# Where a file may be named, by hand or by another dialect's words [model.md, section 10].
ADDRESSES = ("file_uri", "uri", "url", "file_url")
OWN_HOSTS = ("https://generativelanguage.googleapis.com/", "gs://")  # nobody else can fetch from here


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_media(part: Part, raw: Mapping[str, Any] | None, blobs: BlobStore, way: Way) -> Json | str:
    """Write media; or say in a few words why it cannot be."""
    if part.blob is not None:
        data = blobs.get_blob(part.blob)
        if way.documents == "text":
            return _document(part.blob.media_type or "application/octet-stream", data)
        return _inline(part, raw, data, way)
    if raw is not None and (find(raw, "fileData") or find(raw, "inlineData")):
        return native(raw, way)
    facts = {**(part.provider_raw or EMPTY), **(part.json or EMPTY)}
    media_type = facts.get("mime_type") or facts.get("media_type")
    if isinstance(facts.get("file_data"), str):
        return _from_text(facts["file_data"], media_type, way)
    for key in ADDRESSES:
        if not isinstance(address := facts.get(key), str):
            continue
        if address.startswith("data:"):
            return _from_text(address, media_type, way)
        if not way.remote:
            return f"{part.type} by address, which is not a base64 data: URL, is not accepted"
        named = {way.spell("fileUri"): address} | ({way.spell("mimeType"): media_type} if media_type else {})
        return {**native(raw, way), way.spell("fileData"): named}
    return f"{part.type} without address, data or blob"


def _inline(part: Part, raw: Mapping[str, Any] | None, data: bytes, way: Way) -> Json:
    block, key, inline = opened(raw, "inlineData", way)
    kind = find(inline, "mimeType") or way.spell("mimeType")
    media_type = part.blob.media_type if part.blob else None
    if media_type or raw is None or not way.as_given:
        inline[kind] = media_type or "application/octet-stream"
    if _bytes_of(inline.get("data")) != data:
        url_safe = (part.json or EMPTY).get("encoding") == "base64url"
        inline["data"] = base64.urlsafe_b64encode(data).decode("ascii") if url_safe else to_base64(data)
    block[key] = inline
    return block


def _from_text(text: str, media_type: Any, way: Way) -> Json | str:
    """Write base64 text, or a data: URL of it, as inline data."""
    if text.startswith("data:"):
        head, comma, text = text[5:].partition(",")
        if not comma or not head.endswith(";base64"):
            return "a data: URL that is not base64 is not accepted"
        media_type = head.removesuffix(";base64") or media_type
    inline = {way.spell("mimeType"): media_type or "application/octet-stream", "data": text}
    return {way.spell("inlineData"): inline}


def _document(media_type: str, data: bytes) -> Json:
    """Write a document of a thread [T-85]."""
    essence = media_type.partition(";")[0].strip().lower()
    if essence.startswith("text/") or essence == "application/json":
        return {"text": data.decode("utf-8", "replace")}
    if essence.startswith("image/") or essence == "application/pdf":
        return {"inline_data": {"mime_type": media_type, "data": to_base64(data)}}
    return {"text": f"[Document: {media_type} - content not directly supported by Gemini]"}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_inline(part: Mapping[str, Any], key: str, inline: Mapping[str, Any], blobs: BlobStore) -> Part:
    """Read bytes; text that is not base64 is kept as given [J-06]."""
    media_type = get(inline, "mimeType")
    media_type = media_type if isinstance(media_type, str) else None
    kind = media_kind(media_type)
    given = inline.get("data")
    data = _bytes_of(given)
    if data is None:
        return frozen_part(kind, provider_raw=kept(part, key, inline))  # kept as given [J-06]
    attributes: Json = {}
    if isinstance(name := get(inline, "displayName"), str):
        attributes["name"] = name
    rest = {field: item for field, item in inline.items() if field != "data"}
    if isinstance(given, str) and to_base64(data) != given:
        if base64.urlsafe_b64encode(data).decode("ascii") == given:
            attributes["encoding"] = "base64url"
        else:
            rest["data"] = given  # without padding, say: the same bytes, but not how we would write them
    return frozen_part(
        kind,
        json=freeze(attributes) if attributes else None,
        blob=blobs.put_blob(data, media_type=media_type, kind=kind),
        provider_raw=kept(part, key, rest),
    )


def _bytes_of(data: Any) -> bytes | None:
    """Read base64 as protobuf's JSON form has it: either alphabet, padded or not. None for anything else."""
    if isinstance(data, bytes):  # the SDK's objects
        return data
    if not isinstance(data, str) or len(data) % 4 == 1:
        return None
    padded = data if len(data) % 4 == 0 else data + "=" * (-len(data) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        pass
    try:
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def decode_file(part: Mapping[str, Any], file: Mapping[str, Any]) -> Part:
    """Read the address of a file; those only Google can fetch from are not `url`s to others."""
    media_type = get(file, "mimeType")
    attributes: Json = {}
    if isinstance(uri := get(file, "fileUri"), str):
        attributes["file_uri" if uri.startswith(OWN_HOSTS) else "url"] = uri
    if isinstance(name := get(file, "displayName"), str):
        attributes["name"] = name
    if isinstance(media_type, str):
        attributes["media_type"] = media_type
    kind = media_kind(media_type if isinstance(media_type, str) else None)
    return frozen_part(kind, json=freeze(attributes) if attributes else None, provider_raw=kept(part))
