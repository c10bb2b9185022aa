"""Why a request was not served from the provider's cache: the first place where it is not what its parent was.

A cache holds beginnings: tools, then system text, then messages, of one model. What differs at one place is sent and
paid for anew from there on, so the first difference is the answer. Cache marks are no content and are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.jsontext import dumps_text
from weft.trace.account import Facts, facts_of
from weft.wire import take_off

__all__ = ["CacheMiss", "cache_miss"]

_BODY = frozenset(
    {"model", "messages", "contents", "input", "system", "systemInstruction", "system_instruction", "instructions"}
    | {"tools", "stream", "stream_options", "metadata", "user", "store", "previous_response_id"}
)
_MESSAGES = ("messages", "contents", "input")
_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
_SHOWN = 120
_EXPIRES_MS = 5 * 60 * 1000  # the shortest life of an entry, Anthropic's default


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """What was found. `place` is None if the whole of the parent is there again; then `note` says what else it may be.

    `expected` are the tokens of the parent's prompt, `cached` those that came from the cache, `lost` the difference.
    """

    id: str
    parent_id: str | None
    place: str | None
    before: str
    after: str
    expected: int | None
    cached: int | None
    lost: int | None
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def cache_miss(record: Mapping[str, Any], parent: Mapping[str, Any] | None) -> CacheMiss:
    """Compare a request with its parent from the front; say where they part, and what that cost in tokens."""
    facts = facts_of(record)
    if parent is None:
        note = "it continues no earlier request, so there is nothing a cache could hold of it"
        return CacheMiss(facts.id, None, None, "", "", None, facts.tokens.cached, None, note)
    above = facts_of(parent)
    place, before, after = _first_difference(_body(record), _body(parent))
    expected, cached = above.tokens.input, facts.tokens.cached
    lost = (
        None
        if expected is None or facts.tokens.input is None
        else max(0, min(expected, facts.tokens.input) - (cached or 0))
    )
    if cached is None and facts.tokens.cache_write is None:
        lost = lost if place is not None else None
    return CacheMiss(
        facts.id, above.id, place, before, after, expected, cached, lost, _note(parent, facts, above, place)
    )


def _note(parent: Mapping[str, Any], facts: Facts, above: Facts, place: str | None) -> str:
    if place is not None:
        return ""
    if facts.tokens.cached:
        return "the parent is there again in full, and was read from the cache"
    if facts.dialect == "anthropic" and not _has_marks(parent):
        return "the parent is there again in full, but had no cache_control, so nothing of it was kept"
    idle_ms = facts.timestamp_ms - (above.timestamp_ms + above.duration_ms)
    if facts.timestamp_ms and idle_ms > _EXPIRES_MS:
        return f"the parent is there again in full, but {idle_ms // 60000} minutes later: the entry may have expired"
    if facts.tokens.cached is None:
        return "the parent is there again in full; the provider does not say what it read from a cache"
    return "the parent is there again in full; it may be too short to be kept, or another machine answered"


def _body(record: Mapping[str, Any]) -> Mapping[str, Any]:
    body = record.get("request")
    return take_off(body)[0] if isinstance(body, Mapping) else {}


def _has_marks(record: Mapping[str, Any]) -> bool:
    body = record.get("request")
    if not isinstance(body, Mapping):
        return False
    return bool(take_off(body)[1]) or '"cache_control"' in dumps_text(body.get("tools") or [])


def _first_difference(now: Mapping[str, Any], then: Mapping[str, Any]) -> tuple[str | None, str, str]:
    if now.get("model") != then.get("model"):
        return "model", _shown(then.get("model")), _shown(now.get("model"))
    found = _list_difference("tool", _tools(then), _tools(now), whole=True)
    found = found or _list_difference("system", _system(then), _system(now), whole=True)
    found = found or _parameters(then, now)
    return found or _list_difference("message", _messages(then), _messages(now), whole=False) or (None, "", "")


def _list_difference(what: str, then: Sequence[Any], now: Sequence[Any], *, whole: bool) -> tuple[str, str, str] | None:
    """Find the first item that differs; where not the `whole` list must be there, what is added behind it is fine."""
    for at, before in enumerate(then):
        if at >= len(now):
            return f"{what} {at}", _shown(before), "(gone)"
        if now[at] != before:
            return f"{what} {at}", *_apart(before, now[at])
    if whole and len(now) > len(then):
        return f"{what} {len(then)}", "(none)", _shown(now[len(then)])
    return None


def _parameters(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str, str] | None:
    for key in sorted(then.keys() | now.keys()):
        if key not in _BODY and then.get(key) != now.get(key):
            return f"parameter {key}", _shown(then.get(key)), _shown(now.get(key))
    return None


def _tools(body: Mapping[str, Any]) -> Sequence[Any]:
    tools: list[Any] = []
    for tool in body.get("tools") or ():
        declared = (
            tool.get("functionDeclarations") or tool.get("function_declarations") if isinstance(tool, dict) else None
        )
        tools += declared if isinstance(declared, list) else [_without_mark(tool)]
    return tools


def _without_mark(tool: Any) -> Any:
    return {key: value for key, value in tool.items() if key != "cache_control"} if isinstance(tool, dict) else tool


def _system(body: Mapping[str, Any]) -> Sequence[Any]:
    for key in _SYSTEM:
        value = body.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, Mapping) and isinstance(parts := value.get("parts"), list):
            return parts
        if value is not None:
            return [{"type": "text", "text": value}]
    return ()


def _messages(body: Mapping[str, Any]) -> Sequence[Any]:
    for key in _MESSAGES:
        if isinstance(value := body.get(key), list):
            return value
    return ()


def _apart(before: Any, after: Any) -> tuple[str, str]:
    """Show two values from where they part, with a little of what they share."""
    left, right = _flat(before), _flat(after)
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    start = max(0, same - 20)
    return _window(left, start), _window(right, start)


def _window(text: str, start: int) -> str:
    piece = text[start : start + _SHOWN]
    return ("…" if start else "") + piece + ("…" if start + _SHOWN < len(text) else "")


def _shown(value: Any) -> str:
    return "(none)" if value is None else _window(_flat(value), 0)


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else dumps_text(value)
