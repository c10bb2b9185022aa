"""Sending spans over OTLP: with the official SDK's exporter, which knows its protocol and its environment variables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StoreError, UsageError
from weft.telemetry.spans import GenAiSpan, span_of
from weft.version import __version__

if TYPE_CHECKING:
    from weft.trace import Capture

__all__ = ["OtlpExporter", "OtlpSink"]

_BATCH = 64  # spans hold whole conversations; receivers limit the size of a request, usually to 4 MiB or more


class OtlpExporter:
    """Sends spans to a receiver; without an address, to where OTEL_EXPORTER_OTLP_ENDPOINT says."""

    def __init__(self, endpoint: str | None = None) -> None:
        """Send to `endpoint`: the address of the receiver, with or without /v1/traces at its end."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        except ImportError:
            raise UsageError("exporting to OpenTelemetry needs the extra: pip install 'weft[otel]'") from None
        if endpoint is not None and not endpoint.rstrip("/").endswith("/v1/traces"):
            endpoint = f"{endpoint.rstrip('/')}/v1/traces"
        self.endpoint = endpoint
        self._exporter = OTLPSpanExporter(endpoint=endpoint)

    def send(self, spans: Iterable[GenAiSpan]) -> int:
        """Send spans; give how many. StoreError if the receiver takes them not."""
        sent = 0
        batch: list[Any] = []
        for span in spans:
            batch.append(_readable(span))
            if len(batch) == _BATCH:
                sent += self._send(batch)
                batch = []
        return sent + (self._send(batch) if batch else 0)

    def _send(self, batch: Sequence[Any]) -> int:
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415

        if self._exporter.export(batch) is not SpanExportResult.SUCCESS:
            where = self.endpoint or getattr(self._exporter, "_endpoint", "where OTEL_EXPORTER_OTLP_ENDPOINT says")
            raise StoreError(f"spans could not be sent to {_public(str(where))}\n  is a receiver listening there?")
        return len(batch)

    def close(self) -> None:
        """Let go of the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


def _public(address: str) -> str:
    """Leave off what an address may hold of secrets: a password before the host, a token in the query [K-01]."""
    before, _, host = address.partition("?")[0].rpartition("@")
    return f"{before.partition('://')[0]}://{host}" if before else host


class OtlpSink:
    """A place for recordings, beside files and stores: every exchange is sent as a span when it ends."""

    def __init__(self, endpoint: str | None = None, *, content: bool = False, journal: Path | None = None) -> None:
        """Send to `endpoint`; with `content`, also what was said, secrets masked."""
        self._exporter = OtlpExporter(endpoint)
        self._content = content
        self._folder = None if journal is not None else tempfile.TemporaryDirectory(prefix="weft-otlp-")
        self._journal = journal if journal is not None else Path(self._folder.name if self._folder else ".")

    @property
    def output(self) -> str:
        """Name the receiver."""
        return self._exporter.endpoint or "otlp"

    @property
    def journal(self) -> Path:
        """Give the folder for what is under way."""
        return self._journal

    def write(self, batch: Sequence[Capture]) -> None:
        """Send what ended."""
        records = (capture.exchange().to_record() for capture in batch)
        self._exporter.send(span_of(record, content=self._content) for record in records)

    def close(self) -> None:
        """Let go of the receiver."""
        self._exporter.close()
        if self._folder is not None:
            self._folder.cleanup()


def _readable(span: GenAiSpan) -> Any:
    """Give a span as the SDK's exporter takes it."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags  # noqa: PLC0415

    def context(trace_id: int, span_id: int) -> SpanContext:
        return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    return ReadableSpan(
        name=span.name,
        context=context(span.trace_id, span.span_id),
        resource=Resource({"service.name": "weft", "service.version": __version__}),
        attributes=dict(span.attributes),
        links=() if span.link is None else (Link(context(*span.link)),),
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope("weft", __version__),
    )
