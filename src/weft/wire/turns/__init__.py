"""Threads and providers: a resolved thread out as a request, and the answer back in as a turn's content."""

from __future__ import annotations

from weft.wire.turns.answer import Aggregator, aggregate, message_from_reply, normalise_response
from weft.wire.turns.listen import Display, Streamer, show_events, sse_events, stream_event
from weft.wire.turns.prepare import call_fields, encode_turns, prepare_request
from weft.wire.turns.provider import PROVIDERS

__all__ = [
    "PROVIDERS",
    "Aggregator",
    "Display",
    "Streamer",
    "aggregate",
    "call_fields",
    "encode_turns",
    "message_from_reply",
    "normalise_response",
    "prepare_request",
    "show_events",
    "sse_events",
    "stream_event",
]
