"""OpenTelemetry: recorded exchanges and live calls as GenAI spans, sent over OTLP.

The front door of the room. `span_of` makes a span of a trace record; `OtlpExporter` sends spans; `OtlpSink` is a place
for recordings like a file or a store, so whatever records can also export.
"""

from __future__ import annotations

from weft.telemetry.otlp import OtlpExporter, OtlpSink
from weft.telemetry.spans import GenAiSpan, span_of

__all__ = ["GenAiSpan", "OtlpExporter", "OtlpSink", "span_of"]
