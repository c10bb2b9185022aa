"""Anthropic Messages: POST /v1/messages, also as served by Bedrock and Vertex."""

from __future__ import annotations

from weft.wire.anthropic.request import decode_request, encode_request
from weft.wire.anthropic.response import decode_response, encode_response
from weft.wire.anthropic.stream import StreamDecoder, StreamEncoder
from weft.wire.codec import Dialect

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="anthropic",
    provider="anthropic",
    endpoint="messages.create",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("anthropic.messages", "claude"),
)
