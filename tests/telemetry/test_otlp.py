"""Spans over OTLP, received by a server that speaks the protocol."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.sim import running_simulator
from weft.cli import main
from weft.errors import StoreError
from weft.telemetry import GenAiSpan, OtlpExporter, OtlpSink, span_of
from weft.trace import Recorder, RecordingTransport

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import openai
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KEY = "sk-ant-" + "api03-" + base64.urlsafe_b64encode(hashlib.sha512(b"harbour").digest()).decode().rstrip("=")


class Receiver:
    """An OTLP receiver on loopback: takes export requests as the protocol says and keeps their spans."""

    def __init__(self, status: int = 200) -> None:
        self.spans: list[Any] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                request = ExportTraceServiceRequest.FromString(body)
                assert self.path == "/v1/traces"
                for resource in request.resource_spans:
                    for scope in resource.scope_spans:
                        receiver.spans += scope.spans
                self.send_response(status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    receiver = Receiver(status)
    thread = threading.Thread(target=receiver.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()


def attributes(span: Any) -> dict[str, Any]:
    found = {}
    for each in span.attributes:
        value = each.value
        kind = value.WhichOneof("value")
        found[each.key] = (
            [item.string_value for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)
        )
    return found


def record(name: str, *said: str, answer: str = "Six.", **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(said)]
    usage = {"input_tokens": 30, "output_tokens": 4, "cache_read_input_tokens": 20}
    return {
        "id": name,
        "timestamp": f"2026-01-01T00:00:0{len(said)}+00:00",
        "duration_ms": 1500,
        "request": {"model": "claude-x", "max_tokens": 9, "system": "Be brief.", "messages": messages},
        "response": {
            "id": f"msg_{name}",
            "type": "message",
            "role": "assistant",
            "model": "claude-x-1",
            "content": [{"type": "text", "text": answer}],
            "stop_reason": "end_turn",
            "usage": usage,
        },
        "error": None,
        "status": 200,
        **more,
    }


def test_a_recording_is_sent_as_linked_spans_of_one_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    records = [record("a", "Depth?"), record("b", "Depth?", "Six.", "And there?", answer="Seven.")]
    trace.write_text("".join(json.dumps(each) + "\n" for each in records))

    with receiving() as receiver:
        status = main(["otel", str(trace), "--endpoint", receiver.url])

    first, second = receiver.spans
    assert status == 0
    assert first.trace_id == second.trace_id
    assert [link.span_id for link in second.links] == [first.span_id]
    assert (first.name, first.end_time_unix_nano - first.start_time_unix_nano) == ("chat claude-x", 1_500_000_000)
    said = attributes(second)
    assert said["gen_ai.provider.name"] == "anthropic"
    assert said["gen_ai.response.finish_reasons"] == ["stop"]
    assert (said["gen_ai.usage.output_tokens"], said["gen_ai.usage.cache_read.input_tokens"]) == (4, 20)
    assert json.loads(said["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Seven."}], "finish_reason": "stop"}
    ]
    assert json.loads(said["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]


def test_secrets_are_masked_and_content_can_stay_at_home() -> None:
    """K-03: what is exported is redacted by default."""
    asked = record("a", f"My key is {KEY}.")

    told, bare, plain = span_of(asked), span_of(asked, content=False), span_of(asked, redact=False)

    assert KEY not in str(told.attributes)
    assert KEY in str(plain.attributes)
    assert not any("messages" in key or "instructions" in key for key in bare.attributes)


def test_sending_twice_gives_the_same_spans() -> None:
    assert span_of(record("a", "Depth?")) == span_of(record("a", "Depth?"))


def test_a_refused_call_is_a_failed_span() -> None:
    refused = record("a", "Depth?", status=529)
    refused["response"] = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    span = span_of(refused)

    assert (span.error, span.attributes["error.type"]) == ("Overloaded", "529")


def test_a_call_that_never_arrived_is_a_failed_span() -> None:
    lost = record("a", "Depth?", error="timed out")
    del lost["status"]
    lost["response"] = None

    span = span_of(lost)

    assert (span.error, span.attributes["error.type"]) == ("timed out", "transport")


def test_what_is_no_call_of_a_model_is_a_span_all_the_same() -> None:
    span = span_of({"id": "x", "timestamp": "?", "request": {"events": [1]}, "response": None})

    assert (span.name, span.start_ns) == ("chat", 0)


def test_live_calls_are_sent_as_they_end() -> None:
    """The official client, recorded by a transport whose place is a receiver."""
    with receiving() as receiver, running_simulator() as simulator:
        recorder = Recorder(OtlpSink(receiver.url, content=True))
        transport = RecordingTransport(recorder)
        with httpx2.Client(transport=transport) as http:
            client = openai.OpenAI(base_url=f"{simulator.url}/v1", api_key="any", http_client=http)
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        recorder.close()

    [span] = receiver.spans
    said = attributes(span)
    assert said["gen_ai.request.model"] == "m"
    assert "You said: hi" in said["gen_ai.output.messages"]
    assert "any" not in said.values()


def test_weft_ask_tells_of_its_calls_when_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver, running_simulator() as simulator:
        for name, value in simulator.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("WEFT_HOME", str(tmp_path))
        monkeypatch.setenv("WEFT_OTEL", "content")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)

        status = main(["ask", "-m", "anthropic/claude-x", "hi"])

    said = attributes(receiver.spans[0])
    assert status == 0
    assert (said["gen_ai.provider.name"], said["gen_ai.request.model"]) == ("anthropic", "claude-x")
    assert "You said: hi" in said["gen_ai.output.messages"]


def test_a_receiver_that_refuses_is_told_of() -> None:
    with receiving(status=400) as receiver:
        exporter = OtlpExporter(receiver.url)

        with pytest.raises(StoreError, match="could not be sent"):
            exporter.send([GenAiSpan("chat", 1, 1, 0, 0)])


def test_an_address_is_named_without_what_it_holds_of_secrets() -> None:
    """K-01: a password before the host and a token in the query stay out of what is said."""
    with receiving(status=400) as receiver:
        address = f"{receiver.url.replace('://', '://me:hunter2@')}/v1/traces?token=t0psecret/v1/traces"

        with pytest.raises(StoreError) as caught:
            OtlpExporter(address).send([GenAiSpan("chat", 1, 1, 0, 0)])

    said = str(caught.value)
    assert f"sent to {receiver.url}/v1/traces\n" in said
    assert "hunter2" not in said
    assert "t0psecret" not in said
