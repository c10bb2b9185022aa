"""Canon to wire messages. One Message is one wire message, except that each tool result is its own [R-12]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, ExcludedItem, Message, Part, output_text, read_arguments, thaw, write_arguments
from weft.errors import CodecError
from weft.wire.body import annotation_of, blobs_or_new, is_failed
from weft.wire.codec import Json
from weft.wire.messages.content import to_text, to_text_list
from weft.wire.messages.media import bytes_of, encode_media
from weft.wire.messages.overlay import laid_over, marks_of
from weft.wire.messages.providers import derived, merged
from weft.wire.messages.schema import check_content

__all__ = ["encode_call", "encode_message", "encode_messages", "encode_part", "join_texts"]

MEDIA = ("image", "audio", "file", "video")
CONTENT = ("text", "json", *MEDIA)


def encode_messages(
    messages: Iterable[Message],
    blobs: BlobStore | None = None,
    *,
    losses: list[ExcludedItem] | None = None,
    strict: bool = False,
) -> list[Json]:
    """Write messages as wire messages; what has no place in them is added to `losses`, or raises if `strict` [R-3]."""
    blobs = blobs_or_new(blobs)
    lost: list[ExcludedItem] = []
    written: list[Json] = []
    for m, message in enumerate(messages):
        written += encode_message(message, blobs)
        lost += [ExcludedItem(f"messages[{m}].parts[{p}]", reason) for p, reason in _losses(message)]
    if strict and lost:
        raise CodecError(f"{lost[0].reason} ({len(lost)} losses in all)", where=lost[0].description)
    if losses is not None:
        losses += lost
    return written


def encode_message(message: Message, blobs: BlobStore) -> list[Json]:
    """Write one message: as one wire message, or as one for each tool result in it."""
    results = [part for part in message.parts if part.type == "tool_result"]
    if len(results) < 2:
        return [_encode(message, message.parts, results, blobs)]
    others = tuple(part for part in message.parts if part.type not in ("tool_result", "annotation"))
    apart = [Message(message.role, (part,), provider=message.provider) for part in results]
    if others:
        apart.insert(0, Message(message.role, others, id=message.id, provider=message.provider))
    written = [_encode(each, each.parts, [p for p in each.parts if p.type == "tool_result"], blobs) for each in apart]
    if "extra" in (marks := annotation_of(message)):  # it was said of the whole; the first carries it
        written[0]["extra"] = merged(marks["extra"], written[0].get("extra") or EMPTY)
    return written


def _encode(message: Message, parts: tuple[Part, ...], results: list[Part], blobs: BlobStore) -> Json:
    marks = annotation_of(message)
    written: Json = {"role": marks.get("role", message.role), "content": _content(parts, results, marks, blobs)}
    if (reasoning := _reasoning(parts, marks)) is not None:
        written["reasoning"] = reasoning
    if (refusal := _refusal(parts, marks)) is not None:
        written["refusal"] = refusal
    if calls := [encode_call(part) for part in parts if part.type == "tool_call"]:
        written["tool_calls"] = calls
    if message.id is not None:
        written["id"] = message.id
    made = derived(parts, message.provider)
    name = marks.get("name")
    name = name if isinstance(name, str) else None  # notes may come from anywhere
    if results:
        if results[0].tool_call_id is not None:
            written["call_id"] = results[0].tool_call_id
        name = results[0].tool_name if name is None else name
        if is_failed(results[0]):
            made.setdefault("claude", {})["is_error"] = True
    if name is not None:
        written["name"] = name
    if marks.get("cache"):
        made["weft"] = {"cache": True}
    if made or "extra" in marks:
        written["extra"] = merged(marks.get("extra"), made)
    return laid_over(written, marks)


def _content(parts: tuple[Part, ...], results: list[Part], marks: Mapping[str, Any], blobs: BlobStore) -> Any:
    if results:
        return _output(results[0])
    items = [encode_part(part, blobs) for part in parts if part.type in CONTENT and not marks_of(part).get("made_up")]
    form = marks.get("content_form")
    if form == "list":
        return items
    if form == "string" and all(item["type"] == "text" for item in items):
        return to_text(items)
    if not items:
        return ""
    if len(items) == 1 and items[0]["type"] == "text" and len(items[0]) == 2:
        return items[0]["text"]
    return items


def encode_part(part: Part, blobs: BlobStore) -> Json:
    """Write a text, JSON or media part as a content part."""
    match part.type:
        case "text":
            return laid_over({"type": "text", "text": part.text or ""}, marks_of(part))
        case "json":
            return {"type": "text", "text": output_text(part.json)}
        case _:
            return encode_media(part, blobs)


def join_texts(written: Json, parts: tuple[Part, ...]) -> None:
    """Make one string of a message's texts, as the answers of a provider are read.

    Where that hides a text or thought that carries a signature of Gemini's, the lengths are kept beside it [W-20].
    """
    content = written["content"]
    if isinstance(content, list) and all(item["type"] == "text" for item in content):
        written["content"] = to_text(content)
    extra = written.get("extra")
    if not isinstance(extra, dict) or "signature_parts" not in (entry := extra.get("gemini") or {}):
        return
    lengths = {}
    for kind, of_type in (("text", "text"), ("thought", "thinking")):
        texts = [part.text for part in parts if part.type == of_type and part.text is not None]
        signed = [place["index"] for place in entry["signature_parts"] if place["kind"] == kind]
        if len(texts) > 1 and any(texts[index] or index < len(texts) - 1 for index in signed):
            lengths[kind] = [len(text) for text in texts]
    if lengths:
        entry["part_lengths"] = lengths


def _output(part: Part) -> Any:
    """Write a tool's output: texts and content parts as they are, anything else as JSON."""
    output = thaw(part.tool_output)
    if output is None:
        return ""
    marks = marks_of(part)
    if not _is_items(output) or not (marks.get("list") or all("source" not in item for item in output)):
        return output_text(output)  # a provider's own blocks may look like ours, but have a source
    odd = marks.get("bytes", ())
    return [{**item, "data": bytes_of(item["data"])} if p in odd else item for p, item in enumerate(output)]


def _is_items(value: Any) -> bool:
    """Tell whether a value is a list of content parts."""
    if not isinstance(value, list):
        return False
    try:
        check_content(value, "")
    except CodecError:
        return False
    return True


def _reasoning(parts: tuple[Part, ...], marks: Mapping[str, Any]) -> Any:
    thoughts = [part for part in parts if part.type == "thinking"]
    texts = [part.text for part in thoughts if part.text is not None and not marks_of(part).get("made_up")]
    given = thaw(marks.get("reasoning"))
    if _is_items(given) and to_text_list(given) == texts:
        return given
    return "\n".join(texts) if texts else None


def _refusal(parts: tuple[Part, ...], marks: Mapping[str, Any]) -> Any:
    texts = [part.text or "" for part in parts if part.type == "refusal"]
    given = thaw(marks.get("refusal"))
    if _is_items(given) and to_text(given) == "".join(texts):
        return given
    return "".join(texts) if texts else None


def encode_call(part: Part) -> Json:
    """Write a tool call; its arguments are the text they came as, unless they have been changed since."""
    call: Json = {"name": part.tool_name or "", "arguments": _arguments(part)}
    if part.tool_call_id is not None:
        call["id"] = part.tool_call_id
    return laid_over(call, marks_of(part))


def _arguments(part: Part) -> str:
    raw = part.provider_raw or EMPTY
    function = raw.get("function")
    for text in (
        marks_of(part).get("arguments"),
        raw.get("arguments"),
        function.get("arguments") if isinstance(function, Mapping) else None,
    ):
        if isinstance(text, str) and read_arguments(text) == part.tool_args:
            return text
    try:
        return write_arguments(part.tool_args)
    except ValueError as problem:  # nested past what can be written
        raise CodecError(str(problem), where=f"the arguments of {part.tool_name}") from None


def _losses(message: Message) -> Iterable[tuple[int, str]]:
    """Tell what of a message no wire message can say."""
    for p, part in enumerate(message.parts):
        if part.type in ("provider", "compaction"):
            if not derived((part,), message.provider):
                yield p, f"a {part.type} part of unknown origin has no place in a wire message"
        elif part.type == "text" and part.provider_raw is not None and not derived((part,), message.provider):
            yield p, "what the provider said beside the text (citations, cache marks) has no place in a wire message"
        elif part.type not in ("text", "json", "thinking", "refusal", "tool_call", "tool_result", "annotation", *MEDIA):
            yield p, f"part type {part.type} has no place in a wire message"
