"""What readers of other tools' transcripts share: messages in a provider's words, times, and lines kept whole.

Most agents keep messages as their provider's wire has them, so they are heard and spoken with the dialects of
weft.wire; only what an agent puts around them is its own.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import chain, count
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, UUID, uuid5

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import ROLES, UNTIMED, Message, Part, Role, RunSpec, Stray, ToolSpecification, Usage, thaw
from weft.errors import CodecError, WireError
from weft.formats.source import Shelf, Source
from weft.wire import CROSSING, Policy, dialect

__all__ = [
    "Names",
    "Tree",
    "as_role",
    "as_uuid",
    "base64_of",
    "counted",
    "failure",
    "heard",
    "in_order",
    "is_failed",
    "iso",
    "line",
    "listed",
    "mappings",
    "media",
    "moment",
    "need_list",
    "need_object",
    "objects",
    "own_line",
    "path_of",
    "picture",
    "renewed",
    "rest",
    "result_text",
    "signature_of",
    "signed_thinking",
    "sound_json",
    "spoken",
    "text",
    "text_of",
    "tools_as_functions",
    "tools_from",
    "unknown",
    "unread_arguments",
]

# Where each dialect's request has its messages.
_PLACE = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input", "gemini": "contents"}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_MILLISECONDS = 1e11  # a number of seconds this large is of the year 5138; of milliseconds, of 1973


def heard(name: str, said: Sequence[Any], blobs: BlobStore, where: str = "") -> tuple[Message, ...]:
    """Read messages as the dialect `name` has them; CodecError names the place of what does not fit."""
    try:
        messages = dialect(name).decode_request({_PLACE[name]: list(said)}, blobs).messages
    except (WireError, TypeError, ValueError) as problem:
        raise CodecError(str(problem), where=where or "the file") from problem
    return tuple(renewed(message) for message in messages)


@cache
def _bare_spec(name: str) -> RunSpec:
    tongue = dialect(name)
    return RunSpec(tongue.provider, tongue.endpoint, "")


def spoken(name: str, messages: Iterable[Message], blobs: BlobStore, policy: Policy = CROSSING) -> list[Any]:
    """Write messages as the dialect `name` has them."""
    body = dialect(name).encode_request(tuple(messages), _bare_spec(name), blobs, policy).body
    said = body.get(_PLACE[name]) or ()
    if isinstance(said, str):  # the Responses API's short form of one prompt
        return [{"role": "user", "content": said}]
    return list(thaw(said))


def renewed(
    message: Message,
    at: datetime | None = None,
    *,
    role: Role | None = None,
    id: str | None = None,
    parts: Iterable[Part] | None = None,
) -> Message:
    """Give a message again with other facts; without a time it has none, whatever the clock says."""
    return Message(
        role or message.role,
        message.parts if parts is None else tuple(parts),
        id or message.id,
        message.provider,
        message.turn_id,
        at or UNTIMED,
    )


def moment(value: Any) -> datetime | None:
    """Read a time as files have it: ISO 8601, or seconds or milliseconds since 1970; None if it is neither."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def iso(at: datetime | None) -> str | None:
    """Write a time as most of these files do: in UTC, with a Z."""
    return None if at is None or at == UNTIMED else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def as_uuid(name: str) -> str:
    """Give a name as a UUID: itself if it is one, else one made of it, always the same."""
    if _UUID.fullmatch(name):
        return name
    try:
        UUID(name)  # in braces, or in capitals
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"weft:{name}".encode("utf-8", "backslashreplace").decode()))
    return name


def rest(value: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Give what an object says beside the keys that were understood."""
    return {key: each for key, each in value.items() if key not in known}


def line(value: Mapping[str, Any]) -> bytes:
    """Write one line of JSON Lines."""
    return jsontext.dumps(value) + b"\n"


def sound_json(value: Any) -> bytes:
    """Write JSON for readers that refuse half a character: one whose other half is missing is U+FFFD."""
    written = jsontext.dumps(value)
    if b"\\ud" not in written:
        return written
    return jsontext.dumps(_sound(value))


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_sound(key): _sound(each) for key, each in value.items()}
    return [_sound(each) for each in value] if isinstance(value, (list, tuple)) else value


def need_object(value: Any, where: str) -> dict[str, Any]:
    """Give a JSON object, or refuse what is none."""
    if not isinstance(value, dict):
        raise CodecError(f"an object is needed here, not {type(value).__name__}", where=where)
    return value


def need_list(value: Any, where: str) -> list[Any]:
    """Give a JSON array, or refuse what is none."""
    if not isinstance(value, list):
        raise CodecError(f"an array is needed here, not {type(value).__name__}", where=where)
    return value


def listed(value: Any) -> list[Any]:
    """Give an array, or an empty one for what is none."""
    return value if isinstance(value, list) else []


def mappings(value: Any) -> Sequence[Mapping[str, Any]]:
    """Give a list of objects, or an empty one for what is none: notes in a file may be anyone's."""
    is_list = isinstance(value, (list, tuple)) and all(isinstance(each, Mapping) for each in value)
    return value if is_list else ()


def path_of(url: Any) -> str:
    """Give the path of an address; none of one that is broken."""
    try:
        return urlsplit(str(url)).path
    except ValueError:
        return ""


def text_of(message: Message) -> str:
    """Give the texts of a message, joined by line ends."""
    return "\n".join(part.text for part in message.parts if part.type == "text" and part.text is not None)


def result_text(output: Any) -> str:
    """Give a tool's output as text: itself, or its JSON."""
    return output if isinstance(output, str) else jsontext.dumps_text(thaw(output))


def picture(media_type: str) -> str:
    """Tell the type of a part by a media type."""
    kind = media_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"


def objects(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the objects of a file with their places: those of an array, those of lines, or the only one there is.

    Of several arrays too, one after the other: an export may be in several files.
    """
    if source.head.is_array:
        feed = source.json_feed()
        numbers = count()
        while feed.peek() == "[":
            for value in feed.elements():
                place = f"[{next(numbers)}]"
                yield place, need_object(value, place)
        feed.end()
    elif source.head.is_lines:
        for number, value in source.json_lines():
            yield f"line {number}", need_object(value, f"line {number}")
    elif source.head.start:  # one object, or lines of which the first is longer than a look at the file
        feed = source.json_feed()
        for number in count(1):
            place = "$" if number == 1 else f"object {number}"
            yield place, need_object(feed.value(), source.name or "the file")
            if not feed.peek():
                return


def unknown(name: str, block: Any) -> Part:
    """Keep a block that is only understood where it comes from, whole."""
    return Part("provider", json={"dialect": name}, provider_raw=block if isinstance(block, dict) else {"value": block})


def text(value: Any) -> str | None:
    """Give a text, or None for what is none."""
    return value if isinstance(value, str) else None


def as_role(value: Any, other: Role = "user") -> Role:
    """Give a role as it is, or `other` for one that we do not have."""
    return cast("Role", value) if isinstance(value, str) and value in ROLES else other


def counted(counts: Any, received: Sequence[str], sent: Sequence[str], total: Sequence[str] = ()) -> Usage | None:
    """Read an account of tokens, whatever its numbers are called; the whole of it is kept."""
    if not isinstance(counts, dict) or not counts:
        return None

    def number(names: Sequence[str]) -> int | None:
        return next((counts[name] for name in names if isinstance(counts.get(name), int)), None)

    return Usage(number(received), number(sent), number(total), counts)


class Tree:
    """Nodes that name their parents, some of them no talk: those stand for what they continue."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._stands_for: dict[str, str | None] = {}

    def passed(self, node: str, parent: str | None) -> None:
        """Say that a node is no entry: what continues it continues its parent."""
        self._stands_for[node] = parent

    def above(self, parent: str | None) -> tuple[str, ...]:
        """Give the entry that a node with this parent continues."""
        seen = set()
        while parent is not None and parent in self._stands_for and parent not in seen:
            seen.add(parent)
            parent = self._stands_for[parent]
        return () if parent is None else (parent,)


def in_order(children: Mapping[str | None, Sequence[str]]) -> Iterator[str]:
    """Give the names of a tree's nodes, parents first, each branch to its end before the next; roots are under None.

    Of nodes that go in a circle, the first is taken for a root: what is in a file is not passed over.
    """
    seen: set[str] = set()
    for root in chain(children.get(None, ()), chain.from_iterable(children.values())):
        todo = [root]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                yield name
                todo += reversed(children.get(name, ()))


def media(shelf: Shelf, data: Any, media_type: Any, otherwise: Part, **facts: Any) -> Part:
    """Keep base64 as a part with its bytes; what is none, as `otherwise` [J-06]."""
    try:
        content = base64.b64decode(data, validate=True)
    except (TypeError, ValueError):
        return otherwise
    kind = media_type if isinstance(media_type, str) and "/" in media_type else "application/octet-stream"
    blob = shelf.store.put_blob(content, media_type=kind, kind=picture(kind))
    return Part(picture(kind), json=facts or None, blob=blob)


def base64_of(part: Part, blobs: BlobStore) -> tuple[str, str] | None:
    """Give the media type and the base64 of a part's bytes; None if it has none."""
    if part.blob is None:
        return None
    return part.blob.media_type or "application/octet-stream", base64.b64encode(blobs.get_blob(part.blob)).decode(
        "ascii"
    )


def signed_thinking(words: str, provider: str | None, signature: Any, name: str) -> Part:
    """Give reasoning with its seal, so that it can go back to who made it; Anthropic's is a block of its own."""
    if provider == "anthropic" and isinstance(signature, str):
        block = {"type": "thinking", "thinking": words, "signature": signature}
        return Part("thinking", words, json={"provider": provider, "dialect": "anthropic"}, provider_raw=block)
    raw = {"signature": signature} if signature is not None else None
    return Part("thinking", words, json={"provider": provider, "dialect": name}, provider_raw=raw)


def signature_of(part: Part) -> str | None:
    """Give the seal of a reasoning part, if it is one text."""
    return text((part.provider_raw or {}).get("signature"))


def unread_arguments(part: Part) -> Any:
    """Give a call's arguments as an object, or as the text that they came as if that was none."""
    arguments = thaw(part.tool_args or {})
    is_text = arguments.keys() == {"_raw"} and isinstance(arguments["_raw"], str)
    return arguments["_raw"] if is_text else arguments


def is_failed(part: Part) -> bool:
    """Tell whether a tool's result says that it went wrong, as canon and every dialect have that."""
    return (part.provider_raw or {}).get("is_error") is True


def failure(failed: object, kept: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Give what a result says beside its output: that it went wrong, and what only its format understands."""
    return {**({"is_error": True} if failed else {}), **(kept or {})} or None


def tools_from(value: Any) -> tuple[ToolSpecification, ...]:
    """Read definitions of tools as OpenAI has them, with or without `function` around them."""
    found = []
    for each in value if isinstance(value, list) else ():
        tool = each.get("function", each) if isinstance(each, dict) else None
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            schema = tool.get("parameters", tool.get("input_schema"))
            found.append(
                ToolSpecification(
                    tool["name"], text(tool.get("description")) or "", schema if isinstance(schema, dict) else {}
                )
            )
    return tuple(found)


def tools_as_functions(tools: Iterable[ToolSpecification]) -> list[dict[str, Any]]:
    """Write definitions of tools as OpenAI has them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": thaw(tool.input_schema)},
        }
        for tool in tools
    ]


class Names:
    """Names for entries, each given out once: a file may use one twice."""

    def __init__(self) -> None:
        """Start with none given out."""
        self._given: set[str] = set()
        self._counts: dict[str, int] = {}  # of those that were asked for more than once

    def unique(self, name: str) -> str:
        """Give the name itself, or one like it that is free."""
        free = name
        while free in self._given:
            self._counts[name] = number = self._counts.get(name, 1) + 1
            free = f"{name}#{number}"
        self._given.add(free)
        return free


def own_line(stray: Stray, name: str) -> bytes | None:
    """Give a line of a file of format `name` that was no talk, to be written again; None if it is another's.

    A stray that is no line of JSON cannot have come from such a file, and is not written into one.
    """
    written = stray.text.encode("utf-8", "surrogateescape")
    if stray.format != name or b"\n" in written or b"\r" in written or written != written.strip():
        return None
    try:
        value = jsontext.loads(written)
    except ValueError:
        return None
    return written + b"\n" if isinstance(value, dict) else None
