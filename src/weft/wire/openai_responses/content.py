"""What stands inside a message item: texts, refusals, images, files, and blocks that are new.

https://platform.openai.com/docs/api-reference/responses. The same text is `input_text` from a user and
`output_text` from the model; images and files name their bytes by data URL, address or id in one flat block.
A message's `phase` (commentary or answer) is a property of its texts in canon, so it travels with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weft.blobs import BlobReference, BlobStore, media_type_of
from weft.canon import EMPTY, Frozen, Part, freeze, frozen_part, output_text, thaw
from weft.errors import WireError
from weft.wire.body import is_plain, media_part, to_base64
from weft.wire.codec import Json, Policy
from weft.wire.dataurl import data_url

__all__ = ["IMAGES", "NAME", "TEXT", "decode_block", "encode_block", "is_content", "phase_of"]

NAME = "openai_responses"
TEXT = {"assistant": "output_text"}  # all other roles say input_text
TEXTS = ("input_text", "output_text", "text", "summary_text")
IMAGES = ("input_image", "output_image")
IMAGE_DATA = ("b64_json", "image_base64", "result")  # where servers put the bytes of an output_image
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
SUFFIXES = {"plain": "txt", "jpeg": "jpg"}


def is_content(part: Part) -> bool:
    """Tell whether a part stands inside a message item; the others are items themselves."""
    match part.type:
        case "text" | "refusal" | "json" | "file" | "audio" | "video":
            return True
        case "image":
            return (part.provider_raw or EMPTY).get("type") != "image_generation_call"
        case "provider":
            return (part.json or EMPTY).get("inside") == "message"
        case _:
            return False


def phase_of(part: Part) -> str | None:
    """Give the phase of the message a text came in."""
    phase = part.provider_raw.get("phase") if part.provider_raw is not None else None
    return phase if isinstance(phase, str) else None


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_block(part: Part, role: str, blobs: BlobStore, policy: Policy) -> Json | str:
    """Write one part as a content block; or say in a few words why it cannot be."""
    raw = part.provider_raw
    match part.type:
        case "text":
            if not part.text and raw is None and policy.joiner is not None:
                return "empty text"
            text = {"type": TEXT.get(role, "input_text"), "text": part.text or ""}
            return _over(raw, text, policy) if raw is not None and _is_own_text(raw, policy) else text
        case "refusal" if role == "assistant":
            refusal = {"type": "refusal", "refusal": part.text or ""}
            return refusal if raw is None or raw.get("type") != "refusal" else _over(raw, refusal, policy)
        case "refusal":
            return {"type": "input_text", "text": part.text or ""}
        case "json" if part.json is not None:
            return {"type": TEXT.get(role, "input_text"), "text": output_text(part.json)}
        case "image":
            return _image(part, role, blobs)
        case "file" if role != "assistant" or _is(raw, "input_file"):
            return _file(part, blobs, policy)
        case "audio" if raw is not None and raw.get("type") == "input_audio" and not policy.typed:
            return _audio(part, raw, blobs)
        case "provider" if raw is not None:
            block: Json = thaw(raw)
            return block
        case _:
            return f"part type {part.type} is not supported for role {role}"


def _is_own_text(raw: Mapping[str, Any], policy: Policy) -> bool:
    """Tell whether a kept text is one of this API's; a bare `text` may be anyone's, and is only said back as heard."""
    kind = raw.get("type")
    return kind in TEXTS and (kind != "text" or policy.joiner is None)


def _is(raw: Mapping[str, Any] | None, kind: str) -> bool:
    return raw is not None and raw.get("type") == kind


def _over(raw: Mapping[str, Any], block: Json, policy: Policy) -> Json:
    """Lay what canon says over the block that was kept; a type that is unusual for the role stays as it was."""
    kept: Json = thaw(raw)
    kept.pop("phase", None)
    if policy.joiner is None:
        block = {**block, "type": kept["type"]}
    return {**kept, **block}


def _image(part: Part, role: str, blobs: BlobStore) -> Json | str:
    raw = part.provider_raw
    facts = {**(raw or EMPTY), **(part.json or EMPTY)}
    own = raw is not None and raw.get("type") in IMAGES
    if role == "assistant" and not own:
        return "part type image is not supported for role assistant"
    block: Json = thaw(raw) if own else {"type": "input_image"}
    key = next((key for key in IMAGE_DATA if block.get("type") == "output_image" and key in block), "image_url")
    if part.blob is not None:
        data = to_base64(blobs.get_blob(part.blob))
        media_type = part.blob.media_type or "application/octet-stream"
        block[key] = data if key != "image_url" else f"data:{media_type};base64,{data}"
    elif isinstance(facts.get("file_id"), str):
        block["file_id"] = facts["file_id"]
    elif isinstance(address := facts.get("url") or facts.get("image_url"), str):
        block["image_url"] = address
    elif not own:
        return "image without blob"
    if isinstance(facts.get("detail"), str):
        block["detail"] = facts["detail"]
    return block


def _file(part: Part, blobs: BlobStore, policy: Policy) -> Json | str:
    """Write a file by the first of: id, data, address, name, bytes [model.md, section 10]."""
    raw = part.provider_raw or EMPTY
    facts = {**raw, **(part.json or EMPTY)}
    own = raw.get("type") == "input_file"
    block: Json = thaw(raw) if own else {"type": "input_file"}
    file_id = part.text or facts.get("file_id")
    address = facts.get("url") or facts.get("file_url")
    name = facts.get("filename") or facts.get("name")
    if own and part.blob is not None and policy.joiner is None:  # said back: whatever else it has is in the block
        block["file_data"] = _file_data(part.blob, blobs, bare="file_data" in raw)
    elif isinstance(file_id, str) and file_id:
        block["file_id"] = file_id
    elif not own and isinstance(facts.get("file_data"), str):
        block["file_data"] = facts["file_data"]
        if isinstance(name, str):
            block["filename"] = name
    elif isinstance(address, str) and address:
        block["file_url"] = address
    elif part.blob is not None:
        # The API wants a data URL; the adapters' chapter promises bare base64.
        block["file_data"] = _file_data(part.blob, blobs, bare=policy.bare_base64 and not own)
        if isinstance(name, str) and name:
            block["filename"] = name
        elif not own:
            block["filename"] = _upload_name(part.blob.media_type)
    elif isinstance(facts.get("filename"), str):
        block["filename"] = facts["filename"]
    elif not own:
        return "file without id, data or blob"
    return block


def _file_data(blob: BlobReference, blobs: BlobStore, *, bare: bool) -> str:
    data = blobs.get_blob(blob)
    return to_base64(data) if bare else data_url(blob.media_type, data)


def _upload_name(media_type: str | None) -> str:
    suffix = (media_type or "").partition("/")[2].lower()
    suffix = SUFFIXES.get(suffix, suffix)
    return f"upload.{suffix}" if suffix.isalnum() else "upload.bin"


def _audio(part: Part, raw: Mapping[str, Any], blobs: BlobStore) -> Json:
    block: Json = thaw(raw)
    if part.blob is not None:
        block["input_audio"] = {**block["input_audio"], "data": to_base64(blobs.get_blob(part.blob))}
    return block


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_block(value: Any, role: str, phase: str | None, blobs: BlobStore, where: str) -> tuple[Part, Json]:
    """Read one content block: a part, and what is left over that the message's layout must keep."""
    if isinstance(value, str):
        return frozen_part("text", value), {"string": True}
    if not isinstance(value, Mapping):
        raise WireError(f"must be an object, not {type(value).__name__}", where=where)
    match value:
        case {"type": "input_text" | "output_text" | "text" | "summary_text" as kind, "text": str(text)}:
            return _decode_text("text", text, value, kind == TEXT.get(role, "input_text"), "text", phase)
        case {"type": "refusal", "refusal": str(text)}:
            return _decode_text("refusal", text, value, role == "assistant", "refusal", phase)
        case {"type": "input_image" | "output_image"}:
            return _decode_image(value, blobs), {}
        case {"type": "input_file"}:
            return _decode_file(value, blobs), {}
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}} if form in AUDIO:
            rest = {**value, "input_audio": {k: v for k, v in value["input_audio"].items() if k != "data"}}
            part = media_part(data, AUDIO[form], blobs, kind="audio", raw=lambda: rest)
            return part or frozen_part("audio", provider_raw=freeze(value)), {}
        case {"type": "input_text" | "output_text" | "refusal" as kind}:
            raise WireError(f"{kind} block lacks its text: {sorted(map(str, value))}", where=where)
    return _unknown_block(value), {}


def _decode_text(
    kind: str, text: str, block: Mapping[str, Any], usual: bool, key: str, phase: str | None
) -> tuple[Part, Json]:
    """Read a text. What is empty on nearly every text (annotations, logprobs) is layout; what says something stays."""
    if usual and phase is None and is_plain(block, "type", key):
        return frozen_part(kind, text), {}
    empty = {name: value for name, value in block.items() if value == [] and name not in ("type", key)}
    telling = not usual or phase is not None or not is_plain(block, "type", key, *empty)
    raw: Frozen | None = None
    if telling:
        kept = {name: value for name, value in block.items() if name not in empty}
        raw = freeze(kept if phase is None else {**kept, "phase": phase})
    return frozen_part(kind, text, provider_raw=raw), empty


def _unknown_block(block: Mapping[str, Any]) -> Part:
    return frozen_part("provider", json=freeze({"dialect": NAME, "inside": "message"}), provider_raw=freeze(block))


def _decode_image(block: Mapping[str, Any], blobs: BlobStore) -> Part:
    attributes = {key: block[key] for key in ("detail", "file_id") if isinstance(block.get(key), str)}
    for key in ("image_url", *IMAGE_DATA):
        given = block.get(key)
        media_type, data = _data_url(given) if key == "image_url" else (block.get("media_type") or "image/png", given)
        if not isinstance(data, str) or not isinstance(media_type, str):
            continue
        rest = {name: value for name, value in block.items() if name != key}
        if key != "image_url":
            rest[key] = None  # says which of the names it had
        plain = is_plain(rest, "type", "detail") and block["type"] == "input_image"
        raw: Callable[[], Json] | None = None if plain else partial(dict, rest)
        part = media_part(data, media_type, blobs, kind="image", raw=raw, attributes=attributes)
        if part is not None:
            return part
    if isinstance(block.get("image_url"), str) and not block["image_url"].startswith("data:"):
        attributes["url"] = block["image_url"]
    return frozen_part("image", json=freeze(attributes) or None, provider_raw=freeze(block))


def _decode_file(block: Mapping[str, Any], blobs: BlobStore) -> Part:
    attributes: Json = {}
    for key, ours in (("filename", "name"), ("file_id", "file_id"), ("file_url", "url")):
        if isinstance(block.get(key), str):
            attributes[ours] = block[key]
    media_type, data = _data_url(block.get("file_data"))
    rest = {name: value for name, value in block.items() if name != "file_data"}
    if data is None:
        media_type, data = media_type_of(attributes.get("name", "")), block.get("file_data")
        rest["file_data"] = None  # says that there was no data URL around the bytes
    if data:
        part = media_part(data, media_type, blobs, kind="file", raw=lambda: rest, attributes=attributes)
        if part is not None:
            return part
    return frozen_part("file", json=freeze(attributes) or None, provider_raw=freeze(block))


def _data_url(value: Any) -> tuple[str | None, str | None]:
    """Take a data URL apart if it has nothing but a type and base64; anything else is kept as given [J-06]."""
    if not isinstance(value, str) or not value.startswith("data:"):
        return None, None
    media_type, separator, data = value[5:].partition(";base64,")
    return (media_type, data) if separator and media_type and ";" not in media_type else (None, None)
