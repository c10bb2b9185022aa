"""inspect-ai's evaluation logs: `.json`, and `.eval`, which is the same in a zip file (weft.formats.evalzip).

Each sample is a conversation. What was used and why an answer ended stands in the sample's events, one for each call
of the model, and is found by the answer's id. What a log says beside its samples is with the first of them; what comes
after them, with the last. Scores may be NaN there, which is no JSON: it is kept as an object that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import UNTIMED, Closing, Entry, Message, Opening, Piece, Session, Stray, Usage
from weft.formats.foreign import as_role, counted, listed, moment, need_list, need_object, rest, text, tools_from
from weft.formats.format import Format, carrying
from weft.formats.inspectcontent import NAME, Attachments, call_of, key_of, parts_of, result_of, said
from weft.formats.inspectwriter import writer
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

_NO_MODEL = "none/none"  # what inspect-ai calls no model at all
_REASONS = {"max_tokens": "length", "model_length": "length", "unknown": None}
_COUNTS = (("input_tokens",), ("output_tokens",), ("total_tokens",))
_MESSAGE: tuple[str, ...] = ("role", "content", "id", "tool_calls", "model")
_RESULT = ("role", "content", "id", "tool_call_id", "function", "error")


def read(source: Source) -> Iterator[Piece]:
    """Read a log, one sample at a time."""
    feed = source.json_feed()
    log: dict[str, Any] = {}
    late: dict[str, Any] = {}
    held: Closing | None = None  # the end of the last sample, until it is known to be the last
    for key in feed.members():
        if key != "samples" or feed.peek() != "[":
            (log if held is None else late)[key] = feed.value(_loads)
            continue
        for number, value in enumerate(feed.elements(_loads)):
            if held is not None:
                yield held
            yield from conversation(need_object(value, f"samples[{number}]"), log, number, is_first=held is None)
            held = Closing()
    feed.end()
    if held is not None:
        if late:
            yield Stray(NAME, jsontext.dumps_text(late))
        yield held


def conversation(
    sample: dict[str, Any], log: Mapping[str, Any], number: int, *, is_first: bool = False
) -> Iterator[Piece]:
    """Give the pieces of one sample but for the last, which ends it."""
    sample = _whole(sample)
    provider, model = _model(log)
    events = [each for each in listed(sample.get("events")) if isinstance(each, dict) and each.get("event") == "model"]
    extras: dict[str, Any] = {"sample": rest(sample, "messages")}
    if is_first:
        extras["log"] = dict(log)
    yield Opening(
        Session(
            id=_id(sample, number),
            title=text(sample.get("description")),
            created=moment(sample.get("started_at")),
            updated=moment(sample.get("completed_at")),
            provider=provider,
            model=model,
            tools=tools_from(next((each["tools"] for each in reversed(events) if each.get("tools")), None)),
            extras={NAME: extras},
        )
    )
    attachments = Attachments(sample.get("attachments"))
    answers = _Answers(events, sample.get("output"))
    shelf = Shelf()
    before: tuple[str, ...] = ()
    where = f"samples[{number}].messages"
    for count, each in enumerate(need_list(sample.get("messages", []), where), 1):
        message = need_object(each, f"{where}[{count - 1}]")
        entry = _entry(count, attachments.resolved(message), before, provider, answers.of(message), shelf)
        before = (entry.id,)
        yield entry


def _loads(raw: bytes) -> Any:
    try:
        return jsontext.loads(raw)
    except ValueError:
        if b"NaN" not in raw and b"Infinity" not in raw:
            raise
    try:
        return json.loads(raw, parse_constant=lambda name: {"inspect:float": name})
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _whole(sample: dict[str, Any]) -> dict[str, Any]:
    """Put a sample in chunks together: its messages are ranges of those that its events share."""
    match sample:
        case {"sample": dict(shell), "chunks": dict(chunks)}:
            pools = {name: [item for chunk in listed(all_) for item in listed(chunk)] for name, all_ in chunks.items()}
            pool = pools.pop("messages", [])
            spans = [span for span in listed(shell.get("message_refs")) if _is_span(span)]
            messages = [message for begin, end in spans for message in pool[begin:end]]
            attachments = {str(index): each for index, each in enumerate(pools.pop("attachments", []))}
            shared = {"messages": pool, "calls": pools.pop("calls", [])}
            metadata = {"metadata": sample["metadata"]} if "metadata" in sample else {}
            own = rest(shell, "message_refs") | metadata | pools
            return {**own, "messages": messages, "attachments": attachments, "events_data": shared}
    return sample


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == len(("begin", "end")) and all(type(each) is int for each in value)


def _id(sample: Mapping[str, Any], number: int) -> str:
    """Name a sample as inspect-ai names its file, but that the first epoch is understood."""
    name, epoch = sample.get("id"), sample.get("epoch", 1)
    name = number + 1 if name is None else name
    return str(name) if epoch == 1 else f"{name}_epoch_{epoch}"


def _model(log: Mapping[str, Any]) -> tuple[str | None, str | None]:
    about = log.get("eval")
    named = text(about.get("model")) if isinstance(about, dict) else None
    if named is None or named == _NO_MODEL:
        return None, None
    provider, slash, model = named.partition("/")
    return (provider or None, model or None) if slash else (None, named)


class _Answers:
    """What the model's events say of its answers, found by the id of each, or by what it says."""

    def __init__(self, events: list[dict[str, Any]], last: Any) -> None:
        self._found: dict[bytes | str, list[tuple[dict[str, Any], dict[str, Any], Any]]] = {}
        for event in events:
            self._add(event.get("output"), event.get("completed") or event.get("timestamp"))
        told = self._found
        self._found = {}
        self._add(last, None)  # of a log without events; else it is the last event's
        self._found |= told

    def _add(self, output: Any, at: Any) -> None:
        for choice in listed(output.get("choices")) if isinstance(output, dict) else ():
            if isinstance(choice, dict) and isinstance(message := choice.get("message"), dict):
                self._found.setdefault(key_of(message), []).append((choice, output, at))

    def of(self, message: dict[str, Any]) -> tuple[str | None, Usage | None, Any]:
        """Give why an answer ended, what it took, and when it was."""
        known = self._found.get(key_of(message)) if message.get("role") == "assistant" else None
        if not known:
            return None, None, None
        choice, output, at = known.pop(0) if len(known) > 1 else known[0]
        reason = text(choice.get("stop_reason"))
        return _REASONS.get(reason, reason) if reason else None, counted(output.get("usage"), *_COUNTS), at


def _entry(
    count: int,
    message: dict[str, Any],
    before: tuple[str, ...],
    provider: str | None,
    answer: tuple[str | None, Usage | None, Any],
    shelf: Shelf,
) -> Entry:
    role = as_role(message.get("role"))
    reason, usage, at = answer
    known = _MESSAGE
    if role == "tool":
        parts, known = [result_of(message)], _RESULT
    else:
        parts = parts_of(message.get("content"), provider, shelf)
        parts += [call_of(call) for call in listed(message.get("tool_calls"))]
    kept = said(message, *known)
    if role != message.get("role"):
        kept["role"] = message.get("role")
    is_answer = role == "assistant"
    return Entry(
        str(count),
        Message(role, parts, text(message.get("id")), provider if is_answer else None, None, moment(at) or UNTIMED),
        before,
        text(message.get("model")) if is_answer else None,
        reason,
        usage,
        {NAME: kept} if kept else {},
        shelf.taken(),
    )


def _sniff(head: Head) -> float:
    first = head.first
    if not {"eval", "status"} <= first.keys() or "version" not in first:
        return 0.0
    about = first["eval"]  # None if it is longer than a look at the file
    return 0.97 if about is None or (isinstance(about, dict) and "task" in about) else 0.0


FORMAT = Format(
    name=NAME,
    about="inspect-ai's evaluation logs (.eval and .json; written as .json), each sample a conversation",
    carries=carrying(
        yes="many model usage finish thinking calls images files extras",
        partial="timestamps title system tools signatures",
    ),
    read=read,
    write=writer(conversation),
    sniff=_sniff,
    aliases=("inspect-ai", "eval"),
    notes={
        "timestamps": "of answers",
        "title": "a sample's description, and its id and epoch",
        "system": "as messages",
        "tools": "of conversations with an answer",
        "signatures": "Anthropic's, those of OpenAI's Responses, and those that are one text",
    },
)
