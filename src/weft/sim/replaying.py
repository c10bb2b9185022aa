"""A provider that answers from a recording: what was asked then gets what was answered then, for tests offline.

A request is matched by its body as JSON; then without what says nothing about the question (whether it streams, who the
user is, cache marks); then by the recording that shares the most of its conversation and asks the same last thing. What
is like nothing that was recorded is refused, and the refusal names the nearest request and the first difference.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from weft.blobs import InMemoryBlobStore
from weft.errors import WeftError
from weft.jsontext import dumps, loads
from weft.sim.routes import Route, route
from weft.sim.script import Script
from weft.sim.server import Request, Response
from weft.sim.simulator import Seen, Simulator
from weft.sim.telling import split_frames, tell
from weft.wire import ODDITIES, dialect, recorded_frames, recorded_reply, take_off

__all__ = ["Match", "Replayer"]

Json = dict[str, Any]
Match: TypeAlias = Literal["exact", "closest", "sequence"]
MISS = 404
_VOLATILE = (
    "stream",
    "stream_options",
    "metadata",
    "user",
    "store",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
)
_LISTS = ("messages", "contents", "input")
_SHOWN = 80
_JSON = "application/json"


class _Recorded:
    """One recorded request, ready to be compared."""

    __slots__ = ("body", "exact", "id", "model", "plain", "record", "used")

    def __init__(self, record: Mapping[str, Any], index: int) -> None:
        given = record.get("request")
        self.record = record
        self.body: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        self.id = record.get("id") if isinstance(record.get("id"), str) else f"r{index}"
        self.exact = _canonical(self.body)
        self.plain = _canonical(_plain(self.body))
        self.model = self.body.get("model")
        self.used = 0


class Replayer(Simulator):
    """A server on loopback that answers from records. `missed` counts the requests that nothing was recorded for."""

    def __init__(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        match: Match = "closest",
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        on_request: Callable[[Seen], None] | None = None,
    ) -> None:
        """Take the records; `match` says how like a request has to be: the very one, near enough, or just the next."""
        self._records = [_Recorded(record, index) for index, record in enumerate(records)]
        models = dict.fromkeys(one.model for one in self._records if isinstance(one.model, str))
        super().__init__(Script(models=tuple(models) or None), host=host, port=port, clock=clock, on_request=on_request)
        self._match = match
        self._next = 0
        self.missed = 0

    def __len__(self) -> int:
        """Count the records."""
        return len(self._records)

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        found = route(urlsplit(request.target).path, request.headers)
        if found.action == "models":
            return await super().handle(request)
        try:
            body = loads(request.body) if request.body else {}
        except ValueError as problem:
            return self._told(request, found, _refusal(400, f"the body is no JSON: {problem}"), None)
        body = body if isinstance(body, dict) else {}
        one = self._find(body, found)
        if one is None:
            self.missed += 1
            return self._told(request, found, _refusal(MISS, self._nearest(body)), body)
        one.used += 1
        wants_stream = found.stream if found.stream is not None else body.get("stream") is True
        return self._told(request, found, _response(one, found, wants_stream=wants_stream), body)

    def _told(self, request: Request, found: Route, response: Response, body: Any) -> Response:
        path = urlsplit(request.target).path
        seen = Seen(
            request.method, path, found.provider, {}, body if body is not None else request.body, response.status
        )
        self.seen.append(seen)
        if self._on_request is not None:
            self._on_request(seen)
        return response

    # -- finding ---------------------------------------------------------------------------------------------------

    def _find(self, body: Json, found: Route) -> _Recorded | None:
        if self._match == "sequence":
            if self._next >= len(self._records):
                return None
            self._next += 1
            return self._records[self._next - 1]
        exact, plain = _canonical(body), _canonical(_plain(body))
        alike = [one for one in self._records if one.exact == exact]
        alike = alike or [one for one in self._records if one.plain == plain and _fits(one, found)]
        if not alike and self._match == "closest":
            alike = self._closest(body, found)
        # Asked again and again, the answers come in the order they were recorded; the last one stays.
        return min(alike, key=lambda one: one.used) if alike else None

    def _closest(self, body: Json, found: Route) -> list[_Recorded]:
        """Find the recorded conversations that end in the same words and share the most with this one."""
        asked = _messages(body)
        if not asked:
            return []
        near = [
            one
            for one in self._records
            if _fits(one, found) and (theirs := _messages(one.body)) and theirs[-1] == asked[-1]
        ]
        if not near:
            return []
        most = max(_shared(asked, _messages(one.body)) for one in near)
        return [one for one in near if _shared(asked, _messages(one.body)) == most]

    def _nearest(self, body: Json) -> str:
        """Say which recorded request is the nearest, and where it first differs."""
        if not self._records:
            return "nothing is recorded"
        asked = _messages(_plain(body))
        if self._match == "sequence":
            return f"all {len(self._records)} recorded answers have been given"
        best = max(
            self._records, key=lambda one: (_shared(asked, _messages(_plain(one.body))), one.model == body.get("model"))
        )
        apart = _difference(_plain(body), _plain(best.body))
        return f"no recorded request is like this one; the nearest is {best.id}: {apart}"


def _fits(one: _Recorded, found: Route) -> bool:
    """Tell whether a record is of the same API: by its path if it has one."""
    path = one.record.get("path")
    return not isinstance(path, str) or route(urlsplit(path).path, {}).face.dialect == found.face.dialect


def _plain(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in take_off(body)[0].items() if key not in _VOLATILE}


def _canonical(value: Any) -> bytes:
    """Give a hash that is the same for equal JSON, whatever the order of its keys."""
    return hashlib.sha256(dumps(_sorted(value))).digest()


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _messages(body: Mapping[str, Any]) -> Sequence[Any]:
    for key in _LISTS:
        value = take_off(body)[0].get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, str):
            return [value]
    return ()


def _shared(left: Sequence[Any], right: Sequence[Any]) -> int:
    count = 0
    for mine, theirs in zip(left, right, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _difference(asked: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    for key in sorted(asked.keys() | known.keys()):
        if key in _LISTS or asked.get(key) == known.get(key):
            continue
        return f"{key} is {_cut(asked.get(key))} here and {_cut(known.get(key))} there"
    mine, theirs = _messages(asked), _messages(known)
    at = _shared(mine, theirs)
    here = _cut(mine[at]) if at < len(mine) else "missing"
    there = _cut(theirs[at]) if at < len(theirs) else "missing"
    return f"message {at} is {here} here and {there} there"


def _cut(value: Any) -> str:
    text = "missing" if value is None else dumps(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# -- answering ---------------------------------------------------------------------------------------------------------


def _response(one: _Recorded, found: Route, *, wants_stream: bool) -> Response:
    record = one.record
    response, error = record.get("response"), record.get("error")
    status = record.get("status")
    status = status if isinstance(status, int) and 200 <= status <= 599 else 200
    if response is None:
        return _refusal(502, f"recorded request {one.id} had no answer: {error or 'the connection was lost'}")
    if not isinstance(response, Mapping):
        return Response(status, {"content-type": _JSON}, dumps(response))
    if isinstance(raw := response.get("raw"), str):
        return Response(status, {"content-type": "text/plain; charset=utf-8"}, raw.encode("utf-8", "surrogatepass"))
    is_stream = response.get("stream") is True
    if is_stream == wants_stream or status >= 400 or "error" in response:
        return _as_recorded(response, status, found) if is_stream else _whole(response, status)
    try:
        return _retold(response, status, found, is_stream=is_stream)
    except (WeftError, *ODDITIES):
        return _as_recorded(response, status, found) if is_stream else _whole(response, status)


def _whole(response: Mapping[str, Any], status: int) -> Response:
    return Response(status, {"content-type": _JSON}, dumps(response))


def _as_recorded(response: Mapping[str, Any], status: int, found: Route) -> Response:
    """Send a stream in the frames it came in."""
    lines = response.get("sse_lines")
    if isinstance(lines, list):
        headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        return Response(status, headers, frames=recorded_frames(lines))
    if response.get("framing") == "ndjson":
        frames = iter([dumps(event) + b"\n" for event in response.get("events") or ()])
        return Response(status, {"content-type": "application/x-ndjson"}, frames=frames)
    return _retold(response, status, found, is_stream=True, stays=True)


def _retold(
    response: Mapping[str, Any], status: int, found: Route, *, is_stream: bool, stays: bool = False
) -> Response:
    """Give a streamed answer whole, or a whole one as a stream."""
    spoken, blobs = dialect(found.face.dialect), InMemoryBlobStore()
    reply = recorded_reply(response, spoken, blobs)
    if reply is None:
        raise ValueError("nothing was recorded that could be told again")
    if is_stream and not stays:
        return _whole(spoken.encode_response(reply, blobs).body, status)
    writer = spoken.StreamEncoder(blobs)
    written = b"".join([writer.feed(event) for event in tell(reply, usage=True)]) + writer.close()
    headers = {"content-type": found.face.stream_type, "cache-control": "no-cache"}
    return Response(status, headers, frames=split_frames(written, spoken.framing))


def _refusal(status: int, message: str) -> Response:
    kind = "not_found_error" if status == MISS else "replay_error"
    body = {"type": "error", "error": {"type": kind, "code": kind, "message": f"weft serve-replay: {message}"}}
    return Response(status, {"content-type": _JSON, "x-should-retry": "false"}, dumps(body))
