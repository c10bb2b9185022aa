"""Making long payloads smaller inside a SQLite row.

An agent's long messages are code and logs, which zlib brings to a third; short ones are left alone, because reading a
thread must not wait for it. A content address is always that of the payload itself. PostgreSQL does the same unasked.
"""

from __future__ import annotations

import zlib

__all__ = ["pack", "unpack"]

_LONG = 4096  # bytes; a page
_PACKED = (
    b"\0weft-z\0"  # no JSON begins so; other bytes that do are packed whatever their length, so that none is mistaken
)


def pack(data: bytes) -> bytes:
    """Give the form in which a payload is stored."""
    is_mistakable = data.startswith(_PACKED)
    if len(data) <= _LONG and not is_mistakable:
        return data
    packed = _PACKED + zlib.compress(data, 1)
    return packed if is_mistakable or len(packed) < len(data) * 0.8 else data


def unpack(data: bytes) -> bytes:
    """Give the payload back; bytes that cannot be unpacked are given as they are, for their hash to tell."""
    if not data.startswith(_PACKED):
        return data
    try:
        return zlib.decompress(data[len(_PACKED) :])
    except zlib.error:
        return data
