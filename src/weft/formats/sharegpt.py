"""ShareGPT files, as LLaMA-Factory and Axolotl read them: `conversations` of `{from, value}`, all of it text.

`function_call` is a call as JSON text, `observation` its result; nothing names calls, so they are paired in order.
Some say `role` and `content` for `from` and `value`, which is read the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Role,
    Session,
    Transcript,
    output_text,
    read_arguments,
    thaw,
)
from weft.formats.foreign import line, need_list, need_object, objects, rest, text, tools_as_functions, tools_from
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Source

__all__ = ["FORMAT"]

NAME = "sharegpt"
_ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "function_call": "assistant",
    "observation": "tool",
    "tool": "tool",
    "function_response": "tool",
    "model": "assistant",
    "bot": "assistant",
}
_FROM = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, one object each."""
    for place, said in objects(source):
        system = text(said.get("system"))
        kept = rest(said, "conversations", "system", "tools", *(("id",) if isinstance(said.get("id"), str) else ()))
        tools = said.get("tools")
        yield Opening(
            Session(
                id=text(said.get("id")),
                instructions=None if system is None else Instructions(system),
                tools=tools_from(_parsed(tools)),
                extras={NAME: kept} if kept else {},
            )
        )
        before: tuple[str, ...] = ()
        calls: list[tuple[str, str | None]] = []
        for number, each in enumerate(need_list(said.get("conversations", []), f"{place}.conversations"), 1):
            turn = _turn(need_object(each, f"{place}.conversations[{number - 1}]"))
            message = Message(_ROLES.get(str(turn.get("from")), "user"), _parts(turn, number, calls), timestamp=UNTIMED)
            beside = rest(turn, "from", "value") | (
                {} if text(turn.get("from")) in _ROLES else {"from": turn.get("from")}
            )
            yield Entry(str(number), message, before, extras={NAME: beside} if beside else {})
            before = (str(number),)
        yield Closing()


def _turn(said: dict[str, Any]) -> dict[str, Any]:
    """Give a turn in the usual words."""
    if "from" in said or "role" not in said:
        return said
    return {"from": said["role"], "value": said.get("content"), **rest(said, "role", "content")}


def _parts(turn: Mapping[str, Any], number: int, calls: list[tuple[str, str | None]]) -> list[Part]:
    value = turn.get("value")
    words = value if isinstance(value, str) else jsontext.dumps_text(value)
    match turn.get("from"):
        case "function_call":
            given = _parsed(words)
            calls.clear()
            found = []
            for index, each in enumerate(given if isinstance(given, list) else [given]):
                call = each if isinstance(each, dict) else {"arguments": words}
                name = f"call_{number}_{index}"
                calls.append((name, text(call.get("name"))))
                arguments = read_arguments(call.get("arguments"))
                found.append(
                    Part("tool_call", tool_call_id=name, tool_name=text(call.get("name")) or "", tool_args=arguments)
                )
            return found
        case "observation" | "tool" | "function_response":
            call_id, tool = calls.pop(0) if calls else (None, None)
            return [Part("tool_result", tool_call_id=call_id, tool_name=tool, tool_output=words)]
    return [Part("text", words)]


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return jsontext.loads(value)
    except ValueError:
        return None


def _encode(transcript: Transcript) -> bytes:
    session = transcript.session
    said: dict[str, Any] = {} if session.id is None else {"id": session.id}
    said["conversations"] = [turn for entry in transcript.linear() for turn in _turns(entry)]
    if session.instructions and session.instructions.system is not None:
        said["system"] = session.instructions.system
    if session.tools:
        functions = [tool["function"] for tool in tools_as_functions(session.tools)]
        said["tools"] = jsontext.dumps_text(functions)
    return line(said | thaw(session.noted(NAME)))


def _turns(entry: Entry) -> Iterator[dict[str, Any]]:
    message = entry.message
    ours = dict(thaw(entry.noted(NAME)))
    who = ours.pop("from", _FROM[message.role])
    texts = [part.text or "" for part in message.parts if part.type == "text"]
    calls = [
        {"name": part.tool_name, "arguments": thaw(part.tool_args or {})}
        for part in message.parts
        if part.type == "tool_call"
    ]
    results = [part for part in message.parts if part.type == "tool_result"]
    if texts or not (calls or results):
        yield {"from": who, "value": "\n".join(texts), **ours}
    if calls:
        yield {"from": "function_call", "value": jsontext.dumps_text(calls[0] if len(calls) == 1 else calls)}
    for part in results:
        yield {"from": "observation", "value": output_text(part.tool_output)}


def _sniff(head: Head) -> float:
    conversations = head.first.get("conversations", head)
    if conversations is head:
        return 0.0
    first = conversations[0] if isinstance(conversations, list) and conversations else None
    return 0.95 if conversations is None or (isinstance(first, dict) and "from" in first) else 0.3


FORMAT = Format(
    name=NAME,
    about="ShareGPT files, for training",
    carries=carrying(yes="many system tools", partial="calls title extras"),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    notes={"calls": "without ids, paired in order", "title": "the conversation's id", "extras": "as further fields"},
)
