"""Gemini's generateContent and streamGenerateContent, as served by the Gemini API and by Vertex."""

from __future__ import annotations

from weft.wire.codec import Dialect
from weft.wire.gemini.request import decode_request, encode_request
from weft.wire.gemini.response import decode_response, encode_response
from weft.wire.gemini.stream import StreamDecoder, StreamEncoder

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name="gemini",
    provider="google",
    endpoint="models.generate_content",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("google.generate_content", "google", "google.stream_generate_content"),
)
