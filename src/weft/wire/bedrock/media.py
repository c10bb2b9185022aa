"""Media of the Converse API: images, documents, audio and video, named by a short format instead of a media type.

Bytes are base64 text in the REST body and plain bytes in boto3's arguments; both are read, and the policy says
which is written. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from weft.blobs import BlobReference, BlobStore
from weft.canon import EMPTY, Part, Role, freeze, frozen_part, thaw
from weft.wire.body import from_base64, is_plain, to_base64
from weft.wire.codec import Json, Policy

__all__ = ["KINDS", "as_policy", "as_text", "decode_media", "encode_media"]

# The block a kind of part travels in, and back.
MEMBER = {"image": "image", "file": "document", "audio": "audio", "video": "video"}
KINDS = {member: kind for kind, member in MEMBER.items()}

_OFFICE = "application/vnd.openxmlformats-officedocument"
# Formats by block. Where two share a media type the first is written; the block is kept for the others.
FORMATS: dict[str, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {
        "txt": "text/plain",
        "pdf": "application/pdf",
        "md": "text/markdown",
        "html": "text/html",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OFFICE}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "opus": "audio/opus",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mka": "audio/x-matroska",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
        "m4a": "audio/mp4",
        "mkv": "audio/x-matroska",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
        "x-aac": "audio/aac",
    },
    "video": {
        "mp4": "video/mp4",
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
}
FORMAT_OF = {
    member: {media_type: name for name, media_type in reversed(formats.items())} for member, formats in FORMATS.items()
}
MAX_NAME = 200  # characters of a document's name


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_media(part: Part, role: Role, raw: Mapping[str, Any] | None, blobs: BlobStore, policy: Policy) -> Json | str:
    """Write an image, file, audio or video as its block, or say why it cannot be sent."""
    member = MEMBER[part.type]
    guarded = raw is not None and isinstance(raw.get("guardContent"), Mapping)
    kept = _inner(raw, member)
    if kept is None and member == "document" and role != "user" and policy.merge:
        return f"part type {part.type} is not supported for role {role}"
    facts = {**(part.provider_raw or EMPTY), **(part.json or EMPTY)}
    if part.blob is not None:
        source = _source(part.blob, kept, blobs, policy)
    elif kept is not None and (kept.get("source") is not None or not policy.merge):
        return as_policy(thaw(raw), policy)  # what canon could not take apart goes back whole
    elif isinstance(uri := facts.get("s3_uri") or facts.get("url"), str) and uri.startswith("s3://"):
        source = {"s3Location": {"uri": uri}}
    elif isinstance(facts.get("url"), str):
        return f"{part.type} by address: converse takes bytes or an s3:// location"
    else:
        return f"{part.type} without id, data or blob" if member == "document" else f"{part.type} without blob"
    block: Json = thaw(kept) if kept is not None else {}
    media_type = part.blob.media_type if part.blob is not None else facts.get("media_type") or facts.get("mime_type")
    if kept is None or _media_type(member, block) != media_type:
        block["format"] = _format(member, media_type)
    if member == "document" and (kept is None or "name" in kept or policy.merge):
        block["name"] = _name(facts, kept)
    block["source"] = source
    written: Json = thaw(raw or EMPTY)
    (written["guardContent"] if guarded else written)[member] = block
    return written


def _inner(raw: Mapping[str, Any] | None, member: str) -> Mapping[str, Any] | None:
    """Give the media block inside a kept one, through the guard around it if there is one."""
    if raw is None:
        return None
    guard = raw.get("guardContent")
    block = (guard if isinstance(guard, Mapping) else raw).get(member)
    return block if isinstance(block, Mapping) else None


def _source(blob: BlobReference, kept: Mapping[str, Any] | None, blobs: BlobStore, policy: Policy) -> Json:
    data = blobs.get_blob(blob)
    if kept is not None and "text" in (kept.get("source") or EMPTY):
        return {"text": data.decode("utf-8", "replace")}
    return {"bytes": data if policy.raw_bytes else to_base64(data)}


def _media_type(member: str, media: Mapping[str, Any]) -> str | None:
    """Tell the media type of a block; None for a format that is missing or new."""
    name = media.get("format")
    if name is None and "text" in (media.get("source") or EMPTY):
        return "text/plain"
    return FORMATS[member].get(name) if isinstance(name, str) else None


def _format(member: str, media_type: Any) -> str:
    """Name the format; what has no name goes as the first of its kind (png, txt), as model.md section 10 has it."""
    known = FORMAT_OF[member]
    base = media_type.partition(";")[0].strip().lower() if isinstance(media_type, str) else ""
    return known.get(base) or next(iter(FORMATS[member]))


def _name(facts: Mapping[str, Any], kept: Mapping[str, Any] | None) -> str:
    given = next((facts[key] for key in ("name", "filename", "title") if isinstance(facts.get(key), str)), "")
    if kept is not None and isinstance(held := kept.get("name"), str) and (given in ("", held)):
        return held
    return re.sub(r"[^0-9A-Za-z]", "_", given)[:MAX_NAME] or "document"


def as_policy(block: Json, policy: Policy) -> Json:
    """Put the bytes of a block that was kept whole into the form the caller wants."""
    return _swap(block, _to_bytes if policy.raw_bytes else _to_text)


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_media(block: Mapping[str, Any], member: str, blobs: BlobStore) -> Part:
    """Read a media block: its bytes into the store, everything else kept beside them."""
    guarded = isinstance(block.get("guardContent"), Mapping)
    media = block["guardContent"][member] if guarded else block[member]
    kind = KINDS[member]
    attributes = {"name": media["name"]} if isinstance(media.get("name"), str) else {}
    held = media.get("source")
    source = held if isinstance(held, Mapping) else EMPTY
    media_type = _media_type(member, media) if held is source else None
    data = None
    kept: Json = {}
    match source:
        case {"bytes": bytes() | bytearray() as given} if is_plain(source, "bytes"):
            data = bytes(given)
        case {"bytes": given} if is_plain(source, "bytes"):
            data = from_base64(given)
        case {"text": str(text)} if is_plain(source, "text"):
            data, kept = _encoded(text), {"source": {"text": ""}}
        case {"s3Location": {"uri": str(uri)}}:
            attributes["s3_uri"] = uri
    if data is None:
        return frozen_part(kind, json=freeze(attributes) or None, provider_raw=freeze(as_text(block)))
    rest = {key: value for key, value in media.items() if key != "source"} | kept
    exact = set(rest) == {"format"} and media_type is not None and FORMAT_OF[member][media_type] == rest["format"]
    if exact and not guarded and len(block) == 1:
        raw = None
    else:
        raw = freeze(
            {**block, "guardContent": {**block["guardContent"], member: rest}} if guarded else {**block, member: rest}
        )
    blob = blobs.put_blob(data, media_type=media_type, kind=kind)
    return frozen_part(kind, json=freeze(attributes) or None, blob=blob, provider_raw=raw)


def _encoded(text: str) -> bytes | None:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return None


def as_text(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write the bytes of a block as base64, so that what is kept is JSON."""
    return _swap(dict(block), _to_text)


def _to_text(value: Any) -> Any:
    return to_base64(bytes(value)) if isinstance(value, (bytes, bytearray)) else value


def _to_bytes(value: Any) -> Any:
    data = from_base64(value)
    return value if data is None else data


def _swap(block: Json, change: Callable[[Any], Any], *, inside: bool = False) -> Json:
    """Change the form of the bytes in the places where Converse has any: media, guards, results, sealed reasoning."""
    for member, value in block.items():
        if not isinstance(value, Mapping):
            continue
        if member in KINDS and isinstance(source := value.get("source"), Mapping) and "bytes" in source:
            block[member] = {**value, "source": {**source, "bytes": change(source["bytes"])}}
        elif member == "reasoningContent" and "redactedContent" in value:
            block[member] = {**value, "redactedContent": change(value["redactedContent"])}
        elif member == "guardContent" and not inside:
            block[member] = _swap(dict(value), change, inside=True)
        elif member == "toolResult" and not inside and isinstance(content := value.get("content"), (list, tuple)):
            changed = [
                _swap(dict(item), change, inside=True) if isinstance(item, Mapping) else item for item in content
            ]
            block[member] = {**value, "content": changed}
    return block
