"""Our vocabulary: the plain values every other room speaks in, and pure functions over them."""

from __future__ import annotations

from weft.canon.arguments import call_arguments, call_text, output_text, read_arguments, write_arguments
from weft.canon.blocks import blocks_provider, read_block, read_blocks, turn_messages, write_block, write_blocks
from weft.canon.context import Context
from weft.canon.events import (
    ContentDelta,
    Event,
    NativeEvent,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from weft.canon.fold import Fold, fold, replay
from weft.canon.freezing import EMPTY, Frozen, freeze, freeze_mapping, thaw
from weft.canon.part import ROLES, Message, Part, Role, frozen_part, remembered
from weft.canon.plan import AdapterCapabilities, AdapterId, CapabilityLevel, ExcludedItem, RequestPlan, plain_plan
from weft.canon.reply import Reply
from weft.canon.runspec import Instructions, RunSpec
from weft.canon.usage import Cursor, ToolSpecification, Usage

__all__ = [
    "EMPTY",
    "ROLES",
    "AdapterCapabilities",
    "AdapterId",
    "CapabilityLevel",
    "ContentDelta",
    "Context",
    "Cursor",
    "Event",
    "ExcludedItem",
    "Fold",
    "Frozen",
    "Instructions",
    "Message",
    "NativeEvent",
    "Part",
    "PartEnd",
    "ReasoningDelta",
    "RefusalDelta",
    "Reply",
    "RequestPlan",
    "Role",
    "RoleChange",
    "RunSpec",
    "StreamEnd",
    "StreamError",
    "StreamStart",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolSpecification",
    "Usage",
    "UsageUpdate",
    "blocks_provider",
    "call_arguments",
    "call_text",
    "fold",
    "freeze",
    "freeze_mapping",
    "frozen_part",
    "output_text",
    "plain_plan",
    "read_arguments",
    "read_block",
    "read_blocks",
    "remembered",
    "replay",
    "thaw",
    "turn_messages",
    "write_arguments",
    "write_block",
    "write_blocks",
]
