"""Every wire format, both ways: one folder per dialect, the framings beside them, and the faces over both.

The front door of the room. Dialects themselves are loaded when `dialect()` is asked for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from weft.wire.adapters import (
    Adapter,
    AdapterProtocol,
    AnthropicMessagesAdapter,
    AutoAdapter,
    BedrockConverseAdapter,
    GoogleGenAIAdapter,
    OpenAIChatCompletionsAdapter,
    OpenAIImagesAdapter,
    OpenAIResponsesAdapter,
    OpenAIResponsesCompactAdapter,
    ingest_with,
    plan_with,
)
from weft.wire.capabilities import CAPABILITIES
from weft.wire.codec import ADAPTER, CROSSING, FAITHFUL, STEP, TURN, Decoded, Dialect, Encoded, Policy
from weft.wire.framing import framing_of, parser_for
from weft.wire.jsonarray import encode_json_array
from weft.wire.recorded import dialect_of, dialect_of_path, recorded_frames, recorded_reply
from weft.wire.registry import DIALECTS, detect, dialect, dialects
from weft.wire.repair import IdRule
from weft.wire.stream import ODDITIES, StreamReader
from weft.wire.translate import plan_decoded, plan_request, read_request, told_elsewhere

if TYPE_CHECKING:
    from weft.wire.forms import forms_of as forms_of
    from weft.wire.forms import note_parts as note_parts
    from weft.wire.forms import put_forms as put_forms
    from weft.wire.forms import read_parts as read_parts
    from weft.wire.marks import put_back as put_back
    from weft.wire.marks import take_off as take_off
    from weft.wire.messages import check_message as check_message
    from weft.wire.messages import check_messages as check_messages
    from weft.wire.messages import decode_message as decode_message
    from weft.wire.messages import decode_messages as decode_messages
    from weft.wire.messages import encode_message as encode_message
    from weft.wire.messages import encode_messages as encode_messages
    from weft.wire.messages import without_bytes as without_bytes
    from weft.wire.steps import decode_step as decode_step
    from weft.wire.steps import encode_step as encode_step
    from weft.wire.steps import gemini_safety_settings as gemini_safety_settings
    from weft.wire.steps import plan_step as plan_step
    from weft.wire.stepstreams import StepStream as StepStream
    from weft.wire.stepstreams import events as events
    from weft.wire.turns import Aggregator as Aggregator
    from weft.wire.turns import Display as Display
    from weft.wire.turns import Streamer as Streamer
    from weft.wire.turns import aggregate as aggregate
    from weft.wire.turns import call_fields as call_fields
    from weft.wire.turns import encode_turns as encode_turns
    from weft.wire.turns import message_from_reply as message_from_reply
    from weft.wire.turns import normalise_response as normalise_response
    from weft.wire.turns import prepare_request as prepare_request
    from weft.wire.turns import show_events as show_events
    from weft.wire.turns import sse_events as sse_events
    from weft.wire.turns import stream_event as stream_event
    from weft.wire.usage import TokenCounts as TokenCounts
    from weft.wire.usage import as_if_cached as as_if_cached
    from weft.wire.usage import stop_reason_of as stop_reason_of
    from weft.wire.usage import token_counts as token_counts
    from weft.wire.usage import usage_of as usage_of

# The faces beside plan(): loaded when they are asked for, as few programs use more than one.
_FACES = {
    "weft.wire.steps": ("decode_step", "encode_step", "gemini_safety_settings", "plan_step"),
    "weft.wire.stepstreams": ("StepStream", "events"),
    "weft.wire.forms": ("forms_of", "note_parts", "put_forms", "read_parts"),
    "weft.wire.marks": ("put_back", "take_off"),
    "weft.wire.usage": ("TokenCounts", "as_if_cached", "stop_reason_of", "token_counts", "usage_of"),
    "weft.wire.messages": (
        "check_message",
        "check_messages",
        "decode_message",
        "decode_messages",
        "encode_message",
        "encode_messages",
        "without_bytes",
    ),
    "weft.wire.turns": (
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
    ),
}
_HOME = {name: face for face, names in _FACES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the rest is from the table above
    "ADAPTER",
    "CAPABILITIES",
    "CROSSING",
    "DIALECTS",
    "FAITHFUL",
    "ODDITIES",
    "STEP",
    "TURN",
    "Adapter",
    "AdapterProtocol",
    "AnthropicMessagesAdapter",
    "AutoAdapter",
    "BedrockConverseAdapter",
    "Decoded",
    "Dialect",
    "Encoded",
    "GoogleGenAIAdapter",
    "IdRule",
    "OpenAIChatCompletionsAdapter",
    "OpenAIImagesAdapter",
    "OpenAIResponsesAdapter",
    "OpenAIResponsesCompactAdapter",
    "Policy",
    "StreamReader",
    "detect",
    "dialect",
    "dialect_of",
    "dialect_of_path",
    "dialects",
    "encode_json_array",
    "framing_of",
    "ingest_with",
    "parser_for",
    "plan_decoded",
    "plan_request",
    "plan_with",
    "read_request",
    "recorded_frames",
    "recorded_reply",
    "told_elsewhere",
    *_HOME,
]


def __getattr__(name: str) -> object:
    """Load a face by one of its names."""
    if name not in _HOME:
        raise AttributeError(f"module 'weft.wire' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
