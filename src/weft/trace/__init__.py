"""Recorded exchanges: reading them, cooking them, and the forest of requests they form.

The front door of the room. Names are loaded when they are first asked for: a recorder needs no cook, nor a cook a
recorder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.trace.account import Facts as Facts
    from weft.trace.account import TokenCounts as TokenCounts
    from weft.trace.account import Total as Total
    from weft.trace.account import as_if_cached as as_if_cached
    from weft.trace.account import facts_of as facts_of
    from weft.trace.account import first_words_of as first_words_of
    from weft.trace.account import stop_reason_of as stop_reason_of
    from weft.trace.account import token_counts as token_counts
    from weft.trace.account import total_of as total_of
    from weft.trace.account import usage_of as usage_of
    from weft.trace.branches import Curve as Curve
    from weft.trace.branches import Geometry as Geometry
    from weft.trace.branches import Line as Line
    from weft.trace.branches import Placed as Placed
    from weft.trace.branches import geometry as geometry
    from weft.trace.branches import layout as layout
    from weft.trace.cachemiss import CacheMiss as CacheMiss
    from weft.trace.cachemiss import cache_miss as cache_miss
    from weft.trace.capture import REQUEST as REQUEST
    from weft.trace.capture import RESPONSE as RESPONSE
    from weft.trace.capture import Capture as Capture
    from weft.trace.capture import Keep as Keep
    from weft.trace.capture import Meta as Meta
    from weft.trace.cooked import Cooked as Cooked
    from weft.trace.cooked import CookedMessage as CookedMessage
    from weft.trace.cooked import CookedRequest as CookedRequest
    from weft.trace.cooked import CookedTool as CookedTool
    from weft.trace.cooked import Link as Link
    from weft.trace.cooked import Place as Place
    from weft.trace.cooked import Problem as Problem
    from weft.trace.cooker import Cooker as Cooker
    from weft.trace.cooker import cook as cook
    from weft.trace.decoding import Decoding as Decoding
    from weft.trace.decoding import is_packed as is_packed
    from weft.trace.dedup import message_key as message_key
    from weft.trace.dedup import tool_key as tool_key
    from weft.trace.difference import DiffItem as DiffItem
    from weft.trace.difference import DiffResult as DiffResult
    from weft.trace.difference import diff as diff
    from weft.trace.exchange import REASONS as REASONS
    from weft.trace.exchange import Exchange as Exchange
    from weft.trace.exchange import Reason as Reason
    from weft.trace.exchange import State as State
    from weft.trace.exchange import new_exchange_id as new_exchange_id
    from weft.trace.exchange import timestamp_now as timestamp_now
    from weft.trace.extract.pictures import Picture as Picture
    from weft.trace.extract.pictures import find_pictures as find_pictures
    from weft.trace.following import FileFollower as FileFollower
    from weft.trace.following import Follower as Follower
    from weft.trace.following import StoreFollower as StoreFollower
    from weft.trace.following import UnderWay as UnderWay
    from weft.trace.handle import Handle as Handle
    from weft.trace.hearing import Heard as Heard
    from weft.trace.hearing import Hearing as Hearing
    from weft.trace.importing import ImportReport as ImportReport
    from weft.trace.importing import import_exchanges as import_exchanges
    from weft.trace.journal import recover as recover
    from weft.trace.keeping import find_exchange as find_exchange
    from weft.trace.keeping import find_session as find_session
    from weft.trace.keeping import keep_lines as keep_lines
    from weft.trace.keeping import records_of as records_of
    from weft.trace.masking import MASK as MASK
    from weft.trace.masking import Masker as Masker
    from weft.trace.masking import mask_target as mask_target
    from weft.trace.masking import masker_for as masker_for
    from weft.trace.masking import secrets_of as secrets_of
    from weft.trace.opened import Opened as Opened
    from weft.trace.opened import dialect_of as dialect_of
    from weft.trace.opened import error_of as error_of
    from weft.trace.opened import open_record as open_record
    from weft.trace.opening import open_sink as open_sink
    from weft.trace.record import is_recorded as is_recorded
    from weft.trace.record import record_line as record_line
    from weft.trace.recorder import Recorder as Recorder
    from weft.trace.recorder import Tally as Tally
    from weft.trace.recording import Recording as Recording
    from weft.trace.recording import SessionRecording as SessionRecording
    from weft.trace.recording import TraceFile as TraceFile
    from weft.trace.recording import find_recording as find_recording
    from weft.trace.recording import recording_of as recording_of
    from weft.trace.recording import recordings as recordings
    from weft.trace.records import read_records as read_records
    from weft.trace.sink import Sink as Sink
    from weft.trace.storesink import StoreSink as StoreSink
    from weft.trace.transport import RecordingTransport as RecordingTransport
    from weft.trace.turntree import ImportedRequest as ImportedRequest

# Module: the names it gives. Whoever adds a name adds it above, too, for the type checker.
_MODULES = {
    "weft.trace.keeping": ("find_exchange", "find_session", "keep_lines", "records_of"),
    "weft.trace.recording": (
        "Recording",
        "SessionRecording",
        "TraceFile",
        "find_recording",
        "recording_of",
        "recordings",
    ),
    "weft.trace.storesink": ("StoreSink",),
    "weft.trace.account": (
        "Facts",
        "TokenCounts",
        "Total",
        "as_if_cached",
        "facts_of",
        "first_words_of",
        "stop_reason_of",
        "token_counts",
        "total_of",
        "usage_of",
    ),
    "weft.trace.cachemiss": ("CacheMiss", "cache_miss"),
    "weft.trace.extract.pictures": ("Picture", "find_pictures"),
    "weft.trace.following": ("FileFollower", "Follower", "StoreFollower", "UnderWay"),
    "weft.trace.hearing": ("Heard", "Hearing"),
    "weft.trace.importing": ("ImportReport", "import_exchanges"),
    "weft.trace.opened": ("Opened", "dialect_of", "error_of", "open_record"),
    "weft.trace.cooked": ("Cooked", "CookedMessage", "CookedRequest", "CookedTool", "Link", "Place", "Problem"),
    "weft.trace.cooker": ("Cooker", "cook"),
    "weft.trace.decoding": ("Decoding", "is_packed"),
    "weft.trace.dedup": ("message_key", "tool_key"),
    "weft.trace.difference": ("DiffItem", "DiffResult", "diff"),
    "weft.trace.branches": ("Curve", "Geometry", "Line", "Placed", "geometry", "layout"),
    "weft.trace.journal": ("recover",),
    "weft.trace.opening": ("open_sink",),
    "weft.trace.recorder": ("Recorder", "Tally"),
    "weft.trace.transport": ("RecordingTransport",),
    "weft.trace.turntree": ("ImportedRequest",),
    "weft.trace.handle": ("Handle",),
    "weft.trace.records": ("read_records",),
    "weft.trace.capture": ("REQUEST", "RESPONSE", "Capture", "Keep", "Meta"),
    "weft.trace.exchange": ("REASONS", "Exchange", "Reason", "State", "new_exchange_id", "timestamp_now"),
    "weft.trace.masking": ("MASK", "Masker", "mask_target", "masker_for", "secrets_of"),
    "weft.trace.record": ("is_recorded", "record_line"),
    "weft.trace.sink": ("Sink",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]  # noqa: PLE0604 - from the table above


def __getattr__(name: str) -> object:
    """Load a name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'weft.trace' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
