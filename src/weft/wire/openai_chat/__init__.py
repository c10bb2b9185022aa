"""OpenAI Chat Completions: POST /v1/chat/completions, as OpenAI and the many who copied it speak it."""

from __future__ import annotations

from weft.wire.codec import Dialect
from weft.wire.openai_chat.request import decode_request, encode_request
from weft.wire.openai_chat.response import decode_response, encode_response
from weft.wire.openai_chat.stream import StreamDecoder
from weft.wire.openai_chat.streamwriter import StreamEncoder

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="openai_chat",
    provider="openai",
    endpoint="chat.completions",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("openai.chat", "openai"),
)
