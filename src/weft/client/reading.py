"""Reading a body: as JSON, as a whole answer, or as much of it as an error needs."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import httpx2

from weft.canon import Reply
from weft.client.call import Call
from weft.client.failure import refused, unreachable, unreadable
from weft.errors import ProviderError
from weft.jsontext import dumps, loads
from weft.providers import Provider, Redactor
from weft.wire import ODDITIES

__all__ = ["ERROR_BYTES", "read_json", "read_some", "read_whole"]

ERROR_BYTES = 64 * 1024  # of an error's body; what is beyond says nothing new


async def read_some(response: httpx2.Response, limit: int) -> bytes:
    """Read the beginning of a body and hang up; what cannot be read is not there."""
    data = bytearray()
    try:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) >= limit:
                    break
    except httpx2.HTTPError:
        pass  # the status has been said; its text is a courtesy
    finally:
        await response.aclose()
    return bytes(data[:limit])


async def read_json(response: httpx2.Response, row: Provider, redact: Redactor, largest: int) -> Any:
    """Read a body as JSON, or give the error that it is. Not raised: this frame holds what was sent [K-12]."""
    data = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > largest:
                said = f"{row.name}: the answer is longer than {largest:,} bytes; it is not read further"
                return ProviderError(said, provider=row.name, status=response.status_code)
        return loads(bytes(data))
    except (httpx2.HTTPError, OSError) as problem:
        return unreachable(row, str(response.url), problem, redact)
    except ValueError:
        kind = response.headers.get("content-type", "")
        said = bytes(data[:ERROR_BYTES]).decode("utf-8", "replace")
        return unreadable(row, response.status_code, kind, said, redact)


async def read_whole(response: httpx2.Response, call: Call, redact: Redactor, largest: int) -> Reply | ProviderError:
    """Read a whole answer, or give the error that it is."""
    row, url, status = call.provider, str(response.url), response.status_code
    body = await read_json(response, row, redact, largest)
    if isinstance(body, ProviderError):
        return body
    why = f"answered with JSON that is no {call.dialect.name} response"
    try:
        reply = call.dialect.decode_response(body, call.blobs, provider=row.name)
    except ODDITIES as problem:
        reply, why = Reply(finished=False), f"answered with what cannot be read: {redact(str(problem))}"
    if reply.messages or reply.finished:
        return reply
    text = dumps(body)[:ERROR_BYTES].decode("utf-8", "replace")
    if isinstance(body, dict) and body.get("error"):  # a gateway that says 200 to everything
        return refused(row, url, status, text, redact)
    return unreadable(row, status, "", text, redact, why)
