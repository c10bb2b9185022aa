"""Our vocabulary: the plain values every other room speaks in, and pure functions over them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from weft.canon.transcript import NO_BLOBS as NO_BLOBS
    from weft.canon.transcript import UNTIMED as UNTIMED
    from weft.canon.transcript import Closing as Closing
    from weft.canon.transcript import Entry as Entry
    from weft.canon.transcript import Opening as Opening
    from weft.canon.transcript import Piece as Piece
    from weft.canon.transcript import Session as Session
    from weft.canon.transcript import Stray as Stray
    from weft.canon.transcript import Transcript as Transcript
    from weft.canon.transcript import gather as gather
    from weft.canon.transcriptserde import entry_from_dict as entry_from_dict
    from weft.canon.transcriptserde import entry_to_dict as entry_to_dict
    from weft.canon.transcriptserde import entry_to_json as entry_to_json
    from weft.canon.transcriptserde import session_from_dict as session_from_dict
    from weft.canon.transcriptserde import session_to_dict as session_to_dict

# Transcripts are what files hold; a program that only calls a model does not pay for them.
_LATE = {
    "weft.canon.transcript": (
        "NO_BLOBS",
        "UNTIMED",
        "Closing",
        "Entry",
        "Opening",
        "Piece",
        "Session",
        "Stray",
        "Transcript",
        "gather",
    ),
    "weft.canon.transcriptserde": (
        "entry_from_dict",
        "entry_to_dict",
        "entry_to_json",
        "session_from_dict",
        "session_to_dict",
    ),
}
_HOME = {name: module for module, names in _LATE.items() for name in names}

__all__ = [  # noqa: PLE0604 - the rest is from the table above
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
    *_HOME,
]


def __getattr__(name: str) -> object:
    """Load transcripts by one of their names."""
    if name not in _HOME:
        raise AttributeError(f"module 'weft.canon' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
