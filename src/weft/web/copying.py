"""A request as something to paste elsewhere: curl, Python, JSON. A key is never in it; its variable's name is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.web.answers import RefusedError

__all__ = ["Request", "as_json", "as_request"]


class Request(NamedTuple):
    """A request that could be sent: `key` is the variable that holds the key, `key_header` where it goes."""

    url: str
    headers: Mapping[str, str]
    body: Any
    key: str | None = None
    key_header: tuple[str, str] = ("authorization", "Bearer ")


def as_json(value: Any) -> str:
    """Write JSON to be read by people."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=dict)


def as_request(request: Request, how: str) -> str:
    """Write a request for a shell or for Python."""
    if how == "json":
        return as_json(request.body)
    if how == "curl":
        return _curl(request)
    if how == "python":
        return _python(request)
    raise RefusedError(400, "parameter", "as is curl, python or json")


def _curl(request: Request) -> str:
    lines = [f"curl {_quoted(request.url)}", "-H 'content-type: application/json'"]
    lines += [f"-H {_quoted(f'{name}: {value}')}" for name, value in _others(request)]
    if request.key is not None:
        header, before = request.key_header
        lines.append(f'-H "{header}: {before}${request.key}"')
    body = json.dumps(request.body, ensure_ascii=False, indent=1, default=dict)
    return " \\\n  ".join([*lines, f"--data-binary {_quoted(body)}"])


def _quoted(text: str) -> str:
    """Put a text in single quotes: in a shell nothing in them means anything."""
    return "'" + text.replace("'", "'\\''") + "'"


def _python(request: Request) -> str:
    headers = [f"    {name!r}: {value!r}," for name, value in _others(request)]
    if request.key is not None:
        header, before = request.key_header
        headers.append(f"    {header!r}: {before!r} + os.environ[{request.key!r}],")
    body = json.dumps(request.body, ensure_ascii=True, indent=1, default=dict)
    return "\n".join(
        [
            "import json, os, urllib.request",
            "",
            # A JSON text as a Python literal: repr() escapes whatever could end it.
            f"body = json.loads({body!r})",
            "headers = {",
            "    'content-type': 'application/json',",
            *headers,
            "}",
            f"request = urllib.request.Request({request.url!r}, json.dumps(body).encode(), headers)",
            "print(urllib.request.urlopen(request).read().decode())",
            "",
        ]
    )


def _others(request: Request) -> list[tuple[str, str]]:
    return [(name, value) for name, value in request.headers.items() if name.lower() != "content-type"]
