"""Spans and logs as files of OpenTelemetry have them, as the attributes that hold a conversation.

Collectors write OTLP's JSON: resources, in them scopes, in those spans or log records, with attributes as lists of
typed values. SDKs print one span or record with its attributes as an object. Before the messages were attributes they
were events, one a message, with its content in the body or in the event's own attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from weft import jsontext
from weft.formats.foreign import listed, moment, rest, text

__all__ = ["INPUT", "OUTPUT", "began", "is_otlp", "opened", "recorded"]

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_NESTS = {"resourceSpans": ("scopeSpans", "spans"), "resourceLogs": ("scopeLogs", "logRecords")}
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)  # of 64 bits, as text
_VALUES = ("stringValue", "boolValue", "doubleValue", "bytesValue")


def is_otlp(said: Mapping[str, Any]) -> bool:
    """Tell whether an object is OTLP's."""
    return bool(_NESTS.keys() & said.keys())


def recorded(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attributes of each span or record that holds messages, with what is said beside them under `span`."""
    if not is_otlp(said):
        yield _attributes(said)
        return
    for outer, (middle, inner) in _NESTS.items():
        for resource in listed(said.get(outer)):
            for scope in listed(resource.get(middle)) if isinstance(resource, dict) else ():
                for span in listed(scope.get(inner)) if isinstance(scope, dict) else ():
                    if isinstance(span, dict) and {INPUT, OUTPUT} & (found := _attributes(span)).keys():
                        yield found


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    given = span.get("attributes")
    if isinstance(given, list):
        attributes = {str(each.get("key")): _value(each.get("value")) for each in given if isinstance(each, dict)}
    elif isinstance(given, dict):
        attributes = dict(given)
    else:
        return dict(span)
    beside = rest(span, "attributes")
    if not {INPUT, OUTPUT} & attributes.keys():
        attributes |= _told(listed(span.get("events")))
    return attributes | ({"span": beside} if beside else {})


def _value(value: Any) -> Any:
    """Give a value of OTLP as it is without its type."""
    match value:
        case {"intValue": number}:
            return int(number) if isinstance(number, str) and _INTEGER.fullmatch(number) else number
        case {"arrayValue": inner}:
            return [_value(each) for each in listed(inner.get("values") if isinstance(inner, dict) else None)]
        case {"kvlistValue": inner}:
            pairs = listed(inner.get("values") if isinstance(inner, dict) else None)
            return {str(each.get("key")): _value(each.get("value")) for each in pairs if isinstance(each, dict)}
    if isinstance(value, dict):
        return next((value[kind] for kind in _VALUES if kind in value), value or None)
    return value


def began(span: Any) -> datetime | None:
    """Tell when a span began, or when a record was made."""
    if not isinstance(span, dict):
        return None
    nanoseconds = span.get("startTimeUnixNano") or span.get("timeUnixNano")
    if isinstance(nanoseconds, (int, str)) and _INTEGER.fullmatch(str(nanoseconds)):
        return moment(int(nanoseconds) // 10**6 / 1000)
    return moment(span.get("start_time"))


def opened(value: Any) -> Any:
    """Give an attribute as data: some backends keep it as the text of its JSON."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return jsontext.loads(value)
        except ValueError:
            return value
    return value


def _told(events: list[Any]) -> dict[str, Any]:
    """Give the messages of events as the attributes that have them now."""
    asked: list[dict[str, Any]] = []
    answered: list[dict[str, Any]] = []
    for event in events:
        name = event.get("name", event.get("event_name")) if isinstance(event, dict) else None
        role = _EVENTS.get(str(name))
        if role is None:
            continue
        given = event.get("body") or event.get("attributes")
        if isinstance(given, list):
            given = {str(each.get("key")): _value(each.get("value")) for each in given if isinstance(each, dict)}
        said = {key: opened(value) for key, value in given.items()} if isinstance(given, dict) else {}
        inner = said.get("message")
        message = _message(inner if isinstance(inner, dict) else said, role)
        if name == "gen_ai.choice":
            answered.append({**message, "finish_reason": text(said.get("finish_reason")) or "stop"})
        else:
            asked.append(message)
    return ({INPUT: asked} if asked else {}) | ({OUTPUT: answered} if answered else {})


def _message(said: Mapping[str, Any], role: str) -> dict[str, Any]:
    content = said.get("content")
    role = text(said.get("role")) or role
    if role == "tool":
        return {"role": role, "parts": [{"type": "tool_call_response", "id": said.get("id"), "response": content}]}
    parts = [{"type": "text", "content": content}] if isinstance(content, str) else listed(content)
    for call in listed(said.get("tool_calls")):
        made = call.get("function") if isinstance(call, dict) else None
        if isinstance(made, dict):
            arguments = opened(made.get("arguments"))
            parts.append({"type": "tool_call", "id": call.get("id"), "name": made.get("name"), "arguments": arguments})
    return {"role": role, "parts": parts}
