"""Images, audio, video and files of Chat Completions: blocks that name their bytes by URL, or hold them.

https://platform.openai.com/docs/api-reference/chat/create. Bytes travel as data URLs (pictures, video), as base64
beside a format (audio) or as either (files). A block that says more than its bytes is kept in `provider_raw` with
the bytes cut off: the `data:...;base64,` before them stays, to say in which form they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.blobs import media_type_of as media_type_by_name
from weft.canon import EMPTY, Part, freeze, frozen_part, thaw
from weft.errors import UnsupportedFeatureError
from weft.wire.body import from_base64, is_plain, to_base64
from weft.wire.codec import Json, Policy
from weft.wire.dataurl import data_url, media_type_of, read_data_url

__all__ = ["URLS", "decode_audio", "decode_file", "decode_url", "encode_media"]

# Blocks that are a URL: their type, which is also the key of the URL, and our word for what is there.
URLS = {"image_url": "image", "video_url": "video", "audio_url": "audio", "document_url": "file"}
SPOKEN = {"wav": "audio/wav", "mp3": "audio/mpeg"}
FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
PROVIDER_NAMES = {"openai": "OpenAI", "xai": "xAI", "deepseek": "DeepSeek", "openrouter": "OpenRouter"}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_media(part: Part, raw: Mapping[str, Any] | None, blobs: BlobStore, policy: Policy, who: str) -> Json | str:
    """Write a part with media, over its kept block if it is one of ours; or say why it cannot be."""
    facts = {**(part.provider_raw or EMPTY), **(part.json or EMPTY)}
    kept = raw.get("type") if raw is not None else None
    raw = None if kept is None else raw  # a field of the message, not a block of its content
    if policy.text_documents != "send" and part.blob is not None:
        written = _document(part, facts, blobs, policy, who)
        if written is not None:
            return written
    if kept in URLS or (kept is None and part.type == "image"):
        return _url_block(part, raw, facts, blobs)
    if kept == "input_audio" or (kept is None and part.type == "audio"):
        return _audio(part, raw, facts, blobs)
    if kept == "file" or part.type == "file":
        return _file(part, raw, facts, blobs, policy)
    return f"{part.type} is not taken by chat.completions"


def _document(part: Part, facts: Json, blobs: BlobStore, policy: Policy, who: str) -> Json | None:
    """Write a stored document as threads.md section 15 has it; None for pictures, which go as everywhere."""
    media_type = (part.blob.media_type if part.blob else None) or "application/octet-stream"
    data = blobs.get_blob(part.blob) if part.blob is not None else b""
    if media_type.startswith("image/"):
        return None
    if media_type == "application/pdf":
        name = facts.get("filename") or facts.get("name") or "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": data_url(media_type, data)}}
    if policy.text_documents == "inline" and (media_type.startswith("text/") or media_type == "application/json"):
        return {"type": "text", "text": data.decode("utf-8", "replace")}
    raise UnsupportedFeatureError(
        f"{PROVIDER_NAMES.get(who, who.capitalize())} does not support document type: {media_type}"
    )


def _url_block(part: Part, raw: Mapping[str, Any] | None, facts: Json, blobs: BlobStore) -> Json | str:
    kind = "image_url" if raw is None else raw["type"]
    if part.blob is not None:
        url: Any = data_url(part.blob.media_type, blobs.get_blob(part.blob))
    elif isinstance(facts.get("url"), str):
        url = facts["url"]
    elif raw is not None:
        return _thawed(raw)
    else:
        return f"{part.type} without blob or URL"
    if raw is not None and isinstance(raw[kind], str):
        return {**_thawed(raw), kind: url}
    held: Json = {"url": url}
    if part.type == "image" and isinstance(facts.get("detail"), str):
        held["detail"] = facts["detail"]
    if raw is None:
        return {"type": kind, kind: held}
    kept = _thawed(raw)
    return {**kept, kind: {**kept[kind], **held} if isinstance(kept[kind], dict) else held}


def _audio(part: Part, raw: Mapping[str, Any] | None, facts: Json, blobs: BlobStore) -> Json | str:
    if part.blob is None:
        return _thawed(raw) if raw is not None else "audio without blob"
    data = to_base64(blobs.get_blob(part.blob))
    if raw is not None:
        kept = _thawed(raw)
        return {**kept, "input_audio": {**kept["input_audio"], "data": data}}
    media_type = part.blob.media_type or f"audio/{facts.get('format') or 'wav'}"
    spoken = FORMATS.get(media_type)
    if spoken is None:
        return f"audio of type {media_type} is not taken by chat.completions, only wav and mp3"
    return {"type": "input_audio", "input_audio": {"data": data, "format": spoken}}


def _file(part: Part, raw: Mapping[str, Any] | None, facts: Json, blobs: BlobStore, policy: Policy) -> Json | str:
    if raw is not None:
        kept = _thawed(raw)
        if part.blob is not None:
            before = kept["file"].get("file_data") or ""
            kept["file"]["file_data"] = before + to_base64(blobs.get_blob(part.blob))
        return kept
    file: Json = {"file_id": part.text} if part.text else {}
    file |= {key: facts[key] for key in ("file_id", "file_data", "filename") if isinstance(facts.get(key), str)}
    if part.blob is not None and "file_id" not in file and "file_data" not in file:
        data = blobs.get_blob(part.blob)
        file["file_data"] = to_base64(data) if policy.bare_base64 else data_url(part.blob.media_type, data)
        file.setdefault("filename", facts.get("name") or "upload.bin")
    if file:
        return {"type": "file", "file": file}
    return "file by URL is not taken by chat.completions" if facts.get("url") else "file without id, data or blob"


def _thawed(raw: Mapping[str, Any]) -> Json:
    thawed: Json = thaw(raw)
    return thawed


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_url(block: Mapping[str, Any], kind: str, blobs: BlobStore, *, keep: bool) -> Part | None:
    """Read a block that is a URL; None if it has none. `keep` asks for the block in any case [M-53]."""
    held = block[kind]
    url = held if isinstance(held, str) else held.get("url") if isinstance(held, Mapping) else None
    if not isinstance(url, str):
        return None
    plain = kind == "image_url" and not isinstance(held, str) and is_plain(block, "type", kind)
    attributes: Json = {}
    if isinstance(held, Mapping):
        if isinstance(held.get("detail"), str):
            attributes["detail"] = held["detail"]
        plain = plain and is_plain(held, "url", "detail")
    if kind == "document_url" and isinstance(block.get("document_name"), str):
        attributes["name"] = block["document_name"]
    before, payload = read_data_url(url)
    if payload is None:
        attributes["url"] = url
        raw = None if plain and not keep else freeze(block)
        return frozen_part(URLS[kind], json=freeze(attributes), provider_raw=raw)
    media_type = media_type_of(before)
    blob = blobs.put_blob(payload, media_type=media_type, kind=URLS[kind])
    raw = None if plain and not keep else freeze({**block, kind: _with(held, "url", before)})
    return frozen_part(URLS[kind], json=freeze(attributes) or None, blob=blob, provider_raw=raw)


def decode_audio(block: Mapping[str, Any], held: Mapping[str, Any], blobs: BlobStore) -> Part:
    """Read audio that was said to the model."""
    payload = from_base64(held.get("data"))
    if payload is None:
        return frozen_part("audio", provider_raw=freeze(block))
    spoken = held.get("format")
    media_type = SPOKEN.get(spoken, f"audio/{spoken}") if isinstance(spoken, str) else None
    plain = (
        media_type in FORMATS
        and spoken in SPOKEN
        and is_plain(block, "type", "input_audio")
        and is_plain(held, "data", "format")
    )
    raw = None if plain else freeze({**block, "input_audio": {k: v for k, v in held.items() if k != "data"}})
    return frozen_part("audio", blob=blobs.put_blob(payload, media_type=media_type, kind="audio"), provider_raw=raw)


def decode_file(block: Mapping[str, Any], held: Mapping[str, Any], blobs: BlobStore) -> Part:
    """Read a file: by id, or by its data."""
    attributes: Json = {"name": held["filename"]} if isinstance(held.get("filename"), str) else {}
    if isinstance(held.get("file_id"), str):
        attributes["file_id"] = held["file_id"]
    data = held.get("file_data")
    before, payload = read_data_url(data) if isinstance(data, str) else ("", None)
    if payload is None:
        before, payload = "", from_base64(data)
    if payload is None:
        if isinstance(data, str) and data.startswith(("https://", "http://")):
            attributes["url"] = data
        return frozen_part("file", json=freeze(attributes) or None, provider_raw=freeze(block))
    media_type = media_type_of(before) or media_type_by_name(attributes.get("name", ""))
    blob = blobs.put_blob(payload, media_type=media_type, kind="file")
    raw = freeze({**block, "file": {**held, "file_data": before}})
    return frozen_part("file", json=freeze(attributes) or None, blob=blob, provider_raw=raw)


def _with(held: Any, key: str, value: str) -> Any:
    return value if isinstance(held, str) else {**held, key: value}
