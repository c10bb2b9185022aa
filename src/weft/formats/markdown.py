"""Markdown that a person can edit and weft reads back without loss.

    # Harbour watch

    ## user

    When is high water?

    ## assistant
    <!-- weft: {"model":"mint-1"} -->

    ```weft tool_call {"id":"k7","name":"tide"}
    {"port": "Oban"}
    ```

A heading that is a role begins a message; its text is as it stands, without the blank lines around it. Everything that
is not text is in a fenced block whose info string begins with `weft`, and what no one would edit (ids, tokens,
signatures) is in a comment below the heading. A line of text that would be taken for one of these has a backslash
before it. What is kept for a part that was edited since (its signature) is dropped: it seals other words.
markdownreader.py reads; this module writes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from weft import jsontext
from weft.canon import (
    Closing,
    Entry,
    Opening,
    Part,
    Piece,
    Session,
    Stray,
    entry_to_dict,
    session_to_dict,
    thaw,
)
from weft.errors import CodecError, WeftError
from weft.formats.format import ABILITIES, Format, Sink
from weft.formats.ledger import Ledger
from weft.formats.markdownreader import ESCAPABLE, read, seal
from weft.formats.source import Head

__all__ = ["FORMAT", "read", "write"]

# What an editor or a Markdown tool would change on its way through: such text is written as JSON.
_ODD = re.compile(r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_ODD_ASCII = bytes(code for code in range(128) if code not in (9, 10) and not 32 <= code < 127)
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_HEADING = re.compile(rb"^## (system|developer|user|assistant|tool)\s*$", re.MULTILINE)
_BASE64_LINE = 76
_TEXTS = ("text", "thinking", "refusal")
_SHOWN = {
    "tool_call": {"id": "tool_call_id", "name": "tool_name"},
    "tool_result": {"id": "tool_call_id", "name": "tool_name"},
}


# -- writing -----------------------------------------------------------------------------------------------------


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write everything."""
    before: tuple[str, ...] = ()
    transcript, number, last_id = 0, 0, None
    for piece in pieces:
        try:
            if isinstance(piece, Entry):
                number += 1
                lines = _entry(piece, number, before)
                before, last_id = (piece.id,), piece.id
            elif isinstance(piece, Opening):
                lines = _opening(piece.session, is_first=transcript == 0)
                transcript, number, before, last_id = transcript + 1, 0, (), None
            elif isinstance(piece, Stray):
                lines = [comment({"stray": {"format": piece.format, "text": piece.text}}), ""]
            else:
                lines = _closing(piece, last_id)
        except (ValueError, WeftError) as problem:
            raise CodecError(str(problem), where=ledger.place) from problem
        sink.write("".join(f"{line}\n" for line in lines).encode())


def _opening(session: Session, *, is_first: bool) -> list[str]:
    said = session_to_dict(session)
    title = said.get("title")
    lines = []
    if title and not _is_odd(title) and "\n" not in title and title.strip() == title and not title.startswith("#"):
        del said["title"]
        lines = [f"# {title}", ""]
    if said or not is_first or not lines:
        # The first line of a file says what it is; a second conversation says that it begins.
        lines = [comment({"weft": 1, **({"session": said} if said else {})}), *([""] if not lines else []), *lines]
    return lines


def _closing(closing: Closing, last_id: str | None) -> list[str]:
    end: dict[str, Any] = {}
    if closing.heads:
        end["heads"] = dict(closing.heads)
    if closing.current is not None and closing.current != last_id:
        end["current"] = closing.current
    if closing.session is not None:
        end["session"] = session_to_dict(closing.session)
    return [comment({"end": end}), ""] if end else []


def _entry(entry: Entry, number: int, before: tuple[str, ...]) -> list[str]:
    message = entry.message
    said = entry_to_dict(entry)
    facts: dict[str, Any] = {key: value for key, value in said.items() if key not in ("id", "parent_ids", "message")}
    if entry.id != str(number):
        facts["id"] = entry.id
    if entry.parent_ids != before:
        facts["parent_ids"] = list(entry.parent_ids)
    about = {key: said["message"][key] for key in ("id", "provider", "turn_id", "timestamp") if key in said["message"]}
    if about:
        facts["message"] = about
    body: list[str] = []
    kept: list[dict[str, Any]] = []
    was_plain = False
    for p, part in enumerate(message.parts):
        lines, rest, is_plain = _part(part, said["message"]["parts"][p], may_be_plain=not was_plain)
        body += [*lines, ""]
        was_plain = is_plain
        if rest:
            mark = seal(part)
            twins = sum(seal(other) == mark for other in message.parts[:p])  # of equal ones, it is not the first
            kept.append({"of": mark, **({"after": twins} if twins else {}), **rest})
    for blob_id, data in _payloads(entry).items():
        body += [f"```weft blob {blob_id}", *_wrapped(data), "```", ""]
    if kept:
        facts["parts"] = kept
    head = [f"## {message.role}"]
    if facts:
        head.append(comment(facts))
    return [*head, "", *body]


def _part(part: Part, plain: dict[str, Any], *, may_be_plain: bool) -> tuple[list[str], dict[str, Any], bool]:
    """Write a part: its lines, what of it rides in the comment, and whether it is text as it stands."""
    rest = {key: value for key, value in plain.items() if key in ("json", "provider_raw")}
    shown = plain.keys() - rest.keys()
    if part.type in _TEXTS and shown == {"type", "text"} and not _is_odd(part.text or ""):
        text = part.text or ""
        if part.type == "text" and may_be_plain and _is_plain(text):
            return _escaped(text), rest, True
        return _fenced(part.type, {}, text), rest, False
    if part.type in _SHOWN:
        names = _SHOWN[part.type]
        value = part.tool_args if part.type == "tool_call" else part.tool_output
        known = {"type", "tool_args" if part.type == "tool_call" else "tool_output", *names.values()}
        if value is not None and shown <= known:
            about = {key: plain[field] for key, field in names.items() if field in plain}
            if isinstance(value, str) and part.type == "tool_result" and not _is_odd(value):
                return _fenced(part.type, about, value), rest, False
            mark = {} if part.type == "tool_call" else {"json": True}
            return _fenced(part.type, {**about, **mark}, indented(thaw(value))), rest, False
    return _fenced("part", {}, indented(plain)), {}, False


def _is_odd(text: str) -> bool:
    """Tell whether a text has characters that must be spelled out; of plain ASCII, that is soon told."""
    if text.isascii():
        data = text.encode()
        return len(data.translate(None, _ODD_ASCII)) != len(data)
    return _ODD.search(text) is not None


def _is_plain(text: str) -> bool:
    """Tell whether a text stands between blank lines and comes back: it neither begins nor ends with one."""
    lines = text.split("\n")
    return bool(lines[0].strip() and lines[-1].strip())


def _escaped(text: str) -> list[str]:
    """Give a text with a backslash before each line that would be taken for something of ours."""
    if "##" not in text and "```" not in text and "<!--" not in text:
        return [text]
    return [f"\\{line}" if ESCAPABLE.match(line) else line for line in text.split("\n")]


def _fenced(kind: str, about: dict[str, Any], body: str) -> list[str]:
    longest = max((len(found) for found in _FENCE.findall(body)), default=2) if "```" in body else 2
    fence = "`" * max(3, longest + 1)
    said = " " + jsontext.dumps_text(about).replace("`", "\\u0060") if about else ""
    return [f"{fence}weft {kind}{_ascii(said)}", *(body.split("\n") if body else ()), fence]


def comment(value: dict[str, Any]) -> str:
    """Write a comment of ours on one line."""
    text = jsontext.dumps_text(value).replace("-->", "--\\u003e")
    return f"<!-- weft: {_ascii(text)} -->"


def _ascii(text: str) -> str:
    """Spell characters out that a line may not hold: in JSON they can be."""
    if not _is_odd(text):
        return text
    return _ODD.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _units(found.group())), text)


def _units(character: str) -> Iterator[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))


def indented(value: Any) -> str:
    """Write JSON to be read and edited."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        if "null" in text:
            jsontext.dumps(value)  # which refuses the numbers that orjson writes as null
    except orjson.JSONEncodeError:
        try:
            text = json.dumps(value, indent=2, allow_nan=False)
        except RecursionError:
            text = jsontext.dumps_text(value)
    return _ascii(text)


def _payloads(entry: Entry) -> dict[str, bytes]:
    return {
        part.blob.id: entry.blobs.get_blob(part.blob)
        for part in entry.message.parts
        if part.blob is not None and entry.blobs.has_blob(part.blob)
    }


def _wrapped(data: bytes) -> list[str]:
    text = base64.b64encode(data).decode("ascii")
    return [text[at : at + _BASE64_LINE] for at in range(0, len(text), _BASE64_LINE)]


def sniff(head: Head) -> float:
    """A comment of ours, or a heading that is a role."""
    if head.start.startswith(b"<!-- weft: "):
        return 1.0
    first = head.start.split(b"\n", 1)[0].rstrip()
    if re.fullmatch(rb"##[ \t]+(system|developer|user|assistant|tool)", first):
        return 0.8
    is_markdown = first.startswith(b"# ") or head.ends(".md", ".markdown")
    return 0.7 if is_markdown and _HEADING.search(head.data) else 0.0


FORMAT = Format(
    name="markdown",
    about="Markdown to read and edit by hand, read back whole",
    aliases=("md",),
    extensions=(".md", ".markdown"),
    carries=dict.fromkeys(ABILITIES, "yes"),
    lossless=True,
    read=read,
    write=write,
    sniff=sniff,
)
