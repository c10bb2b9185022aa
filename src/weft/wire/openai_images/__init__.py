"""OpenAI Images: POST /v1/images/generations."""

from __future__ import annotations

from weft.wire.codec import Dialect
from weft.wire.openai_images.request import decode_request, encode_request
from weft.wire.openai_images.response import NAME, PROVIDER, decode_response, encode_response
from weft.wire.openai_images.stream import StreamDecoder, StreamEncoder

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name=NAME,
    provider=PROVIDER,
    endpoint="images.generate",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("openai.images",),
)
