"""JSON5, read only: JSON as people write it by hand (comments, trailing commas, single quotes, bare keys) [W-57].

Plain JSON is read by the fast reader; this one is for what that refuses. What weft writes is plain JSON.
"""

from __future__ import annotations

import re
from typing import Any

from weft import jsontext

__all__ = ["Json5Error", "loads", "read_string"]

_SKIP = re.compile(
    r"(?:[ \t\n\r\v\f\u00a0\ufeff\u2028\u2029\u1680\u2000-\u200a\u202f\u205f\u3000]++"
    r"|//[^\n\r\u2028\u2029]*+|/\*.*?\*/)*+",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<word>Infinity|NaN)"
    r"|(?P<number>(?:(?:0|[1-9][0-9]*)(?P<point>\.[0-9]*)?|(?P<bare>\.[0-9]+))(?P<power>[eE][+-]?[0-9]+)?))"
)
_NAME = re.compile(r"(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4})(?:\w|\$|\u200c|\u200d|\\u[0-9a-fA-F]{4})*")
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = "\n\r\u2028\u2029"
_WORDS = {"true": True, "false": False, "null": None}
DEEPEST = 200  # levels; written by hand, and each takes two of the thousand calls Python allows


class Json5Error(ValueError):
    """A text that is not JSON5; `at` is the position of the character that does not fit."""

    def __init__(self, message: str, at: int) -> None:
        """Say what is wrong, and where."""
        self.at = at
        super().__init__(message)


def loads(text: str) -> Any:
    """Read one value; Json5Error says what is wrong."""
    try:
        return jsontext.loads(text)
    except ValueError:
        value, at = _value(text, _skip(text, 0), 0)
    at = _skip(text, at)
    if at < len(text):
        raise Json5Error(f"{text[at]!r} after the end of the value", at)
    return value


def read_string(text: str, at: int) -> tuple[str, int]:
    """Read the string whose quote is at `at`; give it with where it ends."""
    quote, pieces, begin = text[at], [], at
    at += 1
    while True:
        start = at
        while at < len(text) and text[at] not in (quote, "\\") and text[at] not in "\n\r":
            at += 1
        pieces.append(text[start:at])
        if at >= len(text) or text[at] in "\n\r":
            raise Json5Error("a string is not closed", begin)
        if text[at] == quote:
            return _joined("".join(pieces)), at + 1
        piece, at = _escape(text, at)
        pieces.append(piece)


def _escape(text: str, at: int) -> tuple[str, int]:
    at += 1
    if at >= len(text):
        raise Json5Error("a string is not closed", at)
    found = text[at]
    if found in ("u", "x"):
        digits = text[at + 1 : at + (5 if found == "u" else 3)]
        if len(digits) != (4 if found == "u" else 2) or any(each not in "0123456789abcdefABCDEF" for each in digits):
            raise Json5Error(f"\\{found} needs hex digits after it", at)
        return chr(int(digits, 16)), at + 1 + len(digits)
    if found in _LINE_ENDS:  # a string goes on in the next line
        return "", at + (2 if text[at : at + 2] == "\r\n" else 1)
    if found == "0" and text[at + 1 : at + 2].isdecimal():
        raise Json5Error("\\0 may not be followed by a digit", at)
    if found in "123456789":
        raise Json5Error(f"\\{found} is no escape", at)
    return _ESCAPES.get(found, found), at + 1


def _joined(text: str) -> str:
    """Put the halves of characters together that were escaped one by one."""
    return _SURROGATES.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _skip(text: str, at: int) -> int:
    at = _SKIP.match(text, at).end()  # type: ignore[union-attr]  # it always matches
    if text.startswith("/*", at):
        raise Json5Error("a comment is not closed", at)
    return at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise Json5Error("nested too deeply to be read", at)
    if at >= len(text):
        raise Json5Error("it ends where a value should be", at)
    match text[at]:
        case "{":
            return _object(text, at + 1, depth)
        case "[":
            return _list(text, at + 1, depth)
        case '"' | "'":
            return read_string(text, at)
    if number := _NUMBER.match(text, at):
        end = number.end()
        if end < len(text) and (text[end].isalnum() or text[end] in "_$."):
            raise Json5Error(f"{text[at : end + 1]!r} is no number", at)
        return _number(number), end
    if (name := _NAME.match(text, at)) and name.group() in _WORDS:
        return _WORDS[name.group()], name.end()
    raise Json5Error(f"{text[at]!r} begins no value", at)


def _number(found: re.Match[str]) -> int | float:
    negative = found["sign"] == "-"
    if found["hex"]:
        value: int | float = int(found["hex"], 16)
    elif found["word"]:
        value = float("inf" if found["word"] == "Infinity" else "nan")
    elif found["point"] or found["bare"] or found["power"]:
        value = float(found["number"])
    else:
        try:
            value = int(found["number"])
        except ValueError:  # Python reads no more than 4300 digits at once
            raise Json5Error("a number has too many digits", found.start()) from None
    if negative and not found["hex"] and value == 0 and not isinstance(value, float):
        return 0
    return -value if negative else value


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "]":
            return items, at + 1
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            raise Json5Error(
                "a list is not closed" if at >= len(text) else f"',' or ']' expected, not {text[at]!r}", at
            )


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1
        key, at = _key(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise Json5Error(f"':' expected after the key {key!r}", at)
        members[key], at = _value(text, _skip(text, at + 1), depth + 1)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "}":
            closing = "an object is not closed" if at >= len(text) else f"',' or '}}' expected, not {text[at]!r}"
            raise Json5Error(closing, at)


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] in ('"', "'"):
        return read_string(text, at)
    if name := _NAME.match(text, at):
        return _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), name.group()), name.end()
    raise Json5Error("an object is not closed" if at >= len(text) else f"{text[at]!r} begins no key", at)
