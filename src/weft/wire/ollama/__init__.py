"""Ollama's own chat, POST /api/chat; its /v1 endpoint speaks `openai_chat`."""

from __future__ import annotations

from weft.wire.codec import Dialect
from weft.wire.ollama.request import decode_request, encode_request
from weft.wire.ollama.response import decode_response, encode_response
from weft.wire.ollama.stream import StreamDecoder, StreamEncoder

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="ollama",
    provider="ollama",
    endpoint="chat",
    framing="ndjson",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("ollama.chat",),
)
