"""Cohere Chat: POST /v2/chat."""

from __future__ import annotations

from weft.wire.codec import Dialect
from weft.wire.cohere.request import decode_request, encode_request
from weft.wire.cohere.response import decode_response, encode_response
from weft.wire.cohere.stream import StreamDecoder
from weft.wire.cohere.streamwriter import StreamEncoder

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="cohere",
    provider="cohere",
    endpoint="chat",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("cohere.chat",),
)
