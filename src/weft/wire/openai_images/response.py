"""Image responses: a list of images, each as base64 or at an address, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, Reply, Usage, freeze, frozen_part, thaw
from weft.wire.body import as_body, blobs_or_new, mapping_at, media_part, to_base64
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy

__all__ = ["NAME", "PROVIDER", "decode_image", "decode_response", "encode_image", "encode_response", "read_usage"]

NAME = "openai_images"
PROVIDER = "openai"
COUNTS = ("input_tokens", "output_tokens", "total_tokens")
FORMATS = {
    "png": "image/png",
    "webp": "image/webp",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error body is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    data = body.get("data")
    if not isinstance(data, (list, tuple)):
        return Reply(raw=body, finished=False)
    blobs = blobs_or_new(blobs)
    parts = [
        decode_image(mapping_at(entry, f"data[{i}]"), body.get("output_format"), blobs) for i, entry in enumerate(data)
    ]
    return Reply(
        messages=(Message("assistant", tuple(parts), provider=provider or PROVIDER),) if parts else (),
        finish_reason="stop",
        usage=read_usage(body.get("usage")),
        raw={key: value for key, value in body.items() if key != "data"},
    )


def encode_response(
    reply: Reply,
    blobs: BlobStore | None = None,
    policy: Policy = FAITHFUL,  # noqa: ARG001  # the signature all dialects share
) -> Encoded:
    """Write a reply as a response body: its images; anything else a model said has no place here."""
    out = Encoded()
    if not reply.messages and "error" in reply.raw:
        out.body.update(thaw(reply.raw))
        return out
    blobs = blobs_or_new(blobs)
    out.body.update(thaw(reply.raw) if "created" in reply.raw else {"created": 0})
    data: list[Json] = []
    for p, part in enumerate(reply.message.parts if reply.message else ()):
        entry = encode_image(part, blobs)
        if isinstance(entry, str):
            out.lose_part(0, p, entry)
        else:
            data.append(entry)
    if data or reply.finish_reason is not None:  # a body without `data` gave no reason
        out.body["data"] = data
    return out


def encode_image(part: Part, blobs: BlobStore) -> Json | str:
    """Write one image; or say in a few words why it cannot be."""
    if part.type != "image":
        return f"an image response has no place for {part.type}"
    own = part.provider_raw is not None and "type" not in part.provider_raw
    entry: Json = thaw(part.provider_raw) if own else {}
    if part.blob is not None:
        entry["b64_json"] = to_base64(blobs.get_blob(part.blob))
    elif isinstance(url := (part.json or EMPTY).get("url"), str):
        entry["url"] = url
    return entry if entry or own else "image without blob"


def decode_image(entry: Mapping[str, Any], form: Any, blobs: BlobStore) -> Part:
    """Read one image: its bytes into the store, or where they are; the entry stays with it [M-53]."""
    media_type = FORMATS.get(form, "image/png") if isinstance(form, str) else "image/png"
    rest = {key: value for key, value in entry.items() if key != "b64_json"}
    part = media_part(entry.get("b64_json"), media_type, blobs, kind="image", raw=lambda: rest)
    if part is not None:
        return part
    url = entry.get("url")
    attributes = freeze({"url": url}) if isinstance(url, str) else None
    return frozen_part("image", json=attributes, provider_raw=freeze(entry))


def read_usage(value: Any) -> Usage | None:
    """Read the account of tokens."""
    if not isinstance(value, Mapping):
        return None
    count, sent, total = (_count(value.get(name)) for name in COUNTS)
    return Usage(count, sent, total, value or EMPTY)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
