"""What the step codecs refuse, and what they settle before a message is sent (message-codecs.md, 3 to 5).

Here an image a provider cannot take is an error with its place, where the dialects' encoders would leave it out and
say so: who calls a step codec wants the request they wrote, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.blobs import media_type_of
from weft.canon import ExcludedItem
from weft.errors import CodecError
from weft.jsontext import loads
from weft.wire.codec import Json
from weft.wire.messages import bytes_of, to_text

__all__ = ["refused", "settled"]

INSTRUCTING = ("system", "developer")
NAMES = {"anthropic": "Claude", "gemini": "Gemini", "openai_chat": "OpenAI chat"}


# -- refused ---------------------------------------------------------------------------------------------------


def refused(name: str, messages: Sequence[Json]) -> None:
    """Raise for the first thing that this provider has no form for."""
    check = CHECKS[name]
    calls: dict[str, str] = {}
    for m, message in enumerate(messages):
        at = f"messages[{m}]"
        if message["role"] == "tool":
            if name == "gemini" and not _function_of(message, calls):
                raise CodecError("Gemini needs the name of the function that answers", where=f"{at}.name")
        elif not isinstance(message["content"], str):
            for p, part in enumerate(message["content"]):
                if part["type"] != "text":
                    check(part, f"{at}.content[{p}]")
        for c, call in enumerate(message.get("tool_calls") or ()):
            calls |= {key: call["name"] for id_key in ("id", "call_id") if (key := call.get(id_key))}
            if name == "gemini" and not _is_object(call["arguments"]):
                problem = f"Gemini needs a JSON object; those of {call['name']!r} are none"
                raise CodecError(problem, where=f"{at}.tool_calls[{c}].arguments")


def _function_of(message: Json, calls: Mapping[str, str]) -> str | None:
    name = message.get("name") or calls.get(message.get("call_id") or message.get("id") or "")
    return name if isinstance(name, str) else None


def _is_object(arguments: str) -> bool:
    if not arguments:
        return True  # no arguments at all
    try:
        return isinstance(loads(arguments), dict)
    except ValueError:
        return False


def _has_data(part: Json, where: str) -> bool:
    """Tell whether a part holds its bytes, in `data` or in a data URL."""
    if part.get("data"):
        if bytes_of(part["data"]) is None:
            raise CodecError("is not base64", where=f"{where}.data")
        return True
    url = part.get("url") or ""
    if not url.startswith("data:"):
        return False
    head, _, data = url.partition(",")
    if not head.endswith(";base64") or bytes_of(data) is None:
        raise CodecError("is a data URL that is not base64", where=f"{where}.url")
    return True


def _check_openai(part: Json, where: str) -> None:
    has_data = _has_data(part, where)
    if part["type"] == "image" and not has_data and not part.get("url"):
        raise CodecError("an image needs a url or data", where=where)
    if part["type"] == "audio" and not has_data:
        raise CodecError("audio needs data", where=where)


def _check_claude(part: Json, where: str) -> None:
    kind = part["type"]
    if kind == "audio":
        raise CodecError("Claude takes no audio", where=where)
    if not _has_data(part, where) and not part.get("url") and not (kind == "file" and part.get("file_id")):
        raise CodecError(f"{kind} needs {'a url or data' if kind == 'image' else 'data or a file_id'}", where=where)


def _check_gemini(part: Json, where: str) -> None:
    kind = part["type"]
    if not _has_data(part, where):
        problem = "Gemini takes an image as data or as a base64 data URL" if kind == "image" else f"{kind} needs data"
        raise CodecError(problem, where=where)
    if kind != "image" and not part.get("format") and not part.get("url"):
        raise CodecError(f"Gemini needs the media type of {kind}", where=f"{where}.format")


CHECKS: dict[str, Callable[[Json, str], None]] = {
    "openai_chat": _check_openai,
    "anthropic": _check_claude,
    "gemini": _check_gemini,
}


# -- settled ---------------------------------------------------------------------------------------------------


def settled(name: str, messages: Sequence[Json], losses: list[ExcludedItem], *, send_reasoning: bool) -> list[Json]:
    """Copy messages as they are to be sent, noting what that leaves out; the ones given are not changed."""
    return [_settled(name, message, f"messages[{m}]", losses, send_reasoning) for m, message in enumerate(messages)]


def _settled(name: str, message: Json, at: str, losses: list[ExcludedItem], send_reasoning: bool) -> Json:
    changes: Json = {}
    content, reasoning = message["content"], message.get("reasoning")
    if message["role"] == "tool" and not isinstance(content, str):
        changes["content"] = to_text(content)  # a tool's answer is text [W-4]
        losses += [
            ExcludedItem(f"{at}.content[{p}]", f"a tool's answer is sent to {NAMES[name]} as text")
            for p, part in enumerate(content)
            if part["type"] != "text"
        ]
    elif name == "anthropic" and not isinstance(content, str):
        changes["content"] = [_typed(part) for part in content]
    if reasoning is not None and not send_reasoning:
        changes["reasoning"] = None
    elif name == "openai_chat" and not isinstance(reasoning, (str, type(None))):
        changes["reasoning"] = to_text(reasoning)  # there is one field for it, if any
    if name == "anthropic" and message.get("tool_calls"):
        changes["tool_calls"] = [
            _with_object(call, f"{at}.tool_calls[{c}]", losses) for c, call in enumerate(message["tool_calls"])
        ]
    if name != "openai_chat" and message["role"] != "tool" and message.get("name"):
        losses.append(ExcludedItem(f"{at}.name", f"{NAMES[name]} has no names of senders"))
    return {**message, **changes} if changes else message


def _typed(part: Json) -> Json:
    """Say of a file that does not tell what it is that it is a PDF, as Claude's codec has it [W-25]."""
    if part["type"] != "file" or not part.get("data") or part.get("format") or media_type_of(part.get("name") or ""):
        return part
    return {**part, "format": "application/pdf"}


def _with_object(call: Any, at: str, losses: list[ExcludedItem]) -> Any:
    """Give a call arguments that Claude can be sent; what is no object is sent as an empty one [W-21]."""
    if _is_object(call["arguments"]):
        return call
    losses.append(ExcludedItem(f"{at}.arguments", "not a JSON object; {} is sent to Claude"))
    return {**call, "arguments": "{}"}
