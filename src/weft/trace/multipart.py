"""Uploads in parts (multipart/form-data), for the recording: fields as text, files as blobs [X-28]."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.trace.capture import Keep

__all__ = ["Part", "read_multipart"]

_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,200})"|([^\s;,"]{1,200}))', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*(name|filename)\*?=(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))', re.IGNORECASE)
_LONGEST_FIELD = 1 << 16


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name, the file's name if it has one, its type, its bytes."""

    name: str
    filename: str | None
    media_type: str
    data: bytes

    def as_json(self, keep: Keep | None) -> dict[str, Any]:
        """Give the part as a record holds it."""
        said: dict[str, Any] = {"name": self.name}
        if self.filename is not None:
            said["filename"] = self.filename
        if self.media_type:
            said["content_type"] = self.media_type
        if self.filename is None and len(self.data) <= _LONGEST_FIELD:
            try:
                return {**said, "text": self.data.decode("utf-8")}
            except UnicodeDecodeError:
                pass
        if keep is None:
            return {**said, "base64": b64encode(self.data).decode()}
        return {**said, "blob": dict(keep(self.data, self.media_type or "application/octet-stream"))}


def read_multipart(body: bytes, content_type: str) -> list[Part] | None:
    """Read the parts; None where the body does not have the form its type says."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return None
    mark = b"--" + (found[1] or found[2]).encode("utf-8", "surrogateescape")
    pieces = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(pieces) < 2:
        return None
    parts = []
    for piece in pieces[1:]:
        if piece.startswith(b"--"):
            break
        head, blank, data = piece.partition(b"\r\n\r\n")
        if blank:
            parts.append(_part(head.decode("utf-8", "replace"), data))
    return parts


def _part(head: str, data: bytes) -> Part:
    name, filename, media_type = "", None, ""
    for line in head.split("\r\n"):
        field, _, value = line.partition(":")
        if field.strip().lower() == "content-disposition":
            for key, quoted, bare in _PARAMETER.findall(value):
                if key.lower() == "name":
                    name = quoted or bare
                else:
                    filename = quoted or bare
        elif field.strip().lower() == "content-type":
            media_type = value.strip()
    return Part(name, filename, media_type, data)
