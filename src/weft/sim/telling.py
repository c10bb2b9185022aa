"""A reply told as a stream: in pieces of a few letters, as a model would write it, and frame by frame.

`canon.replay` tells each part in one piece; a provider does not, and clients have to live with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    RoleChange,
    StreamEnd,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
    write_arguments,
)

__all__ = ["split_frames", "tell"]

_WORD = re.compile(r"\s*\S{1,16}|\s+")
_ARGUMENTS = 12  # letters of a call's arguments at a time
_DELTAS = {"text": ContentDelta, "thinking": ReasoningDelta, "refusal": RefusalDelta}


def tell(reply: Reply, *, usage: bool, piece: int | None = None) -> Iterator[Event]:
    """Tell a reply in the order in which it would have been written: word by word, or in pieces of `piece` letters."""
    words = _WORD if piece is None else re.compile(rf"(?s:.{{1,{piece}}})")
    yield StreamStart(reply.id, reply.model, _opening(reply))
    calls = 0
    if reply.message is not None:
        yield RoleChange("assistant")
        for part in reply.message.parts:
            if part.type == "tool_call":
                yield from _call(part, calls)
                calls += 1
            elif part.type != "annotation":
                if "tool_plan" in (part.provider_raw or {}):
                    yield NativeEvent({"type": "tool-plan-delta"})  # so Cohere's encoder tells a plan from thinking
                delta = _DELTAS.get(part.type)
                if delta is not None and part.text:
                    yield from (delta(piece) for piece in words.findall(part.text))
                yield PartEnd(part)
    if usage and reply.usage is not None:
        yield UsageUpdate(reply.usage)
    yield StreamEnd(reply.finish_reason, reply.stop_reason, reply=reply)


def _opening(reply: Reply) -> dict[str, Any]:
    """Give the envelope as it is at the start: nothing has been said, and only the prompt has been counted."""
    opening: dict[str, Any] = dict(reply.raw)
    match opening:
        case {"object": "chat.completion"}:
            opening["object"] = "chat.completion.chunk"
        case {"object": "response"}:
            opening["usage"] = None
        case {"type": "message", "usage": Mapping() as usage}:
            opening["usage"] = {**usage, "output_tokens": 1}
    return opening


def _call(part: Part, index: int) -> Iterator[Event]:
    yield ToolCallStart(index, part.tool_name or "", part.tool_call_id, part.provider_raw)
    arguments = write_arguments(part.tool_args)
    for at in range(0, len(arguments), _ARGUMENTS):
        yield ToolCallDelta(index, arguments[at : at + _ARGUMENTS])
    yield ToolCallEnd(index, part)


def split_frames(written: bytes, framing: str) -> Iterator[bytes]:
    """Cut what an encoder wrote into single frames."""
    if framing == "aws_eventstream":
        while written:
            size = int.from_bytes(written[:4], "big")
            yield written[:size]
            written = written[size:]
    else:
        yield from (frame + b"\n\n" for frame in written.split(b"\n\n") if frame)
