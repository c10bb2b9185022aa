"""OpenAI Responses: POST /v1/responses and /v1/responses/compact, also as served by Azure, xAI and others."""

from __future__ import annotations

from dataclasses import replace

from weft.wire.codec import Dialect
from weft.wire.openai_responses.content import NAME
from weft.wire.openai_responses.item import PROVIDER
from weft.wire.openai_responses.request import (
    decode_compact_request,
    decode_request,
    encode_compact_request,
    encode_request,
)
from weft.wire.openai_responses.response import decode_response, encode_response
from weft.wire.openai_responses.stream import StreamDecoder
from weft.wire.openai_responses.streamwriter import StreamEncoder

__all__ = ["COMPACT", "DIALECT"]

DIALECT = Dialect(
    name=NAME,
    provider=PROVIDER,
    endpoint="responses.create",
    framing="sse",
    encode_request=encode_request,
    decode_request=decode_request,
    encode_response=encode_response,
    decode_response=decode_response,
    StreamEncoder=StreamEncoder,
    StreamDecoder=StreamDecoder,
    aliases=("openai.responses", "responses"),
)

COMPACT = replace(
    DIALECT,
    name="openai_responses_compact",
    endpoint="responses.compact",
    encode_request=encode_compact_request,
    decode_request=decode_compact_request,
    aliases=("openai.responses.compact",),
)
