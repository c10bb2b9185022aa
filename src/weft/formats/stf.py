"""STF, simple text format: conversations edited by hand, with commands on lines that begin with `;`.

    ;user name="Ada B"
    When is high water?
    ;ai
    06:10

message-codecs.md, section 8. The grammar of the lines is in stfreader.py; here is the writer, and both as pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from weft import jsontext
from weft.canon import Closing, Opening, Piece
from weft.errors import CodecError, StfSyntaxError
from weft.formats.format import Format, Sink, carrying
from weft.formats.ledger import Ledger
from weft.formats.source import Head, Source
from weft.formats.stfreader import StfReader
from weft.formats.wiremessages import (
    ABSENT,
    CARRIED,
    CARRIED_IN_PART,
    NOTES,
    Json,
    MessageReader,
    ShapeError,
    is_usual,
    session_of,
    told,
    without_raw_bytes,
)
from weft.wire import check_message, check_messages

__all__ = ["FORMAT", "decode", "encode", "read", "write"]

COMMANDS = {"user": "user", "assistant": "ai", "system": "sys", "developer": "dev", "tool": "tool"}
FIELDS = frozenset(("role", "content", "reasoning", "refusal", "tool_calls", "id", "call_id", "name", "extra"))
CALL_FIELDS = frozenset(("name", "arguments", "id", "call_id"))
_BARE = re.compile(r"[^\s\"'\x00-\x20\x7f-\xa0]+")


# -- as values -----------------------------------------------------------------------------------------------------


def encode(
    messages: Sequence[Json],
    metadata: Any = ABSENT,
    *,
    extra: bool = True,
    with_metadata: bool = True,
    reasoning: bool = True,
    refusal: bool = True,
    tool_calls: bool = True,
) -> str:
    """Write wire messages; a field whose option is off is left out, also of messages written raw."""
    switches = {"extra": extra, "reasoning": reasoning, "refusal": refusal, "tool_calls": tool_calls}
    off = [key for key, on in switches.items() if not on]
    blocks = [_meta(metadata)] if with_metadata and metadata is not ABSENT else []
    for message in check_messages(messages):
        kept = {key: value for key, value in without_raw_bytes(message).items() if key not in off}
        blocks.append(_block(kept))
    return "\n".join(blocks) + "\n" if blocks else ""


def decode(source: str, *, default_role: str | None = None, final_newline: Literal["strip", "keep"] = "strip") -> Json:
    """Read a text: `messages`, and `metadata` if there is any. StfSyntaxError has the number of the line."""
    if not isinstance(source, str):
        raise ShapeError(f"STF is read from text, not {type(source).__name__}")
    reader = StfReader(default_role)
    lines = source.split("\n")
    if final_newline == "strip" and lines[-1] == "":
        lines.pop()
    messages = [message for line in lines for message in reader.feed(line)]
    messages += reader.close()
    result: Json = {"messages": messages}
    return result if reader.metadata is ABSENT else {**result, "metadata": reader.metadata}


# -- writing ---------------------------------------------------------------------------------------------------------


def _block(message: Mapping[str, Any]) -> str:
    """Write one message: its command, its content, its fields [W-60 to W-63]."""
    if not _is_sayable(message):
        return "\n".join([";raw", _indented(message), ";end"])
    role = message["role"]
    command = COMMANDS.get(role)
    words = [f";{command}"] if command is not None else [";msg", f"role={_value(role)}"]
    words += [f"{key}={_value(message[key])}" for key in ("name", "id", "call_id") if key in message]
    lines = [" ".join(words)]
    if message["content"]:
        lines.append(_data(message["content"]))
    for key in ("reasoning", "refusal"):
        if key in message:
            lines += _polyadic(key, message[key])
    for call in message.get("tool_calls", ()):
        said = " ".join(f"{key}={_value(call[key])}" for key in ("name", "id", "call_id") if key in call)
        lines += _polyadic(f"toolcall {said}", call["arguments"])
    if "extra" in message:
        lines += _polyadic("extra", _json(message["extra"]))
    return "\n".join(lines)


def _is_sayable(message: Mapping[str, Any]) -> bool:
    """Tell whether the commands can say a message; else it is written raw [W-63]."""
    if is_usual(message):  # of texts alone
        calls = message.get("tool_calls")
        if calls is None:
            return all(map(_is_utf8, message.values()))
        said = (message["role"], message["content"], *(text for call in calls for text in call.values()))
        return bool(calls) and all(map(_is_utf8, said))
    if not message.keys() <= FIELDS or any(value is None for value in message.values()):
        return False
    texts = [message[key] for key in FIELDS - {"tool_calls", "extra"} if key in message]
    if "tool_calls" in message:
        if not message["tool_calls"]:
            return False
        for call in message["tool_calls"]:
            if not call.keys() <= CALL_FIELDS:
                return False
            texts += call.values()
    return all(isinstance(text, str) and _is_utf8(text) for text in texts)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a character, which only JSON can spell
        return False
    return True


def _value(text: str) -> str:
    """Write the value of an argument: bare, or as a JSON string where that would not be read back [W-61]."""
    return text if _BARE.fullmatch(text) else jsontext.dumps_text(text)


def _data(text: str) -> str:
    """Write lines of text: one that begins with a semicolon gets another [W-62]."""
    if ";" not in text:
        return text
    return (";" if text.startswith(";") else "") + text.replace("\n;", "\n;;")


def _polyadic(command: str, body: str) -> list[str]:
    return [f";{command}", *((_data(body),) if body else ()), ";end"]


def _meta(metadata: Any) -> str:
    return "\n".join(_polyadic("meta", _json(metadata)))


def _json(value: Any) -> str:
    try:
        return jsontext.dumps_text(value)
    except ValueError as problem:
        raise CodecError(str(problem)) from None


def _indented(value: Mapping[str, Any]) -> str:
    """Write an object over several lines, each of its members on one."""
    members = ",\n".join(f"  {_json(key)}: {_json(item)}" for key, item in value.items())
    return f"{{\n{members}\n}}"


# -- as pieces -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation, message by message."""
    stf = StfReader()
    reader = MessageReader()
    opened = False
    session = None
    for found in _found(source, stf):
        if not opened:
            session = session_of(stf.metadata)
            yield Opening(session)
            opened = True
        yield reader.entry(found, f"line {stf.begun}")
    known = session_of(stf.metadata)
    if not opened:
        yield Opening(known)
    yield Closing(session=None if known == session or not opened else known)


def _found(source: Source, stf: StfReader) -> Iterator[Json]:
    for number, line in enumerate(_lf_lines(source), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise StfSyntaxError(f"not UTF-8 (byte {problem.start + 1})", line=number) from None
        yield from stf.feed(text.removeprefix("\ufeff") if number == 1 else text)
    yield from stf.close()


def _lf_lines(source: Source) -> Iterator[bytes]:
    """Give the lines; the newline that ends the last one adds nothing [W-41]."""
    held = b""
    for chunk in source.chunks():
        lines = (held + chunk).split(b"\n")
        held = lines.pop()
        yield from lines
    if held:
        yield held


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write one conversation, message by message."""
    blocks = told(pieces, ledger, "stf")
    metadata = next(blocks, ABSENT)
    try:
        if metadata is not ABSENT:
            sink.write(_meta(metadata).encode() + b"\n")
        for message in blocks:
            sink.write(_block(message if is_usual(message) else check_message(message)).encode() + b"\n")
    except (CodecError, ValueError) as problem:
        raise CodecError(str(problem), where=ledger.place) from problem


def sniff(head: Head) -> float:
    """The first line is a command we know, or a comment."""
    first = head.start.split(b"\n", 1)[0]
    if not first.startswith(b";"):
        return 0.0
    rest = first[1:].lstrip(b" \t")
    if rest.startswith((b"#", b"//", b"/*")):
        return 0.4
    name = rest.split(b" ")[0].split(b"{")[0].strip().decode("latin-1")
    return 0.9 if name in StfReader.NAMES else 0.0


FORMAT = Format(
    name="stf",
    about="wire messages as simple text, for editing by hand",
    extensions=(".stf",),
    carries=carrying(CARRIED, CARRIED_IN_PART),
    notes=NOTES,
    read=read,
    write=write,
    sniff=sniff,
)
