"""From the body of a request or response to the messages and tools of the cooked view, one module a dialect.

Not the canon of weft.canon: the cooked view is a published, lossy one (docs/reference/trace-format.md), made to compare
what was sent with what came back. Streams are put together by the dialect's own decoder in weft.wire first, so what is
read here is always a whole body.
"""

from __future__ import annotations

from weft.trace.extract.draft import Draft, ToolDraft
from weft.trace.extract.formats import FORMATS, Format, detect, hints_of
from weft.trace.extract.streams import events_of, put_together

__all__ = ["FORMATS", "Draft", "Format", "ToolDraft", "detect", "events_of", "hints_of", "put_together"]
