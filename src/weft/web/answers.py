"""Questions and answers over HTTP: reading parameters and bodies, writing JSON, and what errors become."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.errors import StoreError, TurnNotFoundError, UnknownBookmarkError, UsageError, WeftError
from weft.jsontext import dumps, loads

__all__ = ["JsonResponse", "RefusedError", "check_id", "error_response", "json_body", "number", "refusal_of", "text"]

LARGEST_BODY = 8 << 20
_ID = re.compile(r"[A-Za-z0-9_.-]{1,80}")


class RefusedError(WeftError):
    """A request that is not answered with what it asked for: the status, a word for programs, a sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Say why."""
        self.status, self.code = status, code
        super().__init__(message)


class JsonResponse(Response):
    """An answer as exact JSON: big numbers and lone surrogates included."""

    media_type: str | None = "application/json"

    def render(self, content: Any) -> bytes:
        return dumps(content)


def error_response(refusal: RefusedError) -> JsonResponse:
    """Write a refusal as the contract's ErrorAnswer."""
    return JsonResponse({"error": {"code": refusal.code, "message": str(refusal)}}, status_code=refusal.status)


def refusal_of(error: Exception) -> RefusedError:
    """Say what an error of weft means to a page; what is not expected is told by its kind alone."""
    match error:
        case RefusedError():
            return error
        case TurnNotFoundError() | UnknownBookmarkError():
            return RefusedError(404, "not_found", str(error))
        case UsageError():
            return RefusedError(400, "usage", str(error))
        case StoreError():
            return RefusedError(500, "store", str(error))
        case WeftError():
            return RefusedError(500, "weft", str(error))
    return RefusedError(500, "fault", f"a fault in weft itself: {type(error).__name__}")


def check_id(value: str, what: str) -> str:
    """Take an id from a path or a parameter; anything that is not shaped as one names nothing."""
    if not _ID.fullmatch(value):
        raise RefusedError(404, "not_found", f"no such {what}")
    return value


def number(request: Request, name: str, default: int, *, least: int = 0, most: int = 1 << 62) -> int:
    """Read a whole number; more than `most` is `most`."""
    given = request.query_params.get(name)
    if given is None or given == "":
        return default
    if not re.fullmatch(r"[0-9]{1,18}", given) or int(given) < least:
        raise RefusedError(400, "parameter", f"{name} is a whole number from {least} on")
    return min(int(given), most)


def text(request: Request, name: str) -> str | None:
    """Read a text; an empty one is none."""
    return request.query_params.get(name) or None


async def json_body(request: Request) -> Mapping[str, Any]:
    """Read a JSON object."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > LARGEST_BODY:
            raise RefusedError(413, "too_large", f"more than {LARGEST_BODY} bytes")
        pieces.append(piece)
    try:
        body = loads(b"".join(pieces))
    except ValueError as problem:
        raise RefusedError(400, "json", f"the body is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "json", "the body is not a JSON object")
    return body
