"""From a record to the ids of its messages and tools, with what is known from earlier records left as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.jsontext import loads
from weft.trace.dedup import Dedup
from weft.trace.extract import Draft, Format, detect, events_of, hints_of, put_together
from weft.trace.extract.formats import model_of
from weft.trace.handle import Handle
from weft.trace.links import ties_of
from weft.trace.sparse import List, Parsed, Reader

__all__ = ["Taker"]

_NOTHING: Mapping[str, Any] = {}
_SYSTEMS = ("system", "systemInstruction", "system_instruction", "instructions")


class Taker:
    """Takes messages and tools out of records, each distinct one once."""

    __slots__ = ("_format", "_reader", "_tool_sets", "dedup")

    def __init__(self, reader: Reader, format: Format | None) -> None:
        """Begin with none. `format` is that of all records, if it is known [C-19]."""
        self.dedup = Dedup()
        self._reader = reader
        self._format = format
        self._tool_sets: dict[tuple[str, ...], tuple[list[str], frozenset[str]]] = {}

    def take(self, parsed: Parsed, handle: Handle) -> None:
        """Fill in a request from its record."""
        record = parsed.record
        request = record.get("request")
        request = request if isinstance(request, dict) else _NOTHING
        response = record.get("response")
        events = events_of(response)
        hints = self._hints(parsed, request)
        kind = self._format or detect(record, request, response, hints, events)
        handle.dialect = kind.dialect
        self._take_request(handle, kind, parsed, request)
        body = put_together(kind, events) if events else response if isinstance(response, dict) else _NOTHING
        self._take_response(handle, kind, record.get("error"), body)
        handle.model = model_of(kind, record, request, body)
        handle.ties = ties_of(record, request, body)

    def _hints(self, parsed: Parsed, request: Mapping[str, Any]) -> int:
        """Give what all messages together say about the format, from what was known before where it was."""
        given = parsed.list_of
        if given is None:
            messages = request.get("messages")
            hints = 0
            for each in messages if isinstance(messages, list) else ():
                hints |= hints_of(each)
            return hints
        base = given.base
        hints = base.hints[given.shared - 1] if base is not None and given.shared else 0
        for value in given.values:
            hints |= hints_of(value)
            given.hints.append(hints)
        return hints

    def _take_request(self, handle: Handle, kind: Format, parsed: Parsed, request: Mapping[str, Any]) -> None:
        given = parsed.list_of
        ids: list[str] = []
        loose: list[int] = []
        system = _static(parsed, kind, _SYSTEMS)
        if system is not None and kind.name in system:
            ids = list(system[kind.name])
        else:
            self._add(kind.system(request), ids, loose)
            if system is not None:
                system[kind.name] = list(ids)
        if given is not None and parsed.list_key == kind.list_key and self._extend(given, kind):
            self._reader.keep(given)
            before = len(ids)
            ids += given.ids
            loose += [before + at for at in given.loose]
        else:
            values = request.get(kind.list_key)
            if given is not None and parsed.list_key == kind.list_key:
                values = _whole(given)
            if isinstance(values, list):
                for value in values:
                    self._add(kind.element(value), ids, loose)
            else:
                self._add(kind.prompt(request), ids, loose)
        handle.request_messages = ids
        handle.loose = frozenset(loose)
        tools = _static(parsed, kind, ("tools", "toolConfig"))
        if tools is not None and kind.name in tools:
            handle.tools, handle.tool_set = tools[kind.name]
            return
        tool_ids = tuple(self.dedup.tool(draft) for draft in kind.tools(request))
        if tool_ids not in self._tool_sets:
            self._tool_sets[tool_ids] = (list(tool_ids), frozenset(tool_ids))
        handle.tools, handle.tool_set = self._tool_sets[tool_ids]
        if tools is not None:
            tools[kind.name] = (handle.tools, handle.tool_set)

    def _extend(self, given: List, kind: Format) -> bool:
        """Give the new elements of a list their ids; False if the others were read in another format."""
        base = given.base
        before = 0
        if base is not None and given.shared:
            if base.format != kind.name:
                return False
            before = base.cuts[given.shared - 1]
        given.format = kind.name
        loose: list[int] = []
        for value in given.values:
            self._add(kind.element(value), given.ids, loose)
            given.cuts.append(before + len(given.ids))
        given.loose = [before + at for at in loose]
        return True

    def _add(self, drafts: Iterable[Draft], ids: list[str], loose: list[int]) -> None:
        for draft in drafts:
            if draft.loose:
                loose.append(len(ids))
            ids.append(self.dedup.message(draft))

    def _take_response(self, handle: Handle, kind: Format, error: Any, body: Mapping[str, Any]) -> None:
        drafts: list[Draft] = []
        failed = None
        if error:
            failed = f"Error: {error if isinstance(error, str) else _message_in(error) or error}"
        else:
            drafts = kind.response(body)
            if not drafts and (said := _message_in(body.get("error")) or _refused(body)):
                failed = f"Error: {said}"
        handle.synthetic = not drafts
        ids: list[str] = []
        loose: list[int] = []
        self._add(drafts or [Draft("assistant", failed or "")], ids, loose)
        handle.response_messages = ids
        if loose:
            handle.loose |= {len(handle.request_messages) + at for at in loose}


def _static(parsed: Parsed, kind: Format, names: Sequence[str]) -> dict[str, Any] | None:
    """Give the place to keep what was made of a value that stands in many requests, if there is one such value."""
    known = [parsed.statics[name] for name in names if name in parsed.statics]
    if len(known) != 1:
        return None
    if names[0] == "system" and kind.name == "gemini" and "system" in parsed.statics:
        return None
    return known[0].cooked


def _whole(given: List) -> Any:
    """Read a list whole, where its beginning was read in another format."""
    size = given.ends[-1] if given.ends else given.base.ends[given.shared - 1] if given.base is not None else 1
    return loads(bytes(given.line[given.start : given.start + size]) + b"]")


def _message_in(error: Any) -> str:
    """Give what an error object says."""
    if isinstance(error, Mapping):
        said = error.get("message")
        return (
            said
            if isinstance(said, str) and said
            else _message_in(error.get("error")) or (str(dict(error)) if error else "")
        )
    return error if isinstance(error, str) else ""


def _refused(body: Mapping[str, Any]) -> str:
    """Give the reason where an error body is no more than a message: Bedrock, Cohere."""
    message = body.get("message")
    return message if isinstance(message, str) and not {"choices", "output", "content"} & body.keys() else ""
