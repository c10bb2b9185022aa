"""What went wrong with a call, in one clear line: who, what, what to do. No key is in any of it [K-02].

Tracebacks of the HTTP library are let go: their frames hold headers, and whoever prints locals would print them [K-12].
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from weft.errors import ProviderError
from weft.jsontext import loads
from weft.providers import Provider, Redactor

__all__ = ["is_passing", "refused", "unreachable", "unreadable"]

_LONGEST_QUOTE = 300


def refused(
    row: Provider, url: str, status: int, body: str, redact: Redactor, *, waits: float | None = None
) -> ProviderError:
    """Say that the provider answered with an error."""
    body = redact(body)
    said = _message(body)
    what, todo = _status_words(row, status, waits, url)
    line = f"{row.name}: {what} ({status})" + (f": {said}" if said else "")
    # Once more: what was escaped in the body is plain in its message.
    told = redact(f"{line}\n  {todo}" if todo else line)
    return ProviderError(told, provider=row.name, status=status, body=body, retry_after_s=waits)


def unreadable(
    row: Provider, status: int, content_type: str, body: str, redact: Redactor, why: str = ""
) -> ProviderError:
    """Say that what came back is no answer in the provider's dialect."""
    body = redact(body)
    kind = content_type.partition(";")[0].strip() or "no content type"
    what = why or f"answered with something that is not JSON ({kind})"
    begins = f": {_quote(body)}" if body.strip() else ", and nothing in it"
    todo = "is the address right, or does a proxy or login page stand between?"
    return ProviderError(f"{row.name}: {what}{begins}\n  {todo}", provider=row.name, status=status, body=body)


def unreachable(row: Provider, url: str, problem: Exception, redact: Redactor) -> ProviderError:
    """Say that no answer could be had at all."""
    what, todo = _transport_words(row, problem, urlsplit(url))
    error = ProviderError(redact(f"{row.name}: {what}\n  {todo}"), provider=row.name)
    error.__cause__ = _told(problem, redact)
    return error


def is_passing(problem: Exception) -> bool:
    """Tell whether nothing was heard for a reason that may pass: no connection, or one gone before the first byte."""
    match problem:
        case httpx2.ConnectError():
            # A name that does not exist may exist in a moment; a certificate will not be another.
            return not any(isinstance(cause, ssl.SSLError) for cause in _chain(problem))
        case httpx2.ConnectTimeout() | httpx2.ReadError() | httpx2.WriteError():
            return True
        case httpx2.RemoteProtocolError():
            return "without sending a response" in str(problem)
    return False


def _told(problem: Exception, redact: Redactor) -> BaseException:
    """Keep the cause by its kind and text alone."""
    text = redact(str(problem))
    return type(problem)(text) if isinstance(problem, httpx2.TransportError) else OSError(text)


def _status_words(row: Provider, status: int, waits: float | None, url: str) -> tuple[str, str]:
    place = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}{urlsplit(url).path}"
    match status:
        case 400 | 422:
            return "does not take the request", "see it as sent: --dry-run"
        case 401:
            return "does not accept the key", f"which one is used: weft keys; another: weft keys set {row.name}"
        case 402:
            return "wants to be paid first", ""
        case 403:
            return "does not allow this", "may the key use this model? which one is used: weft keys"
        case 404:
            return f"has nothing at {place}", f"is the model's name right? see: weft models {row.name}"
        case 408 | 504:
            return "took too long", "try again"
        case 413:
            return "finds the request too large", "leave something out"
        case 429:
            later = f"it asks to wait {waits:.0f} s" if waits else "wait a little"
            return "says it is too much", f"{later}, or use another provider"
        case 529:
            return "is overloaded", "try again later, or use another provider"
        case _ if 300 <= status < 400:
            return f"sends us elsewhere from {place}", "keys do not follow redirects; put the right address in base_url"
        case _ if status >= 500:
            return "failed on its side", "try again later, or use another provider"
    return "refused", ""


def _transport_words(row: Provider, problem: Exception, url: Any) -> tuple[str, str]:
    host = f"{url.hostname}:{url.port}" if url.port else str(url.hostname)
    again = "is the network up? try again"
    causes = list(_chain(problem))
    if isinstance(problem, httpx2.ProxyError):
        return f"the proxy does not let us through to {host}: {problem}", "see HTTPS_PROXY and NO_PROXY"
    if found := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        reason = getattr(found, "verify_message", "") or found.reason or str(found)
        return (
            f"no safe connection to {host}: {reason}",
            "behind a proxy with its own certificate, set SSL_CERT_FILE; if not, do not go on",
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return (
            f"no such host as {url.hostname}",
            f"is base_url right, and the network up? see: weft provider ({row.name})",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes) or "refused" in str(problem).lower():
        return f"nothing listens at {host}", "is the server started, and base_url right?"
    match problem:
        case httpx2.ConnectTimeout():
            return f"no connection to {host} in time", again
        case httpx2.ReadTimeout() | httpx2.WriteTimeout():
            return f"{host} went silent", "try again"
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return f"the address is no URL that can be called: {problem}", "see base_url"
        case httpx2.LocalProtocolError():
            return f"the request cannot be sent: {problem}", "see the headers in the settings"
        case httpx2.DecodingError():
            return f"what {host} sent cannot be unpacked: {problem}", again
    return f"the connection to {host} broke: {str(problem) or type(problem).__name__}", again


def _chain(problem: BaseException) -> Any:
    todo: list[BaseException | None] = [problem]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        todo += [each.__cause__, each.__context__, *(each.exceptions if isinstance(each, BaseExceptionGroup) else ())]


def _message(body: str) -> str:
    """Find what the provider says in its error body; a body that is not JSON is quoted."""
    try:
        value = loads(body)
    except ValueError:
        return _quote(body) if body.strip() else ""
    if isinstance(value, list) and value:  # Gemini's streams wrap even an error in a list
        value = value[0]
    if isinstance(value, Mapping):
        error = value.get("error")
        found = error.get("message") if isinstance(error, Mapping) else error
        for said in (found, value.get("message"), value.get("Message"), value.get("detail")):
            if isinstance(said, str) and said.strip():
                return _quote(said)
    return _quote(body) if body.strip() not in ("", "{}", "null") else ""


def _quote(text: str) -> str:
    line = " ".join(text[: _LONGEST_QUOTE * 4].split())
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}…"
