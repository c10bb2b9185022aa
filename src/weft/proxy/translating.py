"""The translating proxy: a client speaks one dialect, the provider another.

Here bytes cannot pass as they are: a request is read whole in the dialect of its path, planned for the target's, and
sent with the target's own key; the answer is told again in the client's dialect, a stream event by event. What cannot
be carried is never silent [X-32]: it is counted in a header of the answer, noted in the recording and said to whoever
runs the proxy; or, if the owner wants that, the request is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from weft.blobs import InMemoryBlobStore
from weft.canon import RequestPlan
from weft.client import Client, Target, call_to
from weft.errors import ProviderError, WeftError
from weft.jsontext import dumps, loads
from weft.providers import OVER_HTTP, adjust
from weft.proxy.flow import Flow
from weft.proxy.head import RequestHead
from weft.proxy.routes import Route, Routes
from weft.proxy.server import Proxy
from weft.trace import Capture, Recorder, dialect_of
from weft.wire import Dialect, dialect, plan_request

if TYPE_CHECKING:
    from weft.proxy.connection import ClientConnection
    from weft.proxy.options import Options
    from weft.proxy.upstream import Pool

__all__ = ["TranslatingProxy", "Translation"]

_LONGEST_BODY = 64 << 20
_MEDIA_TYPES = {"sse": "text/event-stream", "eventstream": "application/vnd.amazon.eventstream"}
_MEDIA_TYPES |= {"ndjson": "application/x-ndjson", "json_array": "application/json"}
# Which error a client's library makes of a status, in Anthropic's words.
_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_KINDS |= {413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}


@dataclass(frozen=True, slots=True)
class Translation:
    """Whom to call for every request, with what, and what is done about losses."""

    client: Client
    target: Target
    strict: bool = False  # refuse what cannot be carried whole
    on_loss: Callable[[str], None] | None = None


class TranslatingProxy(Proxy):
    """A proxy whose every request goes to one model, in that model's dialect."""

    def __init__(
        self,
        translation: Translation,
        recorder: Recorder | None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        options: Options | None = None,
    ) -> None:
        """Say whom it calls; it listens once it is entered."""
        super().__init__(Routes(), recorder, host=host, port=port, options=options)
        self._translation = translation

    def start_flow(self, client: ClientConnection, request: RequestHead) -> tuple[Flow, bytes]:
        """Take the request in, whatever it is: where it goes is settled."""
        request.upgrade = b""
        capture = self._capture(request, request.target, None, upgrades=False)
        flow = TranslatedFlow(client, request, capture, self._pool, self._translation)
        self.flows.add(flow)
        return flow, b""


class TranslatedFlow(Flow):
    """One exchange, told again on both sides."""

    __slots__ = ("_pieces", "_size", "_status", "_task", "_translation", "_valve")

    def __init__(
        self,
        client: ClientConnection,
        request: RequestHead,
        capture: Capture | None,
        pool: Pool,
        translation: Translation,
    ) -> None:
        """Begin, with the request's head read."""
        super().__init__(client, request, _NOWHERE, capture, pool)
        self._translation = translation
        self._pieces: list[bytes] = []
        self._size = 0
        self._status = 0
        self._task: asyncio.Task[None] | None = None
        self._valve = _Valve()
        self.upstream = self._valve  # type: ignore[assignment]  # what the connection holds back when its client is slow

    # -- what the connection and the server call -----------------------------------------------------------------------

    def start(self, head: bytes, raw: bytes, payload: list[bytes]) -> None:  # noqa: ARG002 - nothing is passed on
        """Take what came with the head."""
        self._take(payload)
        if self.is_request_done:
            self.request_done()

    def request_data(self, raw: bytes, payload: list[bytes]) -> None:  # noqa: ARG002
        """Take a piece of the request's body."""
        self._take(payload)

    def request_done(self) -> None:
        """Answer: the request is whole."""
        self.is_request_done = True
        if self._task is None:
            self._task = self._loop.create_task(self._run())

    def client_lost(self) -> None:
        """Hang up on the far side, too [X-01]."""
        self.client = None
        if not self.is_done:
            self.abandon("client_closed")

    def abandon(self, reason: str) -> None:
        """Stop here."""
        self.is_done = True
        if self._task is not None:
            self._task.cancel()
        if self.capture is not None:
            self.capture.end(reason)  # type: ignore[arg-type]  # one of the reasons

    def check(self, now: float) -> None:
        """Leave it to the client that calls the far side: it knows how long to wait."""

    def summary(self) -> str:
        """Say in one line what became of it."""
        path = self.request.target.partition(b"?")[0].decode("utf-8", "backslashreplace")
        milliseconds = int((self._loop.time() - self.began) * 1000)
        target = self._translation.target
        return f"{self._status or '-'} {path} -> {target.provider.name}/{target.model} {milliseconds}ms"

    # -- answering -----------------------------------------------------------------------------------------------------

    def _take(self, payload: list[bytes]) -> None:
        self.last_active = self._loop.time()
        self._pieces += payload
        self._size += sum(map(len, payload))
        if self.capture is not None:
            for piece in payload:
                self.capture.request_data(piece)

    async def _run(self) -> None:
        source: Dialect | None = None
        try:
            body, source = self._read()
            plan = self._plan(body, source)
            if self._wants_stream(body, source):
                await self._tell(plan, source)
            else:
                await self._answer(plan, source)
        except _UntranslatableError as problem:
            self._refuse(problem.status, str(problem), source)
        except ProviderError as problem:
            self._refuse(problem.status or 502, str(problem).partition("\n")[0], source)
        except (WeftError, ValueError) as problem:
            self._refuse(400, str(problem).partition("\n")[0], source)
        else:
            self._finish_well()

    def _read(self) -> tuple[dict[str, Any], Dialect]:
        """Read the request and tell what it speaks."""
        if self.request.encoding not in ("", "identity"):
            raise _UntranslatableError(415, f"a translating proxy reads no {self.request.encoding} bodies")
        if self._size > _LONGEST_BODY:
            raise _UntranslatableError(413, "the request is too large to be translated")
        path = self.request.target.decode("utf-8", "replace")
        if self.request.method != b"POST":
            raise _UntranslatableError(501, "a translating proxy answers questions to a model, and nothing else")
        try:
            body = loads(b"".join(self._pieces))
        except ValueError as problem:
            raise _UntranslatableError(400, f"the request is no JSON: {problem}") from None
        name = dialect_of({"path": path, "request": body}) if isinstance(body, dict) else None
        if name is None:
            raise _UntranslatableError(404, "this is no request of a dialect that is known here")
        return body, dialect(name)

    def _plan(self, body: Mapping[str, Any], source: Dialect) -> tuple[RequestPlan, InMemoryBlobStore]:
        """Write the request for the target; what is lost on the way is refused, or noted and told."""
        target = self._translation.target
        blobs = InMemoryBlobStore()
        speaks = target.provider.dialect
        plan = plan_request(body, speaks, source=source.name, model=target.model, policy=OVER_HTTP, blobs=blobs)
        if plan.errors:
            raise _UntranslatableError(400, "; ".join(plan.errors))
        plan = plan.with_excluded(adjust(plan.request, target.provider))
        if not plan.excluded:
            return plan, blobs
        losses = [f"{item.description}: {item.reason}" for item in plan.excluded]
        if self._translation.strict:
            raise _UntranslatableError(400, f"cannot be said to {target.provider.name}: {'; '.join(losses)}")
        for loss in losses:
            if self.capture is not None:
                self.capture.note(f"not carried to {target.provider.name}: {loss}")
            if self._translation.on_loss is not None:
                self._translation.on_loss(loss)
        return plan, blobs

    def _wants_stream(self, body: Mapping[str, Any], source: Dialect) -> bool:
        path = self.request.target.partition(b"?")[0]
        if source.name in ("gemini", "bedrock"):
            return path.endswith((b":streamGenerateContent", b"/converse-stream"))
        return body.get("stream", source.name == "ollama") is True

    async def _answer(self, plan: tuple[RequestPlan, InMemoryBlobStore], source: Dialect) -> None:
        request, blobs = plan
        reply = await self._translation.client.send(call_to(self._translation.target, request.request, blobs=blobs))
        written = dumps(source.encode_response(reply, blobs).body)
        self._head_of(200, "application/json", request, length=len(written))
        self._say(written)

    async def _tell(self, plan: tuple[RequestPlan, InMemoryBlobStore], source: Dialect) -> None:
        request, blobs = plan
        encoder = source.StreamEncoder(blobs)
        call = call_to(self._translation.target, request.request, blobs=blobs)
        async with self._translation.client.stream(call) as events:
            async for event in events:
                if not self.has_answered:  # the far side has agreed to answer
                    self._head_of(200, _MEDIA_TYPES.get(source.framing, "text/event-stream"), request)
                self._chunk(encoder.feed(event))
                await self._valve.is_open.wait()
            is_whole = events.reply is not None and events.reply.finished
        if not is_whole:
            self._break_off()
            return
        self._chunk(encoder.close())
        self._last_chunk()

    # -- towards the client --------------------------------------------------------------------------------------------

    def _head_of(self, status: int, media_type: str, plan: RequestPlan | None, length: int | None = None) -> None:
        self.has_answered = True
        self._status = status
        if self.capture is not None:
            self.capture.response_head(status, media_type, "")
        client = self.client
        if client is None:
            return
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"Content-Type: {media_type}"]
        if plan is not None and plan.excluded:
            lines.append(f"Weft-Not-Carried: {len(plan.excluded)}")
        if length is not None:
            lines.append(f"Content-Length: {length}")
        elif self.request.is_old:
            client.must_close = True
        else:
            lines.append("Transfer-Encoding: chunked")
        if client.must_close:
            lines.append("Connection: close")
        client.write("\r\n".join((*lines, "", "")).encode("latin-1"))

    def _say(self, data: bytes) -> None:
        if self.capture is not None:
            self.capture.response_data(data)
        if self.client is not None:
            self.client.write(data)

    def _chunk(self, data: bytes) -> None:
        if not data:
            return
        if self.capture is not None:
            self.capture.response_data(data)
        if self.client is not None:
            self.client.write(data if self.request.is_old else b"%x\r\n%b\r\n" % (len(data), data))

    def _last_chunk(self) -> None:
        if self.client is not None and not self.request.is_old:
            self.client.write(b"0\r\n\r\n")

    def _break_off(self) -> None:
        """End as the far side did: with something missing [X-04]."""
        self.is_done = True
        if self.capture is not None:
            self.capture.end("upstream_reset")
        client, self.client = self.client, None
        if client is not None:
            client.break_off(resets=self.request.is_old)
            client.flow_ended(self)

    def _finish_well(self) -> None:
        if self.is_done:
            return
        self.is_done = True
        if self.capture is not None:
            self.capture.end()
        client, self.client = self.client, None
        if client is not None:
            client.flow_done(self)

    def _refuse(self, status: int, why: str, source: Dialect | None) -> None:
        """Say no in the client's words."""
        if self.has_answered or self.is_done:
            self._break_off()
            return
        written = dumps(_error(status, why, source))
        self._head_of(status, "application/json", None, length=len(written))
        self._say(written)
        self._finish_well()


class _Valve:
    """Stands where a flow has its far side's connection: closed while the client reads too slowly [X-11]."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.is_open.set()

    @property
    def transport(self) -> _Valve:
        return self

    def pause_reading(self) -> None:
        self.is_open.clear()

    def resume_reading(self) -> None:
        self.is_open.set()


class _UntranslatableError(Exception):
    """A request that the proxy does not send on."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(why)


_NOWHERE = Route("", "", 0, b"", None, b"")


def _phrase(status: int) -> str:
    with suppress(ValueError):
        return HTTPStatus(status).phrase
    return "Error"


def _error(status: int, why: str, source: Dialect | None) -> dict[str, Any]:
    """Give an error as a dialect's clients understand it."""
    name = "" if source is None else source.name
    if name == "anthropic":
        return {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": why}}
    if name == "gemini":
        return {"error": {"code": status, "message": why, "status": _phrase(status).upper().replace(" ", "_")}}
    if name in ("bedrock", "cohere"):
        return {"message": why}
    if name == "ollama":
        return {"error": why}
    return {"error": {"message": why, "type": _KINDS.get(status, "api_error"), "param": None, "code": None}}
