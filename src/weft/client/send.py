"""Client: one call out and its answer back, whole or as it comes.

It sends what it is given and reads what it gets; which question is asked, and what becomes of the answer, is decided
elsewhere. Cut anywhere, what arrived is kept: a stream ends with `stream.error` and a `stream.end` without a reason.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2

from weft.canon import Event, Reply, StreamEnd, replay
from weft.client.auth import KeyHeader, Signature
from weft.client.call import Call
from weft.client.ending import cleaned, closing
from weft.client.failure import is_passing, refused, unreachable, unreadable
from weft.client.network import Network
from weft.client.reading import ERROR_BYTES, read_json, read_some, read_whole
from weft.client.retry import RetryPolicy, asked_wait, is_worth_repeating
from weft.errors import ProviderError, UsageError
from weft.jsontext import dumps
from weft.providers import (
    AwsKey,
    Endpoint,
    Model,
    Provider,
    Redactor,
    Secret,
    auth_header,
    models_endpoint,
    newest_first,
    read_models,
)
from weft.version import __version__
from weft.wire import StreamReader, framing_of

__all__ = ["Client", "Stream", "Timeouts"]

_MOST_PAGES = 50


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait: for a connection, and between two signs of life. A long thought is no sign of life."""

    connect_s: float = 10.0
    idle_s: float = 600.0


class Client:
    """Calls providers. `async with Client(…) as client`; connections are kept between calls."""

    def __init__(
        self,
        network: Network | Mapping[str, str] | None = None,
        *,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
        on_wait: Callable[[str], None] | None = None,
        largest_bytes: int = 256 * 1024 * 1024,  # pictures come as base64
        watch: Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport] | None = None,
    ) -> None:
        """Take the way out (a Network, or an environment to read it from), and how patient to be.

        `on_wait` hears, in one line, why a call is about to be made again. A whole answer larger than `largest_bytes`
        is none. `watch` is given each transport and gives one around it, such as weft.trace.RecordingTransport.
        """
        self._watch = watch
        self._network = network if isinstance(network, Network) else Network.from_environ(network or {})
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or RetryPolicy()
        self._sleep, self._chance, self._now = sleep, chance, now
        self._on_wait = on_wait
        self.largest_bytes = largest_bytes
        self._lines: dict[tuple[bool, str | None], httpx2.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            await line.aclose()

    # -- what it is for --------------------------------------------------------------------------------------

    async def send(self, call: Call) -> Reply:
        """Make a call and give the whole answer."""
        redact = call.redact
        response = await self._post(call, redact, stream=False)
        try:
            reply = await read_whole(response, call, redact, self.largest_bytes)
        finally:
            await response.aclose()
        if isinstance(reply, ProviderError):
            raise reply
        return reply

    def stream(self, call: Call) -> Stream:
        """Make a call and give its events as they come: `async with client.stream(call) as events: async for …`."""
        return Stream(self, call)

    async def models(self, row: Provider, key: Secret | None = None) -> list[Model]:
        """List a provider's models, newest first where it gives a date."""
        redact, models = Redactor([key]), list[Model]()
        more: dict[str, str] | None = None
        for _ in range(_MOST_PAGES):
            endpoint = models_endpoint(row, more)
            response = await self._answer(row, endpoint, key, redact)
            try:
                body = await read_json(response, row, redact, self.largest_bytes)
            finally:
                await response.aclose()
            if isinstance(body, ProviderError):
                raise body
            page, more = read_models(row, body)
            models += page
            if more is None:
                break
        return newest_first(models)

    # -- one call, as often as it takes ------------------------------------------------------------------------

    async def _post(self, call: Call, redact: Redactor, *, stream: bool) -> httpx2.Response:
        endpoint = call.endpoint(stream=stream)
        headers = {"content-type": "application/json", "accept": "text/event-stream, */*" if stream else "*/*"}
        if stream:
            headers["accept-encoding"] = "identity"  # packed bytes would come in lumps
        endpoint = Endpoint(endpoint.url, (*headers.items(), *endpoint.headers, *call.headers.items()))
        body = dumps(call.written(stream=stream))
        return await self._answer(call.provider, endpoint, call.key, redact, body)

    async def _answer(
        self, row: Provider, endpoint: Endpoint, key: Secret | None, redact: Redactor, body: bytes | None = None
    ) -> httpx2.Response:
        """Give an answer that says yes, its body not yet read; try again where that is safe."""
        line = self._line(endpoint.url)
        auth = self._auth(row, key)
        attempt = 0
        while True:
            attempt += 1
            asked: float | None = None
            response, error, again = await self._try(line, row, endpoint, auth, redact, body)
            if response is not None:
                if response.is_success:
                    return response
                said = redact((await read_some(response, ERROR_BYTES)).decode("utf-8", "replace"))
                asked = asked_wait(response.headers, said, self._now())
                again = is_worth_repeating(response.status_code, response.headers, said)
                error = refused(row, endpoint.url, response.status_code, said, redact, waits=asked)
            wait_s = self._retries.wait_s(attempt, asked, self._chance) if again else None
            assert error is not None  # noqa: S101  # either there was an answer or there was not
            if wait_s is None:
                raise error
            if self._on_wait is not None:
                self._on_wait(f"{str(error).partition(chr(10))[0]}; trying again in {wait_s:.1f} s")
            await self._sleep(wait_s)

    async def _try(
        self,
        line: httpx2.AsyncClient,
        row: Provider,
        endpoint: Endpoint,
        auth: httpx2.Auth | None,
        redact: Redactor,
        body: bytes | None,
    ) -> tuple[httpx2.Response | None, ProviderError | None, bool]:
        try:
            request = line.build_request(
                "GET" if body is None else "POST", endpoint.url, headers=list(endpoint.headers), content=body
            )
            return await line.send(request, stream=True, auth=auth), None, False
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            return None, unreachable(row, endpoint.url, problem, redact), is_passing(problem)

    def _auth(self, row: Provider, key: Secret | None) -> httpx2.Auth | None:
        match key:
            case None:
                return None
            case AwsKey():
                return Signature(key, self._now)
        return KeyHeader(auth_header(row, is_token=key.is_token), key)

    def _line(self, url: str) -> httpx2.AsyncClient:
        """Give the connections for an address: made when first needed, as reading certificates takes its time."""
        secure, proxy = url.startswith("https:"), self._network.proxy_for(url)
        if (secure, proxy) not in self._lines:
            times = self._timeouts
            # Without TLS there is nobody to trust: an empty store costs nothing to make.
            trust = self._network.trust() if secure or (proxy or "").startswith("https:") else _trusting_nobody()
            try:
                transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(
                    verify=trust, trust_env=False, proxy=proxy
                )
                self._lines[secure, proxy] = httpx2.AsyncClient(
                    transport=transport if self._watch is None else self._watch(transport),
                    trust_env=False,
                    headers={"user-agent": f"weft/{__version__}"},
                    timeout=httpx2.Timeout(times.idle_s, connect=times.connect_s, pool=None),
                )
            except (ValueError, ImportError) as problem:  # an unknown scheme; SOCKS, which needs a package
                raise UsageError(f"the proxy cannot be used: {str(problem).replace(proxy or '', '<proxy>')}") from None
        return self._lines[secure, proxy]


class Stream:
    """The events of one answer, as they come. Leaving it, or being cancelled, hangs up."""

    def __init__(self, client: Client, call: Call) -> None:
        """Make no call yet; that begins with the first event asked for."""
        self._client, self._call = client, call
        self._redact = call.redact
        self._events: AsyncGenerator[Event, None] | None = None
        self._decoder: Any = None
        self._reader: StreamReader | None = None
        self.headers: Mapping[str, str] = {}
        self.reply: Reply | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._events is None:
            self._events = self._run()
        return self._events

    async def aclose(self) -> None:
        """Hang up."""
        if self._events is not None:
            await self._events.aclose()

    def cut(self, why: str) -> list[Event]:
        """Give the last events of an answer that will not be heard to its end, by what arrived of it.

        For a caller who stops listening: after it the stream is over, and `reply` is what there is.
        """
        if self._reader is None or self.reply is not None:
            return []
        self._decoder.fail(self._redact(why))
        return [self._heard(event) for event in closing(self._reader)]

    async def _run(self) -> AsyncGenerator[Event, None]:
        call = self._call
        response = await self._client._post(call, self._redact, stream=True)  # noqa: SLF001  # one of the two halves
        try:
            self.headers = response.headers
            kind = response.headers.get("content-type", "")
            framing = framing_of(kind)
            if kind.startswith("text/html"):
                said = self._redact((await read_some(response, ERROR_BYTES)).decode("utf-8", "replace"))
                raise unreadable(call.provider, response.status_code, kind, said, self._redact)
            if framing == "json_array" and call.dialect.framing != "json_array":
                # Asked for a stream, it sent the whole: some servers cannot do otherwise.
                whole = await read_whole(response, call, self._redact, self._client.largest_bytes)
                if isinstance(whole, ProviderError):
                    raise whole
                for event in replay(whole):
                    yield self._heard(event)
                return
            self._decoder = call.dialect.StreamDecoder(call.blobs, provider=call.provider.name)
            reader = self._reader = StreamReader(self._decoder, framing or call.dialect.framing)
            try:
                async with aclosing(response.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        for event in reader.feed(chunk):
                            yield self._heard(event)
            except (httpx2.HTTPError, OSError) as problem:
                lost = unreachable(call.provider, str(response.url), problem, self._redact)
                self._decoder.fail(str(lost).partition("\n")[0])
            for event in closing(reader):
                yield self._heard(event)
        finally:
            await response.aclose()

    def _heard(self, event: Event) -> Event:
        event = cleaned(event, self._redact)
        if isinstance(event, StreamEnd):
            self.reply = event.reply
            self._decoder = self._reader = None  # and with them every piece of the answer
        return event


def _trusting_nobody() -> Any:
    import ssl  # noqa: PLC0415

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
