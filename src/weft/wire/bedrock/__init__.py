"""Bedrock Converse: POST /model/{modelId}/converse and /converse-stream, whichever model answers."""

from __future__ import annotations

from weft.wire.bedrock.request import decode_request, encode_request
from weft.wire.bedrock.response import decode_response, encode_response
from weft.wire.bedrock.stream import StreamDecoder
from weft.wire.bedrock.streamwriter import StreamEncoder
from weft.wire.codec import Dialect

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="bedrock",
    provider="bedrock",
    endpoint="converse",
    framing="aws_eventstream",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("bedrock.converse", "bedrock.converse_stream"),
)
