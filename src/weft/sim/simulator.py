"""The simulator itself: a server on loopback, what it remembers, and what it has seen.

async with Simulator() as sim:
    client = openai.AsyncOpenAI(base_url=sim.address("openai"), api_key="any")
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from weft.jsontext import dumps, loads
from weft.sim.answering import answer
from weft.sim.face import Ask, Book, Payload
from weft.sim.limits import Limiter, Limits
from weft.sim.models import MISSING, MODELS
from weft.sim.refusal import RefusedError
from weft.sim.routes import Route, route
from weft.sim.script import Script
from weft.sim.server import Request, Response, serve_connection
from weft.sim.tokens import PromptCache

__all__ = ["ANY_KEY", "Seen", "Simulator"]

SECRET = ("authorization", "x-api-key", "x-goog-api-key", "x-amz-security-token", "cookie", "proxy-authorization")
KEPT_REQUESTS = 1_000
# What stands after our address for each provider, and the variables in which its clients look for address and key.
ADDRESSES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "openai": ("/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",)),
    "anthropic": ("", ("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    "gemini": ("", ("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY",)),
    "bedrock": (
        "",
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEDROCK_BASE_URL"),
        ("AWS_BEARER_TOKEN_BEDROCK",),
    ),
    "cohere": ("/cohere", ("CO_API_URL",), ("CO_API_KEY", "COHERE_API_KEY")),
}
ANY_KEY = "weft-sim"


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came, without the key it came with, and the status it got."""

    method: str
    path: str
    provider: str
    headers: Mapping[str, str]
    body: Any  # JSON as it was read, or bytes
    status: int


class Simulator:
    """One server that speaks every dialect. `url` is where it is; `seen` is what came, newest last."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        on_request: Callable[[Seen], None] | None = None,
    ) -> None:
        """Prepare a simulator; port 0 takes a free one. `clock` is what rate limits go by."""
        script = script or Script()
        self.book = Book(script, Limiter(script.requests_per_minute, clock), PromptCache(script.cache_minimum))
        self.seen: deque[Seen] = deque(maxlen=KEPT_REQUESTS)
        self._host = host
        self._port = port
        self._on_request = on_request
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Start listening."""
        self._server = await asyncio.start_server(self._connected, self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    def address(self, provider: str) -> str:
        """Give the base URL that a provider's clients are given."""
        return self.url + (ADDRESSES[provider][0] if provider in ADDRESSES else f"/{provider}/v1")

    def environment(self) -> dict[str, str]:
        """Give the variables that lead clients here: addresses, and a key that will do."""
        key = self.book.script.keys[0] if self.book.script.keys else ANY_KEY
        variables = {name: self.address(provider) for provider, row in ADDRESSES.items() for name in row[1]}
        return variables | {name: key for row in ADDRESSES.values() for name in row[2]} | {"AWS_REGION": "us-east-1"}

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        with suppress(asyncio.CancelledError):  # the simulator is closing; the task is its own and ends here
            await serve_connection(reader, writer, self.handle)

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        split = urlsplit(request.target)
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        found = route(split.path, request.headers)
        mark = hashlib.sha256(request.target.encode() + b"\0" + request.body).hexdigest()
        asked = _Asked(request, found, split.path, query, mark)
        response = self._response(asked)
        seen = Seen(
            request.method,
            split.path,
            found.provider,
            {name: value for name, value in request.headers.items() if name not in SECRET},
            asked.body if asked.body is not None else request.body,
            response.status,
        )
        self.seen.append(seen)
        if self._on_request is not None:
            self._on_request(seen)
        return response

    def _response(self, asked: _Asked) -> Response:
        face = asked.route.face
        try:
            limits = self._admit(asked)
            if asked.route.action == "models":
                payload = Payload(200, dumps(self._models(asked)), face.headers(asked.mark, limits))
                return _whole(payload)
            asked.ask = ask = asked.understood()
            outcome = answer(face, ask, self.book)
        except RefusedError as refused:
            return _whole(face.refusal(refused, asked.mark, asked.ask))
        kind = face.stream_type if outcome.frames is not None else "application/json"
        if face.dialect == "gemini" and ask.stream and ask.query.get("alt") != "sse":
            kind = "application/json; charset=UTF-8"
        headers = {"content-type": kind, **face.headers(asked.mark, limits)}
        if outcome.frames is not None:
            headers["cache-control"] = "no-cache"
        return Response(200, headers, outcome.body, outcome.frames, outcome.cut, outcome.stall, outcome.slow_ms)

    def _admit(self, asked: _Asked) -> Limits:
        """Check what comes before the body: the path, the key, the limits, the size."""
        face, request = asked.route.face, asked.request
        if asked.route.action == "nothing":
            raise RefusedError(404, f"Invalid URL ({request.method} {asked.path})")
        if request.method != ("GET" if asked.route.action == "models" else "POST"):
            raise RefusedError(405, f"Not allowed to {request.method} on {asked.path}.")
        key = face.key_of(request.headers, asked.query)
        if not key:
            raise face.no_key()
        if self.book.script.keys is not None and key not in self.book.script.keys:
            raise face.bad_key()
        limits = self.book.limiter.take()
        if isinstance(limits, float):
            raise RefusedError(429, retry_after=float(-(-limits // 1)))
        if request.oversize:
            raise RefusedError(413)
        return limits

    def _models(self, asked: _Asked) -> dict[str, Any]:
        face, name = asked.route.face, asked.route.model
        names = self.book.script.models or MODELS.get(asked.route.provider, MODELS["openai"])
        if name is None:
            return face.model_list(names)
        name = name.removeprefix("models/")
        if name.startswith(MISSING) or (self.book.script.models is not None and name not in names):
            raise face.no_model(asked.about(name))
        return face.model_card(name)


@dataclass(slots=True)
class _Asked:
    """A request on its way to being understood."""

    request: Request
    route: Route
    path: str
    query: dict[str, str]
    mark: str
    body: Any = None
    ask: Ask | None = None

    def understood(self) -> Ask:
        """Read the body."""
        try:
            self.body = loads(self.request.body)
        except ValueError as problem:
            raise RefusedError(400, f"We could not parse the JSON body of your request: {problem}") from None
        if not isinstance(self.body, dict):
            raise RefusedError(
                400, f"The JSON body of your request must be an object, not a {type(self.body).__name__}"
            )
        body = dict(self.body)
        model = self.route.model if self.route.model is not None else body.get("model")
        stream = self.route.stream if self.route.stream is not None else body.get("stream") is True
        return Ask(
            self.route.provider,
            self.request.method,
            self.path,
            self.request.headers,
            self.query,
            body,
            model if isinstance(model, str) else "",
            stream,
            self.mark,
        )

    def about(self, model: str) -> Ask:
        """Make a request of a question about a model, for the words of its refusal."""
        return Ask(self.route.provider, "GET", self.path, self.request.headers, self.query, {}, model, False, self.mark)


def _whole(payload: Payload) -> Response:
    return Response(payload.status, {"content-type": payload.content_type, **payload.headers}, payload.body)
