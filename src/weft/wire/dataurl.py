"""Data URLs: bytes inside a URL, as several dialects send pictures and files."""

from __future__ import annotations

from weft.wire.body import from_base64, to_base64

__all__ = ["data_url", "media_type_of", "read_data_url"]


def data_url(media_type: str | None, data: bytes) -> str:
    """Write bytes as a data URL."""
    return f"data:{media_type or 'application/octet-stream'};base64,{to_base64(data)}"


def read_data_url(url: str) -> tuple[str, bytes | None]:
    """Cut a data URL into what stands before the bytes, and the bytes; None for any other or an odd one [J-06].

    Only a URL that would be written back the same is read: one with parameters, or without a media type, is odd.
    """
    if not url.startswith("data:"):
        return "", None
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64") or head.count(";") != 1 or "/" not in head:
        return "", None
    return head + comma, from_base64(data)


def media_type_of(before: str) -> str | None:
    """Give the media type in what stands before the bytes."""
    return before.removeprefix("data:").removesuffix(";base64,") or None
