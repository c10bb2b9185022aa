"""TOML files of wire messages: `metadata`, then each message a `[[messages]]` table (message-codecs.md, 7).

TOML has no null and no halves of characters: fields that are null are left out, and elsewhere they are an error that
names the place [W-37].
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from math import isfinite
from typing import Any

from weft.canon import Closing, Opening, Piece
from weft.errors import CodecError
from weft.formats.format import Format, Sink, carrying
from weft.formats.ledger import Ledger
from weft.formats.source import Head, Source
from weft.formats.wiremessages import (
    ABSENT,
    CARRIED,
    CARRIED_IN_PART,
    NOTES,
    Json,
    MessageReader,
    NoNullError,
    ShapeError,
    decoded_shape,
    is_fact,
    session_of,
    told,
    without_raw_bytes,
)
from weft.wire import check_message, check_messages

__all__ = ["FORMAT", "decode", "encode", "read", "write"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPED_IN_LINES = re.compile(r'[\x00-\x09\x0b-\x1f\x7f\\]|"""|"$')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_NO_NULL = "TOML has no null"
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)$")


# -- as values -----------------------------------------------------------------------------------------------------


def encode(messages: Sequence[Json], metadata: Any = ABSENT) -> str:
    """Write wire messages as tables, metadata before them."""
    pieces = [] if metadata is ABSENT else [_metadata(metadata)]
    pieces += [_table(message, f"messages[{m}]") for m, message in enumerate(check_messages(messages))]
    if not messages:
        pieces.insert(0, "messages = []\n")
    return "\n".join(pieces)


def decode(source: str) -> Json:
    """Read a text: `messages`, and `metadata` if there is any."""
    if not isinstance(source, str):
        raise ShapeError(f"TOML is read from text, not {type(source).__name__}")
    messages, metadata = decoded_shape(_plain(_loads(source)))
    result: Json = {"messages": list(check_messages(messages))}
    return result if metadata is ABSENT else {**result, "metadata": metadata}


def _loads(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        at = _AT_LINE.search(str(problem))
        where = f"line {at[1]}" if at else f"line {text.count(chr(10)) + 1}"
        raise CodecError(f"not TOML: {_AT_LINE.sub('', str(problem)).strip()}", where=where) from None
    except RecursionError:
        raise CodecError("not TOML: nested too deeply to be read", where="the file") from None
    except ValueError as problem:  # a number with more digits than Python reads at once
        raise CodecError(f"not TOML: {problem}", where="the file") from None


def _plain(value: Any) -> Any:
    """Give dates and times as ISO strings [W-37]."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, (datetime, date, time)) else value


# -- writing ---------------------------------------------------------------------------------------------------------


def _metadata(metadata: Any) -> str:
    if isinstance(metadata, Mapping) and metadata:
        lines = [f"{_key(key)} = {_inline(item, f'metadata.{key}')}" for key, item in metadata.items()]
        return "\n".join(["[metadata]", *lines, ""])
    return f"metadata = {_inline(metadata, 'metadata')}\n"


def _table(message: Mapping[str, Any], where: str) -> str:
    """Write one message; fields that are null are left out."""
    said = {key: value for key, value in without_raw_bytes(message).items() if value is not None}
    if "tool_calls" in said:
        said["tool_calls"] = [
            {key: value for key, value in call.items() if value is not None} for call in said["tool_calls"]
        ]
    for key in ("content", "reasoning", "refusal"):
        if isinstance(said.get(key), list):
            said[key] = [{name: item for name, item in part.items() if item is not None} for part in said[key]]
    lines = [f"{_key(key)} = {_top(value, f'{where}.{key}')}" for key, value in said.items()]
    return "\n".join(["[[messages]]", *lines, ""])


def _top(value: Any, where: str) -> str:
    """Write the value of a field; a text of several lines as several lines, to be read and edited."""
    if isinstance(value, str) and "\n" in value:
        body = _ESCAPED_IN_LINES.sub(_escape, _checked(value, where))
        return f'"""\n{body}"""'
    return _inline(value, where)


def _inline(value: Any, where: str) -> str:
    match value:
        case None:
            raise NoNullError("TOML has no null", where=where)
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_ESCAPED.sub(_escape, _checked(value, where))}"'
        case int():
            try:
                return str(value)
            except ValueError:  # Python writes no more than 4300 digits at once
                raise NoNullError("the number has too many digits", where=where) from None
        case float():
            if not isfinite(value):
                raise NoNullError(f"{value} is not a JSON number", where=where)
            text = repr(value)
            return text if "." in text or "e" not in text else text.replace("e", ".0e")
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            members = ", ".join(f"{_key(key)} = {_inline(item, f'{where}.{key}')}" for key, item in value.items())
            return f"{{ {members} }}" if members else "{}"
        case list() | tuple():
            return f"[{', '.join(_inline(item, f'{where}[{i}]') for i, item in enumerate(value))}]"
    raise NoNullError(f"TOML has no form for {type(value).__name__}", where=where)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else f'"{_ESCAPED.sub(_escape, _checked(key, key))}"'


def _checked(text: str, where: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise NoNullError("TOML cannot hold half a character (a lone surrogate)", where=where) from None
    return text


def _escape(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) == 3:
        return '""\\"'
    return _SHORT.get(text) or f"\\u{ord(text):04x}"


# -- as pieces -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation; a TOML file is read whole."""
    messages, metadata = decoded_shape(_plain(_loads(source.text())))
    if not isinstance(messages, list):
        raise CodecError("must be a list", where="messages")
    reader = MessageReader()
    yield Opening(session_of(metadata))
    for message in messages:
        yield reader.entry(message)
    yield Closing()


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write one conversation, message by message; what TOML has no form for is left out and noted."""
    messages = told(pieces, ledger, "toml")
    metadata = next(messages, ABSENT)
    separator = b""
    try:
        if metadata is not ABSENT:
            metadata = _sayable(metadata, ledger)
        first = next(messages, None)
        if first is None:
            sink.write(b"messages = []\n")
            separator = b"\n"
        if metadata is not ABSENT:
            sink.write(separator + _metadata(metadata).encode())
            separator = b"\n"
        number = 0
        while first is not None:
            found: set[str] = set()
            cleaned = _cleaned(first, found)
            for problem in sorted(found):
                ledger.changed("message", "a message", problem)
            sink.write(separator + _table(check_message(cleaned), f"messages[{number}]").encode())
            separator, number, first = b"\n", number + 1, next(messages, None)
    except RecursionError:
        raise CodecError("nested too deeply to be written as TOML", where=ledger.place) from None


def _sayable(metadata: Any, ledger: Ledger) -> Any:
    """Give metadata without what TOML has no form for, noting each."""
    found: set[str] = set()
    if not isinstance(metadata, Mapping):
        cleaned = _cleaned(metadata, found)
        for problem in sorted(found) if metadata is not None else [_NO_NULL]:
            ledger.lost_of_whole("session.extras.metadata", "metadata", problem)
        return ABSENT if cleaned is None else cleaned
    kept = {}
    for key, value in metadata.items():
        found = set()
        name, cleaned = _cleaned(key, found), _cleaned(value, found)
        for problem in sorted(found) if value is not None else [_NO_NULL]:
            place = f"session.{key}" if is_fact(key, value) else "session.extras.metadata"
            ledger.lost_of_whole(place, f"the session's {key}", problem, "changed")
        if value is not None:
            kept[name] = cleaned
    return kept


def _cleaned(value: Any, found: set[str]) -> Any:
    """Leave out what TOML has no form for, and add to `found` what that was."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            found.add("TOML cannot hold half a character (a lone surrogate)")
            return value.encode("utf-8", "replace").decode("utf-8")
    elif isinstance(value, Mapping):
        if any(item is None for item in value.values()):
            found.add(_NO_NULL)
        return {_cleaned(key, found): _cleaned(item, found) for key, item in value.items() if item is not None}
    elif isinstance(value, (list, tuple)):
        if any(item is None for item in value):
            found.add(_NO_NULL)
        return [_cleaned(item, found) for item in value if item is not None]
    return value


def sniff(head: Head) -> float:
    """Tables of messages."""
    if re.search(rb"^\[\[messages\]\]", head.data, re.MULTILINE):
        return 0.9
    return 0.6 if re.match(rb"messages\s*=\s*\[", head.start) else 0.0


FORMAT = Format(
    name="toml",
    about="wire messages as TOML: a table each",
    extensions=(".toml",),
    carries=carrying(CARRIED, CARRIED_IN_PART),
    notes={**NOTES, "options": "what is null has no form in TOML"},
    read=read,
    write=write,
    sniff=sniff,
)
