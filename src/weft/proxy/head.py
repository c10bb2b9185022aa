"""Heads of HTTP/1.1 messages: read strictly, passed on line by line as they came (RFC 9112).

Nothing is normalised: header lines go on in their order and spelling. Left out are those that belong to one connection
only [X-21], and `Host`. A request that two readers could understand in two ways is refused: two lengths, a length and a
chunked body, folded lines, bare line feeds [X-20].
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BadMessage", "RequestHead", "ResponseHead", "read_request_head", "read_response_head"]

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: [^\x00\r\n]*)?")
_FIELDS = re.compile(rb"(?:\r\n" + _TOKEN + rb":[^\x00-\x08\x0a-\x1f\x7f]*)*")
_DIGITS = re.compile(rb"[0-9]{1,18}")
# Of one connection (RFC 9110, 7.6.1); transfer-encoding is too, but the chunks pass as they are, and so does it.
_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"proxy-authenticate"})
_NOT_SENT = _HOP | {b"host", b"expect", b"proxy-authorization", b"http2-settings"}
_NO_BODY = frozenset({204, 304})


class BadMessage(Exception):  # noqa: N818 - it is the message that is bad
    """A message that cannot be passed on: the status to answer with, and why."""

    def __init__(self, status: int, why: str) -> None:
        """Say what is wrong."""
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class RequestHead:
    """A request's head: what must be known of it, and the lines to pass on."""

    method: bytes
    target: bytes
    is_old: bool  # HTTP/1.0
    headers: list[tuple[bytes, bytes]]  # names in lower case
    lines: list[bytes]  # to pass on, as they came
    length: int | None = None
    is_chunked: bool = False
    keeps_alive: bool = True
    upgrade: bytes = b""  # what the client would rather speak
    expects: bool = False
    media_type: str = ""
    encoding: str = ""


@dataclass(slots=True)
class ResponseHead:
    """A response's head."""

    status: int
    status_line: bytes
    lines: list[bytes]
    length: int | None = None
    is_chunked: bool = False
    keeps_alive: bool = True
    upgrade: bytes = b""
    idle_seconds: float | None = None  # how long the far side keeps the connection, if it says
    media_type: str = ""
    encoding: str = ""

    @property
    def has_no_body(self) -> bool:
        """Tell whether the status rules out a body."""
        return self.status in _NO_BODY or self.status < 200


def read_request_head(head: bytes) -> RequestHead:
    """Read a head, without its closing blank line."""
    line, _, _ = head.partition(b"\r\n")
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        if re.fullmatch(_TOKEN + rb" [\x21-\x7e\x80-\xff]+ HTTP/[0-9.]+", line):
            raise BadMessage(505, "only HTTP/1.1 is spoken here")
        raise BadMessage(400, "the request line is malformed")
    if _FIELDS.fullmatch(head, len(line)) is None:
        raise BadMessage(400, "a header line is malformed: folded, without a name, or with a bare line feed or control")
    request = RequestHead(found[1], found[2], found[3] == b"0", [], [])
    codings: list[bytes] = []
    named: list[bytes] = []
    for field_line in head[len(line) + 2 :].split(b"\r\n") if len(head) > len(line) else ():
        name, _, value = field_line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        request.headers.append((name, value))
        if name in _TELLING:
            _hear(request, name, value, codings, named)
        if name not in _NOT_SENT:
            request.lines.append(field_line)
    if codings:
        if request.length is not None:
            raise BadMessage(400, "the request has both a content-length and a transfer-encoding")
        if codings != [b"chunked"]:
            raise BadMessage(400, "of transfer-encodings only chunked is understood, and once")
        if request.is_old:
            raise BadMessage(400, "HTTP/1.0 has no chunked bodies")
        request.is_chunked = True
    request.keeps_alive = b"close" not in named and (not request.is_old or b"keep-alive" in named)
    if b"upgrade" not in named:
        request.upgrade = b""
    request.lines = _without(request.lines, named, (b"content-length", b"transfer-encoding"))
    return request


# Headers of a request that say something to the proxy.
_TELLING = frozenset(
    {
        b"connection",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"expect",
        b"transfer-encoding",
        b"upgrade",
    }
)


def _hear(request: RequestHead, name: bytes, value: bytes, codings: list[bytes], named: list[bytes]) -> None:
    match name:
        case b"content-length":
            if request.length is not None or _DIGITS.fullmatch(value) is None:
                raise BadMessage(400, "content-length is malformed, or there are two")
            request.length = int(value)
        case b"transfer-encoding":
            codings.append(value.lower())
        case b"connection":
            named += _words(value)
        case b"upgrade":
            request.upgrade = value.lower()
        case b"expect":
            request.expects = value.lower() == b"100-continue"
        case b"content-type":
            request.media_type = _media_type(value)
        case b"content-encoding":
            request.encoding = value.decode("latin-1").lower()


def read_response_head(head: bytes) -> ResponseHead:
    """Read a head, without its closing blank line. Less strict than with requests: the far side is the chosen one."""
    line, _, rest = head.partition(b"\r\n")
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        raise BadMessage(502, "the far side does not speak HTTP/1.1")
    response = ResponseHead(int(found[2]), b"HTTP/1.1" + line[8:], [])
    named: list[bytes] = []
    codings: list[bytes] = []
    for field_line in rest.split(b"\r\n") if rest else ():
        name, colon, value = field_line.partition(b":")
        if not colon or b"\n" in field_line or field_line[:1] in (b" ", b"\t"):
            raise BadMessage(502, "a header line of the far side is malformed")
        name, value = name.lower(), value.strip(b" \t")
        if name == b"connection":
            named += _words(value)
        elif name == b"transfer-encoding":
            codings.append(value.lower())
        else:
            _hear_response(response, name, value)
        if name not in _HOP or (name == b"upgrade" and response.status in (101, 426)):
            response.lines.append(field_line)
    if codings:
        response.is_chunked = True
        if codings != [b"chunked"]:
            raise BadMessage(502, "the far side's transfer-encoding is not understood")
        if response.length is not None:  # chunked wins (RFC 9112, 6.3), and the length must not go on
            response.length = None
            response.lines = [one for one in response.lines if not one.lower().startswith(b"content-length:")]
    is_old = found[1] == b"0"
    response.keeps_alive = b"close" not in named and (not is_old or b"keep-alive" in named)
    response.lines = _without(response.lines, named, (b"content-length", b"transfer-encoding", b"upgrade"))
    return response


def _hear_response(response: ResponseHead, name: bytes, value: bytes) -> None:
    match name:
        case b"content-length":
            if _DIGITS.fullmatch(value) is None or response.length not in (None, int(value)):
                raise BadMessage(502, "the far side's content-length is malformed")
            response.length = int(value)
        case b"keep-alive":
            if seconds := re.search(rb"timeout=([0-9]{1,6})", value):
                response.idle_seconds = float(seconds[1])
        case b"upgrade":
            response.upgrade = value
        case b"content-type":
            response.media_type = _media_type(value).partition(";")[0].strip()
        case b"content-encoding":
            response.encoding = value.decode("latin-1").lower()


def _words(value: bytes) -> list[bytes]:
    return [word for part in value.lower().split(b",") if (word := part.strip())]


def _without(lines: list[bytes], named: list[bytes], never: tuple[bytes, ...]) -> list[bytes]:
    """Leave out the headers that `Connection` names; but not those that say where the body ends."""
    dropped = {name for name in named if name not in never and name not in (b"close", b"keep-alive", b"upgrade")}
    return [line for line in lines if line.partition(b":")[0].lower() not in dropped] if dropped else lines


def _media_type(value: bytes) -> str:
    kind, semicolon, rest = value.decode("latin-1").partition(";")
    return kind.strip().lower() + semicolon + rest
