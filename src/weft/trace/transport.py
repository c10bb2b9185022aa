"""Recording without a proxy: a transport for httpx2, and so for every client that takes an `http_client`.

    transport = RecordingTransport("trace.jsonl")
    client = openai.OpenAI(http_client=httpx2.Client(transport=transport))

It is a sync and an async transport at once, around httpx2's own or any other. What passes is not changed; an exchange
is recorded as the proxy records it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self, cast

import httpx2

from weft.trace.capture import Capture, Meta
from weft.trace.exchange import Reason
from weft.trace.masking import mask_target, masker_for, secrets_of
from weft.trace.opening import open_sink
from weft.trace.recorder import Recorder

__all__ = ["RecordingTransport"]

_UNRECORDED = frozenset({"GET", "HEAD", "OPTIONS", "DELETE", "TRACE"})


class RecordingTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Sends as httpx2 does, and records."""

    def __init__(
        self,
        output: str | Recorder,
        *,
        transport: httpx2.BaseTransport | None = None,
        async_transport: httpx2.AsyncBaseTransport | None = None,
        turn_id: str | None = None,
    ) -> None:
        """Record to a file, a store, or with a recorder that is there already (and is left open)."""
        self._owns = isinstance(output, str)
        self._recorder = Recorder(open_sink(output)) if isinstance(output, str) else output
        self._sync = transport
        self._async = async_transport
        self._turn_id = turn_id

    @property
    def recorder(self) -> Recorder:
        """Give the recorder; its tally tells what was recorded, `flush()` waits for it."""
        return self._recorder

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if self._sync is None:
            self._sync = httpx2.HTTPTransport()
        capture = self._begin(request)
        if capture is None:
            return self._sync.handle_request(request)
        if not _is_known(request, capture):
            request.stream = _Sent(cast("httpx2.SyncByteStream", request.stream), capture)
        try:
            response = self._sync.handle_request(request)
        except Exception as problem:
            capture.end(_reason(problem), _words(problem))
            raise
        _answered(capture, response)
        response.stream = _Received(cast("httpx2.SyncByteStream", response.stream), capture)
        return response

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if self._async is None:
            self._async = httpx2.AsyncHTTPTransport()
        capture = self._begin(request)
        if capture is None:
            return await self._async.handle_async_request(request)
        if not _is_known(request, capture):
            request.stream = _AsyncSent(cast("httpx2.AsyncByteStream", request.stream), capture)
        try:
            response = await self._async.handle_async_request(request)
        except BaseException as problem:
            capture.end(_reason(problem), _words(problem))
            raise
        _answered(capture, response)
        response.stream = _AsyncReceived(cast("httpx2.AsyncByteStream", response.stream), capture)
        return response

    def _begin(self, request: httpx2.Request) -> Capture | None:
        if request.method in _UNRECORDED:
            return None
        target = request.url.raw_path
        masker = masker_for(secrets_of([(name.lower(), value) for name, value in request.headers.raw], target))
        meta = Meta(
            method=request.method,
            path=mask_target(target, masker),
            request_type=request.headers.get("content-type", ""),
            request_encoding=request.headers.get("content-encoding", "").lower(),
            turn_id=self._turn_id,
        )
        return self._recorder.begin(meta, masker)

    def close(self) -> None:
        """Close, and wait until everything is written."""
        if self._sync is not None:
            self._sync.close()
        if self._owns:
            self._recorder.close()

    async def aclose(self) -> None:
        """Close, and wait until everything is written."""
        if self._async is not None:
            await self._async.aclose()
        if self._owns:
            self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        await self.aclose()


def _is_known(request: httpx2.Request, capture: Capture) -> bool:
    """Take the request's body if it is all there, as it is with most calls."""
    try:
        capture.request_data(request.content)
    except httpx2.RequestNotRead:
        return False
    return True


def _answered(capture: Capture, response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    capture.response_head(response.status_code, kind, response.headers.get("content-encoding", "").lower())


def _reason(problem: BaseException) -> Reason:
    match problem:
        case httpx2.TimeoutException():
            return "timeout"
        case httpx2.ReadError() | httpx2.RemoteProtocolError() | httpx2.WriteError():
            return "upstream_reset"
        case Exception():
            return "error"
        case _:  # a task that was cancelled
            return "client_closed"


def _words(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__


class _Sent(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, capture: Capture) -> None:
        self._stream, self._capture = stream, capture

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._capture.request_data(piece)
            yield piece

    def close(self) -> None:
        self._stream.close()


class _Received(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, capture: Capture) -> None:
        self._stream, self._capture = stream, capture

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._stream:
                self._capture.response_data(piece)
                yield piece
        except Exception as problem:
            self._capture.end(_reason(problem), _words(problem))
            raise
        self._capture.end()

    def close(self) -> None:
        self._stream.close()
        self._capture.end("client_closed")  # of no effect if all was read


class _AsyncSent(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, capture: Capture) -> None:
        self._stream, self._capture = stream, capture

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._capture.request_data(piece)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _AsyncReceived(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, capture: Capture) -> None:
        self._stream, self._capture = stream, capture

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                self._capture.response_data(piece)
                yield piece
        except Exception as problem:
            self._capture.end(_reason(problem), _words(problem))
            raise
        self._capture.end()

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._capture.end("client_closed")
