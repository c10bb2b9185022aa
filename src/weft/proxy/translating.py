"""The translating proxy: a client speaks one dialect, the provider another.

Here bytes cannot pass as they are: a request is read whole in the dialect of its path, planned for the target's, and
sent with the target's own key; the answer is told again in the client's dialect, a stream event by event. What cannot
be carried is never silent [X-32]: it is counted in a header of the answer, noted in the recording and said to whoever
runs the proxy; or, if the owner wants that, the request is refused.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from weft.blobs import InMemoryBlobStore
from weft.canon import Event, RequestPlan
from weft.client import Client, Target, call_to
from weft.errors import ProviderError, WeftError
from weft.jsontext import dumps, loads
from weft.providers import OVER_HTTP, adjust
from weft.proxy.flow import Flow
from weft.proxy.head import RequestHead
from weft.proxy.listing import listed_models, spoken_to
from weft.proxy.routes import Route, Routes
from weft.proxy.server import Proxy
from weft.trace import Capture, Decoding, Recorder
from weft.wire import (
    Dialect,
    dialect,
    dialect_of_path,
    encode_json_array,
    parser_for,
    plan_request,
    told_elsewhere,
)

if TYPE_CHECKING:
    from weft.proxy.connection import ClientConnection
    from weft.proxy.options import Options
    from weft.proxy.upstream import Pool

__all__ = ["TranslatingProxy", "Translation"]

_LONGEST_BODY = 64 << 20
_MEDIA_TYPES = {
    "sse": "text/event-stream",
    "aws_eventstream": "application/vnd.amazon.eventstream",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
}
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
        self._size += sum(map(len, payload))
        if self._size <= _LONGEST_BODY:
            self._pieces += payload
        else:
            self._pieces.clear()  # it will be refused, and need not lie here until then
        if self.capture is not None:
            for piece in payload:
                self.capture.request_data(piece)

    async def _run(self) -> None:
        source: Dialect | None = None
        try:
            if self._is_list():
                return
            source = self._speaks()
            body = self._read()
            plan = self._plan(body, source)
            if self._wants_stream(body, source):
                await self._tell(plan, source)
            else:
                await self._answer(plan, source)
        except _UntranslatableError as problem:
            self._refuse(problem.status, str(problem), source)
        except ProviderError as problem:
            # An answer that says yes and makes no sense is a fault, and where it sends us the client cannot go.
            status = problem.status if problem.status is not None and problem.status >= 400 else 502
            self._refuse(status, str(problem).partition("\n")[0], source, retry_after_s=problem.retry_after_s)
        except (WeftError, ValueError) as problem:
            self._refuse(400, str(problem).partition("\n")[0], source)
        except Exception as problem:  # the client must not wait for ever for what a bug has swallowed
            self._refuse(500, f"cannot be translated: {type(problem).__name__}", source)
            raise
        else:
            self._finish_well()

    def _is_list(self) -> bool:
        """Answer who asks which models there are."""
        if self.request.method not in (b"GET", b"HEAD"):
            return False
        listed = listed_models(self.request.target, self.request.headers, [self._translation.target.model])
        if listed is None:
            raise _UntranslatableError(501, "a translating proxy answers questions to a model, and nothing else")
        written = dumps(listed)
        self._head_of(200, "application/json", None, length=len(written))
        self._say(written)
        self._finish_well()
        return True

    def _speaks(self) -> Dialect:
        """Tell what a question is in. Its path tells, and not its body: counting tokens has the body of a question."""
        name = dialect_of_path(self.request.target.decode("utf-8", "replace"))
        if self.request.method != b"POST":
            raise _UntranslatableError(501, "a translating proxy answers questions to a model, and nothing else")
        if name is None:
            raise _UntranslatableError(404, "this is no question of a dialect that is known here")
        return dialect(name)

    def _read(self) -> dict[str, Any]:
        """Read the request, unpacked if need be [X-15]."""
        if self._size > _LONGEST_BODY:
            raise _UntranslatableError(413, "the request is too large to be translated")
        unpacking = Decoding(self.request.encoding, _LONGEST_BODY)
        said = unpacking.feed(b"".join(self._pieces))
        if unpacking.note:
            status = 400 if len(said) < _LONGEST_BODY else 413
            raise _UntranslatableError(status if unpacking.decodes else 415, f"the request's body: {unpacking.note}")
        try:
            body = loads(said)
        except ValueError as problem:
            raise _UntranslatableError(400, f"the request is no JSON: {problem}") from None
        if not isinstance(body, dict):
            raise _UntranslatableError(400, "the request is no JSON object")
        return body

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
            self._tell_loss(f"to {target.provider.name}: {loss}")
        return plan, blobs

    def _tell_loss(self, loss: str) -> None:
        if self.capture is not None:
            self.capture.note(f"not carried {loss}")
        if self._translation.on_loss is not None:
            self._translation.on_loss(loss)

    def _wants_stream(self, body: Mapping[str, Any], source: Dialect) -> bool:
        path = self.request.target.partition(b"?")[0]
        if source.name in ("gemini", "bedrock"):
            return path.endswith((b":streamGenerateContent", b"/converse-stream"))
        return body.get("stream", source.name == "ollama") is True

    async def _answer(self, plan: tuple[RequestPlan, InMemoryBlobStore], source: Dialect) -> None:
        request, blobs = plan
        target = self._translation.target
        reply = await self._translation.client.send(call_to(target, request.request, blobs=blobs))
        if source.name != target.provider.dialect:
            reply = told_elsewhere(reply)
        answer = source.encode_response(reply, blobs)
        for item in answer.losses:
            self._tell_loss(f"from {target.provider.name}: {item.description}: {item.reason}")
        written = dumps(answer.body)
        self._head_of(200, "application/json", request.with_excluded(answer.losses), length=len(written))
        self._say(written)

    async def _tell(self, plan: tuple[RequestPlan, InMemoryBlobStore], source: Dialect) -> None:
        request, blobs = plan
        encoder: Any = source.StreamEncoder(blobs)
        framing = source.framing
        if source.name == "gemini" and parse_qs(self.request.target.partition(b"?")[2]).get(b"alt") != [b"sse"]:
            encoder, framing = _ArrayEncoder(encoder.feed), "json_array"
        call = call_to(self._translation.target, request.request, blobs=blobs)
        async with self._translation.client.stream(call) as events:
            async for event in events:
                if not self.has_answered:  # the far side has agreed to answer
                    self._head_of(200, _MEDIA_TYPES[framing], request)
                self._chunk(encoder.feed(event))
                await self._valve.is_open.wait()
            is_whole = events.reply is not None and events.reply.finished
        if not is_whole:
            self._break_off()
            return
        self._chunk(encoder.close())
        self._last_chunk()

    # -- towards the client --------------------------------------------------------------------------------------------

    def _head_of(
        self,
        status: int,
        media_type: str,
        plan: RequestPlan | None,
        length: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
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
        if retry_after_s is not None:
            lines.append(f"Retry-After: {math.ceil(retry_after_s)}")
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
        if self.client is not None and self.request.method != b"HEAD":
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

    def _refuse(self, status: int, why: str, source: Dialect | None, *, retry_after_s: float | None = None) -> None:
        """Say no in the client's words."""
        if self.has_answered or self.is_done:
            self._break_off()
            return
        speaks = source.name if source is not None else spoken_to(self.request.target, self.request.headers)
        written = dumps(_error(status, why, speaks or ""))
        self._head_of(status, "application/json", None, length=len(written), retry_after_s=retry_after_s)
        self._say(written)
        self._finish_well()


class _ArrayEncoder:
    """Tells a Gemini stream to who did not ask for server-sent events: as the elements of one JSON array."""

    def __init__(self, tell: Callable[[Event], bytes]) -> None:
        self._tell = tell
        self._parser = parser_for("sse")
        self._count = 0

    def feed(self, event: Event) -> bytes:
        written = b""
        for frame in self._parser.feed(self._tell(event)):
            written += encode_json_array(frame.data, self._count)
            self._count += 1
        return written

    def close(self) -> bytes:
        return b"]" if self._count else b"[]"


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


def _error(status: int, why: str, name: str) -> dict[str, Any]:
    """Give an error as a dialect's clients understand it."""
    if name == "anthropic":
        return {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": why}}
    if name == "gemini":
        return {"error": {"code": status, "message": why, "status": _phrase(status).upper().replace(" ", "_")}}
    if name in ("bedrock", "cohere"):
        return {"message": why}
    if name == "ollama":
        return {"error": why}
    return {"error": {"message": why, "type": _KINDS.get(status, "api_error"), "param": None, "code": None}}
