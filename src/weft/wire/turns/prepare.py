"""prepare_request: a resolved thread and its tools as a provider's request (threads.md, section 15).

The dialect's own encoder writes the messages, under the TURN policy; what is this chapter's alone (fixed keys,
search, MCP tools) comes from the tables beside it. The model is added by whoever calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from weft.blobs import InMemoryBlobStore
from weft.canon import EMPTY, Message, RunSpec, thaw
from weft.errors import InvalidContentError
from weft.wire.callids import with_call_ids
from weft.wire.codec import TURN, Encoded, Json
from weft.wire.registry import dialect
from weft.wire.turns.provider import provider_named
from weft.wire.turns.shape import read_turns, shape_turn
from weft.wire.turns.toolbox import tool_fields

__all__ = ["call_fields", "encode_turns", "prepare_request"]

TextDocuments = Literal["refuse", "inline"]

_PLACE = re.compile(r"context\.messages\[(\d+)\](\.parts\[\d+\])?")


def prepare_request(
    provider: str,
    context: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    text_documents: TextDocuments = "refuse",
    merge: bool = False,
) -> Json:
    """Write the request for a resolved context and the tools it may use.

    `text_documents="inline"` sends text files as text to providers that would refuse them; `merge` puts neighbours
    of one role into one message.
    """
    return encode_turns(provider, context, tools, text_documents=text_documents, merge=merge).body


def encode_turns(
    provider: str,
    context: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    text_documents: TextDocuments = "refuse",
    merge: bool = False,
    model: str = "",
    response_schema: Mapping[str, Any] | None = None,
) -> Encoded:
    """Do the same, and give the account of what could not be said along with the request.

    `response_schema` is the form the answer is to have, as the provider's dialect takes it from a RunSpec; `model` is
    for what one model insists on and another does not.
    """
    who = provider_named(provider)
    if not isinstance(context, Mapping):
        raise InvalidContentError(f"a context must be an object, not {type(context).__name__}")
    options = context.get("options")
    toolbox = tool_fields(provider, who.title, tools, options if isinstance(options, Mapping) else EMPTY)
    blobs = InMemoryBlobStore()
    turns = read_turns(context, blobs)
    shaped = [shape_turn(turn, who, blobs) for turn in turns]
    messages: Sequence[Message] = [message for group in shaped for message in group]
    if who.dialect != "gemini":
        messages = with_call_ids(messages)
    speaks = dialect(who.dialect)
    extra = {**who.fixed, **who.no_tools, **toolbox}
    spec = RunSpec(provider, speaks.endpoint, model, extra_body=extra, response_schema=response_schema)
    policy = replace(TURN, merge=merge, text_documents=text_documents)
    encoded = speaks.encode_request(messages, spec, blobs, policy)
    encoded.body.pop("model", None)
    return _at_home(encoded, [(t, len(group) == 1) for t, group in enumerate(shaped) for _ in group])


def _at_home(encoded: Encoded, homes: list[tuple[int, bool]]) -> Encoded:
    """Make the account name the caller's messages: one that was cut in two has no part of the same number."""

    def home(place: re.Match[str]) -> str:
        turn, is_whole = homes[int(place[1])]
        return f"context.messages[{turn}]" + ((place[2] or "") if is_whole else "")

    encoded.losses = [replace(loss, description=_PLACE.sub(home, loss.description)) for loss in encoded.losses]
    for account in (encoded.warnings, encoded.errors, encoded.roundtrip):
        account[:] = [_PLACE.sub(home, line) for line in account]
    return encoded


def call_fields(provider: str, model: str) -> Json:
    """Give what a call adds to a prepared request: the model, unless the address names it, and a word on usage."""
    who = provider_named(provider)
    fields: Json = {} if who.dialect == "gemini" else {"model": model}
    return {**fields, **thaw(who.call)}
