"""Every file format, both ways: one module per format, each `read()` and `write()` over canon with a loss report.

The front door of the room. Formats themselves are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from weft.formats.compare import Difference, differences, unaccounted
from weft.formats.converting import conversations, convert, known_format
from weft.formats.entryblobs import EntryBlobs
from weft.formats.format import ABILITIES, Format, Sink, carrying
from weft.formats.ledger import Ledger, Loss
from weft.formats.redact import Hidden, redacted
from weft.formats.registry import FORMATS, format_by_name, formats, guess, guess_by_name, register
from weft.formats.source import Head, Shelf, Source

if TYPE_CHECKING:
    from weft.formats.otel import instructions_attribute as instructions_attribute
    from weft.formats.otel import messages_attribute as messages_attribute
    from weft.formats.otel import tools_attribute as tools_attribute
    from weft.formats.trace import read_record as read_record

# Names of single formats, for those who need just them.
_LATE = {
    "instructions_attribute": "weft.formats.otel",
    "messages_attribute": "weft.formats.otel",
    "read_record": "weft.formats.trace",
    "tools_attribute": "weft.formats.otel",
}

__all__ = [
    "ABILITIES",
    "FORMATS",
    "Difference",
    "EntryBlobs",
    "Format",
    "Head",
    "Hidden",
    "Ledger",
    "Loss",
    "Shelf",
    "Sink",
    "Source",
    "carrying",
    "conversations",
    "convert",
    "differences",
    "format_by_name",
    "formats",
    "guess",
    "guess_by_name",
    "instructions_attribute",
    "known_format",
    "messages_attribute",
    "read_record",
    "redacted",
    "register",
    "tools_attribute",
    "unaccounted",
]


def __getattr__(name: str) -> object:
    """Load a name of a single format."""
    if name not in _LATE:
        raise AttributeError(f"module 'weft.formats' has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value
