"""How a body was spelled, where two spellings mean the same: a text or a list of one text, a null or nothing.

Canon has one form for both, so a body comes out in the dialect's usual one. What was the client's is kept beside the
request, by role where a client is of one mind, and `put_forms` spells the body its way again. A tool's output that is
an object becomes text in a turn [R-8], and so on; `note_parts` says so in the message, `read_parts` puts it right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from weft.blobs import BlobReference, InMemoryBlobStore
from weft.canon import Message, Part, freeze, read_block, thaw, write_block
from weft.jsontext import loads

__all__ = ["forms_of", "note_parts", "put_forms", "read_parts"]

Json = dict[str, Any]
_TEXT, _BLOCKS = "text", "blocks"
_MEDIA = ("image", "audio", "video", "file")


def forms_of(given: Mapping[str, Any], written: Mapping[str, Any]) -> Json:
    """Say how `given` is spelled otherwise than `written`, the same request in its dialect's usual form."""
    if given == written:  # nearly always, and found out in no time
        return {}
    forms: Json = {}
    if (form := _form(given.get("system"))) and form != _form(written.get("system")):
        forms["system"] = form
    forms |= _message_forms(given.get("messages"), written.get("messages"))
    if nulls := _nulls(given, written):
        forms["nulls"] = nulls
    if unsaid := _nulls(written, given):
        forms["unsaid"] = unsaid
    return forms


def _message_forms(ours: Any, theirs: Any) -> Json:
    """Say by role, or one by one where a role is of two minds, which contents are text and which are blocks."""
    if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
        return {}
    by_role: dict[str, set[str]] = {}
    odd: dict[int, str] = {}
    for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(one, Mapping) and isinstance(other, Mapping) and (form := _form(one.get("content"))):
            by_role.setdefault(str(one.get("role")), set()).add(form)
            if form != _form(other.get("content")):
                odd[at] = form
    forms: Json = {}
    for at, form in odd.items():
        role = str(ours[at].get("role"))
        if len(by_role[role]) == 1:
            forms.setdefault("roles", {})[role] = form
        else:
            forms.setdefault("messages", {})[str(at)] = form
    return forms


def _nulls(given: Any, written: Any) -> list[Any]:
    """List the nulls that the other does not have: as [kind of place, key] where all of a kind do, else one by one."""
    if not _misses(given, written):
        return []
    missing: dict[tuple[str, str], list[list[Any]]] = {}
    alike: dict[str, int] = {}
    todo: list[tuple[Any, Any, list[Any]]] = [(given, written, [])]
    while todo:
        one, other, path = todo.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            kind = _kind(path, one)
            alike[kind] = alike.get(kind, 0) + 1
            for key, value in one.items():
                if value is None and key not in other:
                    missing.setdefault((kind, key), []).append([*path, key])
                elif isinstance(value, (dict, list)) and key in other:
                    todo.append((value, other[key], [*path, key]))
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            todo += [(left, right, [*path, at]) for at, (left, right) in enumerate(zip(one, other, strict=True))]
    nulls: list[Any] = []
    for (kind, key), paths in sorted(missing.items()):
        nulls += [[kind, key]] if len(paths) == alike[kind] else [[path] for path in paths]
    return nulls


def _misses(given: Any, written: Any) -> bool:
    """Tell whether there is a null that the other does not have; what is equal is not looked into."""
    todo: list[tuple[Any, Any]] = [(given, written)]
    while todo:
        one, other = todo.pop()
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if any(value is None and key not in other for key, value in one.items()):
                return True
            todo += [(value, other[key]) for key, value in one.items() if key in other]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            todo += zip(one, other, strict=True)
    return False


def _kind(path: list[Any], value: Mapping[str, Any]) -> str:
    """Name a kind of place: its path without numbers, and its role or type."""
    steps = ["[]" if isinstance(step, int) else str(step) for step in path]
    return "/".join([*steps, f"={value.get('role') or ''}:{value.get('type') or ''}"])


def _put_nulls(body: Json, nulls: Any, put: Callable[[Json, str], object]) -> None:
    rules: dict[str, list[str]] = {}
    for null in nulls if isinstance(nulls, list) else ():
        match null:
            case [str(kind), str(key)]:
                rules.setdefault(kind, []).append(key)
            case [[*path, str(key)]]:
                here: Any = body
                for step in path:
                    try:
                        here = here[step]
                    except (KeyError, IndexError, TypeError):
                        here = None
                if isinstance(here, dict):
                    put(here, key)
    todo: list[tuple[Any, list[Any]]] = [(body, [])] if rules else []
    while todo:
        value, path = todo.pop()
        if isinstance(value, dict):
            for key in rules.get(_kind(path, value), ()):
                put(value, key)
            todo += [(inner, [*path, key]) for key, inner in value.items() if isinstance(inner, (dict, list))]
        elif isinstance(value, list):
            todo += [(inner, [*path, at]) for at, inner in enumerate(value) if isinstance(inner, (dict, list))]


def put_forms(body: Json, forms: Any) -> None:
    """Spell a body, in place, as its client did."""
    if not isinstance(forms, Mapping):
        return
    if isinstance(form := forms.get("system"), str):
        body["system"] = _spelled(body.get("system"), form)
    roles, odd = forms.get("roles"), forms.get("messages")
    roles = roles if isinstance(roles, Mapping) else {}
    odd = odd if isinstance(odd, Mapping) else {}
    messages = body.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict) and "content" in message:
            form = odd.get(str(at)) or roles.get(str(message.get("role")))
            if isinstance(form, str):
                message["content"] = _spelled(message["content"], form)
    _put_nulls(body, forms.get("nulls"), lambda place, key: place.setdefault(key, None))
    _put_nulls(body, forms.get("unsaid"), _leave_unsaid)


def _leave_unsaid(place: Json, key: str) -> None:
    if place.get(key) is None:
        place.pop(key, None)


def _form(content: Any) -> str | None:
    if isinstance(content, str):
        return _TEXT
    match content:
        case [{"type": "text", "text": str(), **rest}] if not rest:
            return _BLOCKS
    return None


def _spelled(content: Any, form: str) -> Any:
    if form == _BLOCKS and isinstance(content, str):
        return [{"type": "text", "text": content}]
    if form == _TEXT and _form(content) == _BLOCKS:
        return content[0]["text"]
    return content


def note_parts(messages: Iterable[Message]) -> list[Message]:
    """Say in each message what a turn's blocks would not bring back of its parts, before it becomes a turn."""
    noted = []
    for message in messages:
        notes = {str(at): note for at, part in enumerate(message.parts) if (note := _note(part, message)) is not None}
        noted.append(_annotated(message, {"parts": notes}) if notes else message)
    return noted


def read_parts(messages: Iterable[Message]) -> list[Message]:
    """Make the parts of messages that were turns what they were, by the notes in them; the notes go."""
    read = []
    for message in messages:
        said = next((thaw(part.json) for part in message.parts if part.type == "annotation" and part.json), None)
        if said is None or not isinstance(said.get("parts"), dict):
            read.append(message)
            continue
        notes = said.pop("parts")
        parts = [part for part in message.parts if part.type != "annotation"]
        parts = [_restored(part, notes.get(str(at))) for at, part in enumerate(parts)]
        if said:
            parts.append(Part("annotation", json=said))
        read.append(replace(message, parts=tuple(parts)))
    return read


def _note(part: Part, message: Message) -> Json | None:
    raw = part.provider_raw
    if part.type == "tool_result":
        if raw is not None and raw.get("type") == "tool_result":
            return None
        note: Json = {} if raw is None else {"raw": thaw(raw)}
        if part.tool_name is None:
            note["unnamed"] = True
        if not isinstance(part.tool_output, (str, type(None))):
            note["json"] = True
        return note
    if part.type in _MEDIA and (raw is not None or part.json is not None):
        blobs = InMemoryBlobStore()
        bare = replace(part, blob=None) if part.blob is None else replace(part, blob=_stand_in(part, blobs))
        block = write_block(bare, blobs, provider=message.provider)
        again = read_block(block, blobs) if isinstance(block, dict) else None
        if again is None or (again.type, again.json, again.provider_raw) != (part.type, part.json, raw):
            return {"type": part.type, "raw": thaw(raw), "about": thaw(part.json)}
    return None


def _restored(part: Part, note: Any) -> Part:
    if not isinstance(note, Mapping):
        return part
    if part.type != "tool_result":
        return replace(part, type=note["type"], json=note.get("about"), provider_raw=note.get("raw"))
    output = part.tool_output
    if note.get("json") is True and isinstance(output, str):
        with suppress(ValueError):
            output = freeze(loads(output))
    name = None if note.get("unnamed") is True else part.tool_name
    return replace(part, tool_output=output, tool_name=name, provider_raw=note.get("raw"))


def _stand_in(part: Part, blobs: InMemoryBlobStore) -> BlobReference:
    """Put a blob of the same kind where one is needed to see what becomes of the part around it."""
    assert part.blob is not None  # noqa: S101
    return blobs.put_blob(b"x", media_type=part.blob.media_type, kind=part.blob.kind)


def _annotated(message: Message, more: Json) -> Message:
    said: Json = next((thaw(part.json) for part in message.parts if part.type == "annotation" and part.json), {})
    others = tuple(part for part in message.parts if part.type != "annotation")
    return replace(message, parts=(*others, Part("annotation", json={**said, **more})))
