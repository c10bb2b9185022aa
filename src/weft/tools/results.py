"""A server's answer as the block a model is given [T-75, M-08].

`result` becomes the content of a `tool_result`; `error`, and everything that went wrong on the way, becomes one text
that says so. Text beyond what a model should be given is kept as a blob, and a note says where.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from weft.blobs import BlobStore
from weft.jsontext import dumps_text
from weft.tools.lines import Cut

__all__ = ["CLOSED", "TIMED_OUT", "Json", "error_answer", "keeper", "tool_result"]

Json = dict[str, Any]

CLOSED = -32000  # the SDK's codes for what no server says itself
TIMED_OUT = -32001


def tool_result(
    name: str,
    answer: Mapping[str, Any],
    *,
    call_id: str | None = None,
    cuts: Mapping[str, Cut] | None = None,
    result_chars: int | None = None,
    keep: Callable[[IO[bytes]], str] | None = None,
) -> Json:
    """Make the block that answers a `tool_use` from a JSON-RPC answer: `{"result": ...}` or `{"error": ...}`."""
    block: Json = {"type": "tool_result", "name": name}
    if call_id is not None:
        block["tool_use_id"] = call_id
    match answer:
        case {"result": Mapping() as result}:
            content = _content(result)
            if cuts:
                content = [_said(item, cuts) for item in content]
            block["content"] = _fitted(content, result_chars, keep) if result_chars is not None else content
            if result.get("isError") is True:
                block["is_error"] = True
        case {"error": Mapping() as error}:
            text = f"MCP Error ({error.get('code', 0)}): {error.get('message', '')}"
            block |= {"content": [{"type": "text", "text": text}], "is_error": True}
        case _:
            text = "MCP Error (0): an answer with neither result nor error"
            block |= {"content": [{"type": "text", "text": text}], "is_error": True}
    return block


def error_answer(message: str, code: int = CLOSED) -> Json:
    """Make an answer for what went wrong before the server could give one."""
    return {"error": {"code": code, "message": message}}


def keeper(blobs: BlobStore | None) -> Callable[[IO[bytes]], str]:
    """Make the function that keeps a long text and says where it is."""

    def keep(file: IO[bytes]) -> str:
        if blobs is None:
            return "the rest was not kept: there is no blob store"
        # Straight from file to file where the store can: a hundred megabytes never lie in memory.
        put_stream = getattr(blobs, "put_stream", None)
        if put_stream is not None:
            ref = put_stream(file, media_type="text/plain", kind="file")
        else:
            ref = blobs.put_blob(file.read(), media_type="text/plain", kind="file")
        return f"the whole is kept as blob {ref.id}"

    return keep


def _content(result: Mapping[str, Any]) -> list[Any]:
    content = result.get("content")
    if isinstance(content, list) and content:
        return content
    if result.get("structuredContent") is not None:  # a server may leave the text to its reader
        return [{"type": "text", "text": dumps_text(result["structuredContent"])}]
    return []


def _said(item: Any, cuts: Mapping[str, Cut]) -> Any:
    """Put notes in the place of tokens; what only makes sense whole (a picture) becomes its note."""
    if not isinstance(item, Mapping):
        return item
    for token, cut in cuts.items():
        if item.get("type") == "text" and isinstance(text := item.get("text"), str) and text.endswith(token):
            return {**item, "text": text.removesuffix(token) + _note(cut.size, "bytes", cut.kept)}
        if token in dumps_text(item):
            kind = f"{item.get('type', 'item')} {item.get('mimeType', '')}".strip()
            return {"type": "text", "text": f"[{kind}]{_note(cut.size, 'bytes', cut.kept)}"}
    return item


def _fitted(content: Sequence[Any], limit: int, keep: Callable[[IO[bytes]], str] | None) -> list[Any]:
    """Cut texts so that all of them together stay within the limit."""
    left, fitted = limit, []
    for item in content:
        text = item.get("text") if isinstance(item, Mapping) and item.get("type") == "text" else None
        if not isinstance(text, str):
            fitted.append(item)
            continue
        # A note of ours, at the end of a text already cut, may stand a little over.
        if len(text) > left + 300:
            data = text.encode("utf-8", "replace")
            kept = (keep or keeper(None))(io.BytesIO(data))
            item = {**item, "text": text[: max(left, 0)] + _note(len(data), "bytes", kept)}  # noqa: PLW2901
        left -= min(len(text), max(left, 0))
        fitted.append(item)
    return fitted


def _note(size: int, unit: str, kept: str) -> str:
    return f"\n\n[cut by weft: {size} {unit} in all; {kept}]"
