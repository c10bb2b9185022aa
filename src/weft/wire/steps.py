"""Step codecs: wire messages out as a provider's request, a provider's response back in (message-codecs.md, 2 to 5).

    encode_step("claude", {"messages": [...], "functions": [...]}, model="claude-...")   -> the request body
    decode_step("claude", response)   -> {"messages": [...], "token_usage": {...}, "finish_reason": "stop", ...}

A face over the dialects: the messages go through canon, and the dialect's one encoder writes them under the `STEP`
policy. Kept here is what only this chapter asks for: which inputs are errors and not losses, the forms of functions
and schemas, and how a response is laid out. `plan_step` gives the body with the account of what is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import EMPTY, ExcludedItem, Message, Part, Reply, RunSpec, ToolSpecification, frozen_part, thaw
from weft.errors import CodecError, ProviderError, UsageError
from weft.jsontext import dumps_text
from weft.wire.body import deep_merge
from weft.wire.codec import STEP, Dialect, Encoded, Json, Policy
from weft.wire.messages import check_messages, encode_message, join_texts, read_message
from weft.wire.registry import dialect
from weft.wire.steprules import refused, settled

__all__ = [
    "MADE_UP_ID",
    "as_told",
    "decode_step",
    "encode_step",
    "face_of",
    "gemini_safety_settings",
    "plan_step",
    "result_of",
]


@dataclass(frozen=True, slots=True)
class _Face:
    """What one provider's step codec has of its own."""

    keys: tuple[str, ...]  # the entries of `extra` it reads; "weft" holds the caching hint
    usage: tuple[tuple[str, tuple[str, ...]], ...]  # our name of a count, and the path to the provider's
    streams_by_key: bool = True


FACES = {
    "openai_chat": _Face(
        keys=("weft",),
        usage=(
            ("input_tokens", ("prompt_tokens",)),
            ("output_tokens", ("completion_tokens",)),
            ("total_tokens", ("total_tokens",)),
            ("cache_read_tokens", ("prompt_tokens_details", "cached_tokens")),
            ("reasoning_tokens", ("completion_tokens_details", "reasoning_tokens")),
        ),
    ),
    "anthropic": _Face(
        keys=("weft", "claude"),
        usage=(
            ("input_tokens", ("input_tokens",)),
            ("output_tokens", ("output_tokens",)),
            ("cache_read_tokens", ("cache_read_input_tokens",)),
        ),
    ),
    "gemini": _Face(
        keys=("weft", "gemini"),
        usage=(
            ("input_tokens", ("promptTokenCount",)),
            ("output_tokens", ("candidatesTokenCount",)),
            ("total_tokens", ("totalTokenCount",)),
            ("cache_read_tokens", ("cachedContentTokenCount",)),
            ("reasoning_tokens", ("thoughtsTokenCount",)),
        ),
        streams_by_key=False,  # its streams have an address of their own
    ),
}
FUNCTION = {"name", "description", "parameters"}
MADE_UP_ID = "weft_call_"  # how the Gemini dialect begins the ids of calls that came without one
HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")


def face_of(name: str) -> tuple[Dialect, _Face]:
    """Give a dialect by any of its names, with its face; only three have one."""
    spoken = dialect(name)
    face = FACES.get(spoken.name)
    if face is None:
        raise UsageError(f"no step codec for {spoken.name}\n  there is one for: {', '.join(FACES)}")
    return spoken, face


# -- encode ----------------------------------------------------------------------------------------------------


def encode_step(
    dialect_name: str, step: Mapping[str, Any], *, model: str, strict: bool = False, **options: Any
) -> Json:
    """Write a step as a request body; options as `plan_step` has them. With `strict`, anything left out raises."""
    planned = plan_step(dialect_name, step, model=model, **options)
    if strict and planned.losses:
        first = planned.losses[0]
        raise CodecError(f"{first.reason} ({len(planned.losses)} losses in all)", where=first.description)
    return planned.body


def plan_step(
    dialect_name: str,
    step: Mapping[str, Any],
    *,
    model: str,
    stream: bool = False,
    max_tokens: int | None = None,
    reasoning_field: str | None = None,
    send_reasoning: bool = True,
    extra_body: Mapping[str, Any] | None = None,
) -> Encoded:
    """Write a step as a request body, with the list of what is not in it; CodecError names what cannot be sent at all.

    `reasoning_field` names where an OpenAI-compatible server takes reasoning back; `send_reasoning=False` keeps it
    from Gemini; `extra_body` is merged into the body last.
    """
    spoken, face = face_of(dialect_name)
    if not model:
        raise UsageError("a step needs the name of a model; there is no default")
    given = check_messages(step.get("messages"))
    refused(spoken.name, given)
    losses: list[ExcludedItem] = []
    wire = settled(spoken.name, given, losses, send_reasoning=send_reasoning)
    blobs = InMemoryBlobStore()
    messages = [_for_sending(read_message(message, blobs, face.keys)[0]) for message in wire]
    settings: Json = {"stream": True} if stream and face.streams_by_key else {}
    if stream and spoken.name == "openai_chat":
        settings["stream_options"] = {"include_usage": True}  # or no chunk tells what it cost [W-8]
    tools = _functions(step.get("functions"))
    if spoken.name == "openai_chat" and any(function.keys() - FUNCTION for function in step.get("functions") or ()):
        settings["tools"] = [{"type": "function", "function": function} for function in step["functions"]]
    spec = RunSpec(
        spoken.provider,
        spoken.endpoint,
        model,
        max_output_tokens=max_tokens,
        tools=tools,
        response_schema=_schema(spoken.name, step.get("response_schema")),
        extra_body=deep_merge(settings, extra_body or EMPTY),
    )
    policy: Policy = replace(STEP, reasoning_field=reasoning_field) if reasoning_field else STEP
    encoded = spoken.encode_request(messages, spec, blobs, policy)
    encoded.losses = losses + [
        ExcludedItem(_place(item.description, messages), item.reason)
        for item in encoded.losses
        if not _is_nothing(item.description, messages)
    ]
    return encoded


def _for_sending(message: Message) -> Message:
    """Leave of the annotation what a request can say: a name, a role, a caching hint."""
    if not message.parts or message.parts[-1].type != "annotation":
        return message
    marks = message.parts[-1].json or EMPTY
    said = {key: marks[key] for key in ("name", "role", "cache") if key in marks}
    parts = message.parts[:-1]
    return replace(message, parts=(*parts, Part("annotation", json=said)) if said else parts)


def _functions(functions: Any) -> tuple[ToolSpecification, ...]:
    if functions is None:
        return ()
    if not isinstance(functions, (list, tuple)):
        raise CodecError(f"must be a list, not {type(functions).__name__}", where="functions")
    return tuple(_function(function, f"functions[{f}]") for f, function in enumerate(functions))


def _function(function: Any, where: str) -> ToolSpecification:
    match function:
        case {"name": str(name), **fields}:
            description, parameters = fields.get("description") or "", fields.get("parameters")
            parameters = {"type": "object", "properties": {}} if parameters is None else parameters
            if isinstance(description, str) and isinstance(parameters, Mapping):
                return ToolSpecification(name, description, parameters)
    raise CodecError("must have a name and a description, which are texts, and parameters, an object", where=where)


def _schema(name: str, given: Any) -> Json | None:
    """Give a response schema in the form this provider's dialect takes it in."""
    if given is None:
        return None
    match given:
        case {"schema": Mapping() as schema, **about}:
            schema = thaw(schema)
        case _:
            raise CodecError("must be an object with a schema, an object", where="response_schema")
    described = {key: about[key] for key in ("name", "description") if about.get(key) is not None}
    if name == "openai_chat":
        strict = about.get("strict")
        return {"name": "response", **described, "schema": schema, "strict": True if strict is None else strict}
    if name == "anthropic":  # it has no fields for them; a schema may say them itself [W-26]
        return {**{"title" if key == "name" else key: text for key, text in described.items()}, **schema}
    return schema  # type: ignore[no-any-return]  # a mapping, thawed


def gemini_safety_settings() -> list[Json]:
    """Give the safety settings that block as little as Gemini allows; nothing is sent unless the caller adds it."""
    least = [{"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_NONE"} for harm in HARMS]
    return [*least, {"category": "HARM_CATEGORY_CIVIC_INTEGRITY", "threshold": "BLOCK_MEDIUM_AND_ABOVE"}]


def _located(description: str) -> tuple[int, int] | None:
    """Read `context.messages[m].parts[p]`."""
    head, dot, tail = description.removeprefix("context.messages[").partition("].parts[")
    if not dot or not head.isdecimal() or not tail.removesuffix("]").isdecimal():
        return None
    return int(head), int(tail.removesuffix("]"))


def _place(description: str, messages: Sequence[Message]) -> str:
    """Name the place of a loss in the step that was given, not in the canon it went through."""
    located = _located(description)
    if located is None:
        return description.removeprefix("context.")
    m, p = located
    part = messages[m].parts[p]
    before = [other.type for other in messages[m].parts[:p]]
    match part.type:
        case "thinking":
            field = "reasoning"
        case "refusal":
            field = "refusal"
        case "tool_call":
            field = f"tool_calls[{before.count('tool_call')}]"
        case "provider":
            field = "extra"
        case "text" | "tool_result":
            field = "content"
        case _:
            field = f"content[{p - before.count('thinking')}]"
    return f"messages[{m}].{field}"


def _is_nothing(description: str, messages: Sequence[Message]) -> bool:
    """Tell whether what was left out is an empty text: content may not be null, so this is how nothing is said."""
    located = _located(description)
    if located is None:
        return False
    part = messages[located[0]].parts[located[1]]
    return part.type in ("text", "thinking") and not part.text and part.provider_raw is None


# -- decode ----------------------------------------------------------------------------------------------------


def decode_step(dialect_name: str, response: Any) -> Json:
    """Read a response: its `messages`, and as far as it says them `token_usage`, `finish_reason` and `metadata`.

    A body that is the provider's error raises ProviderError.
    """
    spoken, _ = face_of(dialect_name)
    blobs = InMemoryBlobStore()
    reply = spoken.decode_response(response, blobs)
    if reply.raw.get("error") is not None and not reply.messages:
        raise _refusal_of(spoken.provider, reply.raw)
    return result_of(reply, spoken.name, blobs)


def _refusal_of(provider: str, body: Mapping[str, Any]) -> ProviderError:
    error = body["error"]
    said = error.get("message") if isinstance(error, Mapping) else error
    try:
        text = dumps_text(body)
    except ValueError:  # nested past what can be written
        text = ""
    return ProviderError(f"{provider}: {said if isinstance(said, str) else 'an error'}", provider=provider, body=text)


def result_of(reply: Reply, name: str, blobs: BlobStore) -> Json:
    """Lay out a reply as the step codecs give it."""
    heard = reply.messages[:1] if name == "gemini" else reply.messages  # the first candidate; every choice
    result: Json = {"messages": [_message(message, name, blobs) for message in heard]}
    if usage := _usage(reply, FACES[name]):
        result["token_usage"] = usage
    if reply.finish_reason is not None and reply.finished:
        result["finish_reason"] = reply.finish_reason
    created = reply.raw.get("created")
    facts = {"id": reply.id, "created_at": created, "model": reply.model}
    if metadata := {key: value for key, value in facts.items() if value is not None}:
        result["metadata"] = metadata
    return result


def _message(message: Message, name: str, blobs: BlobStore) -> Json:
    parts = tuple(as_told(part, name) for part in message.parts)
    # The id of a response is in the metadata: several choices would share it.
    written = encode_message(Message(message.role, parts, provider=message.provider), blobs)[0]
    if name != "openai_chat":
        join_texts(written, parts)
    return written


def as_told(part: Part, name: str) -> Part:
    """Give a part as this chapter has it, where that is not as canon does."""
    raw = part.provider_raw
    if part.type == "tool_call" and part.tool_call_id is not None and part.tool_call_id.startswith(MADE_UP_ID):
        return replace(part, tool_call_id=None)
    if name == "openai_chat" and raw is not None:
        if part.type == "refusal":  # one that stood among the content [W-10]
            return frozen_part("text", part.text)
        if part.type == "thinking" and isinstance(said := raw.get("reasoning"), str) and said:
            return replace(part, text=said)  # it comes first where a server says both [W-11]
    return part


def _usage(reply: Reply, face: _Face) -> Json:
    counts: Json = {}
    given = reply.usage.provider_usage if reply.usage is not None else EMPTY
    for ours, path in face.usage:
        value: Any = given
        for key in path:
            value = value.get(key, value.get(_snake(key))) if isinstance(value, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool):
            counts[ours] = value
    if "input_tokens" in counts or "output_tokens" in counts:
        return {"input_tokens": 0, "output_tokens": 0, **counts}
    return {}


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
