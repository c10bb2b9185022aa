"""Wire messages: the plain form in which conversations are written to files and edited by hand (spec W-1 to W-3).

`decode_messages` and `encode_messages` take them to canon and back; reading and writing again gives the same.
"""

from __future__ import annotations

from weft.wire.messages.content import (
    Content,
    append,
    concat,
    map_ids,
    map_text,
    provider_entry,
    strip_ids,
    to_text,
    to_text_list,
    without_bytes,
)
from weft.wire.messages.media import bytes_of
from weft.wire.messages.reading import decode_message, decode_messages, read_message
from weft.wire.messages.schema import check_message, check_messages
from weft.wire.messages.writing import encode_call, encode_message, encode_messages, encode_part, join_texts

__all__ = [
    "Content",
    "append",
    "bytes_of",
    "check_message",
    "check_messages",
    "concat",
    "decode_message",
    "decode_messages",
    "encode_call",
    "encode_message",
    "encode_messages",
    "encode_part",
    "join_texts",
    "map_ids",
    "map_text",
    "provider_entry",
    "read_message",
    "strip_ids",
    "to_text",
    "to_text_list",
    "without_bytes",
]
