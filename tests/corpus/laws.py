"""The laws L1 to L4, each as a question about one exchange: None if it holds, else why not.

A law that does not apply to an exchange (L2 of a streamed one) raises NotApplicableError. Reasons name places and
kinds, never what was said: the corpus is not copied into reports.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import orjson

from tests.corpus.load import wire_bytes
from weft.blobs import InMemoryBlobStore
from weft.canon import NativeEvent, Part, Reply, StreamEnd, fold, thaw
from weft.canon.serde import part_to_dict
from weft.wire.stream import StreamReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.corpus.load import Exchange
    from weft.blobs import BlobStore
    from weft.canon import Event, Message, Usage

__all__ = [
    "BARS",
    "LAWS",
    "NotApplicableError",
    "difference",
    "replay_law",
    "request_law",
    "response_law",
    "stream_law",
]

# What share must hold, by issue 3.
BARS = {"L1": 0.995, "L2": 0.995, "L3": 1.0, "L4": 0.99, "L5": 1.0, "L6": 1.0}
LAWS = {
    "L1": "request: decode, encode is JSON-equal",
    "L2": "response: decode, encode is JSON-equal",
    "L3": "stream: folds to the whole, re-encodes to the same, split anywhere gives the same events",
    "L4": "replay: the answer as read from the response is the answer as read from the later request",
    "L5": "crossing: every other provider's own types accept the plan, and nothing is lost in silence",
    "L6": "mutation: a result, or a WireError that says where",
}
Json = dict[str, Any]
TEXT_TYPES = ("text", "input_text", "output_text")
SIGNATURES = ("signature", "thoughtSignature", "thought_signature", "data")
MADE_UP_ID = "weft_call_"  # ids of calls that came without one


class NotApplicableError(Exception):
    """The law says nothing about this exchange."""


# -- JSON-equal: a plain string equals a single text block, absent equals null, nothing else ------------------------


def difference(one: Any, other: Any, at: str = "") -> str | None:
    """Tell where two bodies differ, or None; only places and kinds are told."""
    if isinstance(one, str) and isinstance(other, list):
        return None if _single_text(other) == one else f"{at}: text against list"
    if isinstance(one, list) and isinstance(other, str):
        return None if _single_text(one) == other else f"{at}: list against text"
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            here, there = one.get(key), other.get(key)
            if here is None and there is None:
                continue
            if here is None or there is None:
                return f"{at}.{key}: {'added' if here is None else 'missing'}"
            if found := difference(here, there, f"{at}.{key}"):
                return found
        return None
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return f"{at}: {len(one)} items against {len(other)}"
        pairs = enumerate(zip(one, other, strict=True))
        return next((found for i, (a, b) in pairs if (found := difference(a, b, f"{at}[{i}]"))), None)
    if type(one) is not type(other):
        return f"{at}: {type(one).__name__} against {type(other).__name__}"
    return None if one == other else f"{at}: another {type(one).__name__}"


def _single_text(blocks: list[Any]) -> str | None:
    match blocks:
        case [{"text": str(text), **rest}] if not rest or (len(rest) == 1 and rest.get("type") in TEXT_TYPES):
            return text
    return None


# -- L1 and L2 ------------------------------------------------------------------------------------------------------


def request_law(exchange: Exchange) -> str | None:
    """L1."""
    if not isinstance(exchange.request, dict):
        raise NotApplicableError
    blobs = InMemoryBlobStore()
    spoken = exchange.dialect
    decoded = spoken.decode_request(exchange.request, blobs)
    encoded = spoken.encode_request(decoded.messages, decoded.spec, blobs)
    if encoded.losses:
        return f"lost {encoded.losses[0].description}: {encoded.losses[0].reason}"
    return difference(exchange.request, encoded.body)


def response_law(exchange: Exchange) -> str | None:
    """L2."""
    if not exchange.is_whole:
        raise NotApplicableError
    blobs = InMemoryBlobStore()
    spoken = exchange.dialect
    encoded = spoken.encode_response(spoken.decode_response(exchange.response, blobs), blobs)
    if encoded.losses:
        return f"lost {encoded.losses[0].description}: {encoded.losses[0].reason}"
    return difference(exchange.response, encoded.body)


# -- L3 -------------------------------------------------------------------------------------------------------------


def stream_law(exchange: Exchange) -> str | None:
    """L3, with the splits seeded by the exchange's own id."""
    if not exchange.is_stream:
        raise NotApplicableError
    framing = exchange.response["framing"]
    data = wire_bytes(exchange.response)
    blobs = InMemoryBlobStore()
    events, reply = read_stream(exchange, [data], framing, blobs)
    if reply is None:
        return "the stream gave no reply"
    if found := _folded(events, reply) or _described(exchange, reply):
        return found
    splits = random.Random(exchange.id)  # the same cuts in every run
    for _ in range(2):
        told, _ = read_stream(exchange, _cut(data, splits), framing, InMemoryBlobStore())
        if [_told(event) for event in told] != [_told(event) for event in events]:
            return "split at random bytes, other events came"
    encoder = exchange.dialect.StreamEncoder(blobs)
    written = b"".join([encoder.feed(event) for event in events]) + encoder.close()
    _, again = read_stream(exchange, [written], exchange.dialect.framing, blobs)
    if again is None or _said(again) != _said(reply):
        return "written as a stream and read again it is another message, reason or usage"
    return None


def read_stream(
    exchange: Exchange, chunks: Iterable[bytes], framing: str, blobs: BlobStore
) -> tuple[list[Event], Reply | None]:
    """Read a stream; give its events and the reply they amount to."""
    reader = StreamReader(exchange.dialect.StreamDecoder(blobs), framing)
    events: list[Event] = []
    for chunk in chunks:
        events += reader.feed(chunk)
    events += reader.close()
    return events, reader.reply


def _cut(data: bytes, splits: random.Random) -> Iterable[bytes]:
    at = 0
    while at < len(data):
        size = splits.randint(1, max(8, len(data) // 50))
        yield data[at : at + size]
        at += size


def _folded(events: list[Event], reply: Reply) -> str | None:
    """Fold the events; then without the reply that the decoder hands over with the last of them.

    The second is what a reader sees while the answer comes: the same parts, in the order they were told. A whole
    chat answer has its text before its reasoning (model.md, section 11), so kinds are compared one by one.
    """
    if fold(events) != reply:
        return "folding the events gives another reply"
    alone = fold([replace(event, reply=None) if isinstance(event, StreamEnd) else event for event in events])
    if [_by_kind(m) for m in alone.messages[:1]] != [_by_kind(m) for m in reply.messages[:1] if m.parts]:
        return "folding the events gives another message than the whole"
    if _counts(alone.usage) != _counts(reply.usage):
        return "folding the events gives another usage than the whole"
    return None


def _by_kind(message: Message) -> Any:
    role, parts = _parts(message)
    return role, sorted((_unsealed(part) for part in parts), key=lambda part: str(part["type"]))


def _unsealed(part: Json) -> Json:
    """Leave out what a provider gives anew in each event: Responses seals its reasoning again, proxies number it."""
    raw = part.get("provider_raw")
    if part["type"] != "thinking" or not isinstance(raw, dict):
        return part
    return {**part, "provider_raw": {key: raw[key] for key in raw if key not in ("id", "encrypted_content")}}


def _described(exchange: Exchange, reply: Reply) -> str | None:
    """Where a stream ends with the whole response (Responses API), it must read the same as the stream did."""
    whole = None
    for line in exchange.response.get("sse_lines", ()):
        if line.startswith("data:") and '"response.completed"' in line[:80]:
            whole = orjson.loads(line[5:]).get("response")
    if not isinstance(whole, dict) or not whole.get("output"):
        return None
    described = exchange.dialect.decode_response(whole, InMemoryBlobStore())
    if [_parts(m) for m in described.messages] != [_parts(m) for m in reply.messages]:
        return "the whole response at the end of the stream is another message"
    return None if _counts(described.usage) == _counts(reply.usage) else "the whole response has another usage"


def _said(reply: Reply) -> Any:
    return [_parts(m) for m in reply.messages], reply.finish_reason, _counts(reply.usage)


def _counts(usage: Usage | None) -> Any:
    return None if usage is None else (usage.input_tokens, usage.output_tokens, usage.total_tokens)


def _parts(message: Message) -> Any:
    return message.role, [_part(part) for part in message.parts if part.type != "annotation"]


def _part(part: Part) -> Json:
    """Write a part without the id that a store gives anew each time."""
    written = part_to_dict(part)
    if part.blob is not None:
        written["blob"] = (part.blob.sha256, part.blob.media_type)
    return written


def _told(event: Event) -> Any:
    """Write an event as plain data that can be compared: parts by what they are, replies not at all."""
    written: list[Any] = [event.type]
    for field in fields(event):  # type: ignore[arg-type]  # every event is a dataclass
        value = getattr(event, field.name)
        if isinstance(value, Part):
            written.append(_part(value))
        elif isinstance(value, tuple):
            written.append([_part(item) if isinstance(item, Part) else item for item in value])
        elif not isinstance(value, Reply):
            written.append(thaw(value) if not isinstance(event, NativeEvent) else value)
    return written


# -- L4 -------------------------------------------------------------------------------------------------------------


def replay_law(earlier: Exchange, later: Exchange) -> str | None:
    """L4: some answer in the later request is the one the earlier response gave."""
    blobs = InMemoryBlobStore()
    if earlier.is_stream:
        _, reply = read_stream(earlier, [wire_bytes(earlier.response)], earlier.response["framing"], blobs)
    elif earlier.is_whole:
        reply = earlier.dialect.decode_response(earlier.response, blobs)
    else:
        raise NotApplicableError
    if reply is None or reply.message is None:
        raise NotApplicableError
    messages = later.dialect.decode_request(later.request, blobs).messages
    heard = list(reply.message.parts)
    runs = _assistant_runs(messages)
    aware = earlier.dialect is later.dialect  # another dialect's reasoning was rewritten by whoever sent it
    if any(_holds(run, heard) and (not aware or _thinks_alike(run, heard)) for run in runs):
        return None
    kinds = ", ".join(part.type for part in heard)
    return f"none of {len(runs)} answers in the request is the one that was given ({kinds})"


def _assistant_runs(messages: Iterable[Message]) -> list[list[Part]]:
    """The assistant's parts between what others say: one answer may be several messages."""
    runs: list[list[Part]] = [[]]
    for message in messages:
        if message.role == "assistant":
            runs[-1] += message.parts
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _holds(sent: list[Part], heard: list[Part]) -> bool:
    """Tell whether all that was visible stands in what was sent, whole and in a piece.

    Clients add things of their own beside it (reasoning as text, calls they make up), which is not ours to judge.
    """
    there = [part for part in sent if _is_visible(part)]
    wanted = [part for part in heard if _is_visible(part)]
    size = len(wanted)
    return any(
        all(_same_part(one, other) for one, other in zip(wanted, there[at : at + size], strict=True))
        for at in range(len(there) - size + 1)
    )


def _is_visible(part: Part) -> bool:
    return part.type == "tool_call" or (part.type in ("text", "refusal") and bool(part.text))


def _same_part(heard: Part, sent: Part) -> bool:
    if heard.type != sent.type:
        return False
    if heard.type != "tool_call":
        return heard.text == sent.text
    given = heard.tool_call_id is not None and not heard.tool_call_id.startswith(MADE_UP_ID)
    same_id = heard.tool_call_id == sent.tool_call_id or not given  # the answer had none; the client chose its own
    return same_id and heard.tool_name == sent.tool_name and heard.tool_args == sent.tool_args


def _thinks_alike(sent: list[Part], heard: list[Part]) -> bool:
    """Tell whether what was thought came back as it was, where any of it came back.

    Clients may send a thought in pieces, and hang its signature on another part; none may be changed or made up.
    """
    back = [part for part in sent if part.type == "thinking"]
    if not back:
        return True  # most clients are told not to send it
    thought = "".join(part.text or "" for part in heard if part.type == "thinking")
    if thought not in "".join(part.text or "" for part in back):
        return False
    returned = {signature for part in back for signature in _signatures(part)}
    given = {signature for part in heard for signature in _signatures(part)}
    # A run may hold thoughts of more than this answer; then this answer's own must be among theirs.
    own = {signature for part in heard if part.type == "thinking" for signature in _signatures(part)}
    return returned <= given or (bool(own) and own <= returned)


def _signatures(part: Part) -> list[str]:
    """Find the signatures in a kept block. What Responses seals is sealed anew in each event, so it is not compared."""
    found = []
    todo: list[Any] = [part.provider_raw]
    for value in todo:  # grows while it is walked
        if isinstance(value, Mapping):
            found += [value[key] for key in SIGNATURES if isinstance(value.get(key), str)]
            todo.extend(value.values())
        elif isinstance(value, tuple):
            todo.extend(value)
    return sorted(found)
