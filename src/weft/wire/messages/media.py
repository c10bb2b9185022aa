"""Pictures, sound and files of wire messages: bytes go to the blob store, the rest stays beside them.

`url`, `file_id`, `name` and `format` are kept in `provider_raw` under these names. How the bytes were given (base64,
bytes, a data URL) is remembered in `json["wire"]`, so that a part goes back as it came; media that came from a
provider is written as a data URL if it is a picture, else as data with its media type in `format`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore, media_type_of
from weft.canon import EMPTY, Part, freeze, frozen_part
from weft.wire.body import to_base64
from weft.wire.codec import Json
from weft.wire.messages.overlay import difference, laid_over, marks_of
from weft.wire.messages.schema import MEDIA, MEDIA_TEXTS

__all__ = ["bytes_of", "encode_media", "read_media"]

DEFAULT_FORMAT = {"image": "image/png", "audio": "audio/wav"}
# Other words for the same facts, as hand-made parts and other dialects have them.
SYNONYMS = {"url": ("url", "file_url", "file_uri"), "name": ("name", "filename"), "file_id": ("file_id",)}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_media(part: Part, blobs: BlobStore) -> Json:
    """Write an image, audio, video or file part as a content part."""
    marks = marks_of(part)
    return laid_over(_plain(part, marks, blobs), marks)


def _plain(part: Part, marks: Mapping[str, Any], blobs: BlobStore) -> Json:
    raw: Mapping[str, Any] = part.provider_raw or EMPTY
    facts = {**raw, **(part.json or EMPTY)}
    written: Json = {"type": part.type if part.type in MEDIA else "file"}
    for key, synonyms in SYNONYMS.items():
        found = next((facts[name] for name in synonyms if isinstance(facts.get(name), str)), None)
        if found is not None:
            written[key] = found
    if isinstance(raw.get("format"), str):
        written["format"] = raw["format"]
    if part.blob is None:
        return written
    data = blobs.get_blob(part.blob)
    form = marks.get("form", "url" if part.type == "image" else "typed")
    if form == "url":
        head = marks.get("head", f"data:{part.blob.media_type or 'image/png'};base64")
        written["url"] = f"{head},{to_base64(data)}"
    else:
        written["data"] = data if form == "bytes" else to_base64(data)
    if form == "typed" and part.blob.media_type:
        written["format"] = part.blob.media_type
    return written


# -- wire to canon ---------------------------------------------------------------------------------------------


def read_media(item: Mapping[str, Any], blobs: BlobStore) -> Part:
    """Read an image, audio or file part."""
    kind = item["type"]
    raw = {key: item[key] for key in MEDIA_TEXTS if item.get(key) is not None}
    marks: Json = {}
    data = item.get("data")
    payload = bytes_of(data)
    media_type = _media_type(kind, item)
    if payload is not None:
        marks["form"] = "bytes" if isinstance(data, bytes) else "data"
    elif (url := item.get("url")) is not None:
        head, comma, text = url.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            payload = bytes_of(text)
        if payload is not None:
            marks |= {"form": "url", "head": head}
            media_type = head[5:].partition(";")[0] or media_type
            del raw["url"]
    blob = blobs.put_blob(payload, media_type=media_type, kind=kind) if payload is not None else None
    provider_raw = freeze(raw) if raw else None
    part = frozen_part(kind, json=_wire(marks), blob=blob, provider_raw=provider_raw)
    if over := difference(_plain(part, marks, blobs), item):
        part = frozen_part(kind, json=_wire({**marks, **over}), blob=blob, provider_raw=provider_raw)
    return part


def _wire(marks: Json) -> Any:
    return freeze({"wire": marks}) if marks else None


def bytes_of(data: Any) -> bytes | None:
    """Read data: bytes as they are, base64 of any common kind (wrapped, URL-safe, unpadded); None if it is neither."""
    if data is None or isinstance(data, bytes):
        return data
    text = "".join(data.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _media_type(kind: str, item: Mapping[str, Any]) -> str | None:
    """Tell the media type: `format` is one, or the last half of one; a file may tell by its name."""
    given = item.get("format")
    if not given:
        by_name = media_type_of(item["name"]) if kind == "file" and item.get("name") else None
        return by_name or DEFAULT_FORMAT.get(kind)
    if "/" in given:
        return str(given)
    return media_type_of(f"x.{given}") or "application/octet-stream" if kind == "file" else f"{kind}/{given}"
