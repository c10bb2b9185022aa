"""Reading the Markdown that markdown.py writes and people edit: headings, comments, fenced blocks, text.

Blank lines around a text are not part of it, however many an editor left. Errors have the number of the line.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from weft import jsontext
from weft.blobs import BlobReference, InMemoryBlobStore
from weft.canon import (
    NO_BLOBS,
    Closing,
    Entry,
    Opening,
    Part,
    Piece,
    Session,
    Stray,
    entry_from_dict,
    freeze,
    frozen_part,
    session_from_dict,
    thaw,
)
from weft.errors import CodecError
from weft.formats.source import Source

__all__ = ["ESCAPABLE", "read", "seal"]

# What begins something of ours on a line; a line of text that would has one backslash more.
ESCAPABLE = re.compile(
    r"\\*(?:##[ \t]+(?:system|developer|user|assistant|tool)[ \t]*$|<!-- weft: | {0,3}`{3,}weft )", re.IGNORECASE
)
_ROLE = re.compile(r"##[ \t]+(system|developer|user|assistant|tool)[ \t]*", re.IGNORECASE)
_FACTS = ("id", "parent_ids", "model", "finish_reason", "usage", "extras")
_TITLE = re.compile(r"#[ \t]+(.*\S)[ \t]*")
_COMMENT = re.compile(r"<!-- weft: (.*) -->[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,})weft (\w+)(?:[ \t]+(\S.*?))?[ \t]*")


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, message by message."""
    return _Reader(_lines(source)).pieces()


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Give the lines as text; what Windows puts at their ends is no part of them."""
    held, number = b"", 0
    for chunk in chain(source.chunks(), (b"\n",)):
        lines = (held + chunk).split(b"\n")
        held = lines.pop()
        for line in lines:
            number += 1
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as problem:
                raise CodecError(f"not UTF-8 (byte {problem.start + 1})", where=f"line {number}") from None
            yield number, text.removesuffix("\r").removeprefix("\ufeff" if number == 1 else "")


class _Reader:
    """Lines in, pieces out."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._number = 0
        self._is_open = False
        self._session = Session()
        self._draft: _Draft | None = None
        self._count = 0
        self._before: tuple[str, ...] = ()
        self._end: dict[str, Any] = {}
        self._opening_told = False

    def pieces(self) -> Iterator[Piece]:
        for number, line in self._lines:
            self._number = number
            if role := _ROLE.fullmatch(line):
                yield from self._finish()
                yield from self._begin()
                self._draft = _Draft(role[1].lower(), self._number)
            elif said := _COMMENT.fullmatch(line):
                yield from self._comment(self._json(said[1]))
            elif fence := _FENCE.fullmatch(line):
                if self._draft is None:
                    raise self._error("this block belongs to no message; begin one with ## user or the like")
                self._draft.block(self._number, fence[2], fence[3], self._body(fence[1]))
            elif self._draft is not None:
                self._draft.text(self._number, line[1:] if line.startswith("\\") and ESCAPABLE.match(line) else line)
            elif title := _TITLE.fullmatch(line):
                if self._opening_told or self._session.title is not None:
                    raise self._error("a title stands before the first message, once")
                self._session, self._is_open = replace(self._session, title=title[1]), True
            elif line.strip():
                raise self._error("this text belongs to no message; begin one with ## user or the like")
        yield from self._finish()
        yield from self._close()

    def _begin(self) -> Iterator[Piece]:
        if not self._opening_told:
            self._is_open = self._opening_told = True
            yield Opening(self._session)

    def _finish(self) -> Iterator[Piece]:
        """Give the entry that has ended."""
        if self._draft is None:
            return
        draft, self._draft = self._draft, None
        self._count += 1
        entry = draft.entry(str(self._count), self._before)
        self._before = (entry.id,)
        yield entry

    def _close(self) -> Iterator[Piece]:
        """Give what ends a conversation, and be ready for the next."""
        if not self._is_open:
            return
        yield from self._begin()
        end = self._end
        heads, current, session = end.get("heads") or {}, end.get("current"), end.get("session")
        if not isinstance(heads, dict) or not all(isinstance(target, str) for target in heads.values()):
            raise self._error("heads must be an object of strings")
        if current is not None and not isinstance(current, str):
            raise self._error("current must be a string")
        last = self._before[0] if self._before else None
        yield Closing(heads, current or last, None if session is None else self._facts(session))
        self._session, self._end, self._before, self._count = Session(), {}, (), 0
        self._is_open = self._opening_told = False

    def _comment(self, said: dict[str, Any]) -> Iterator[Piece]:
        if "weft" in said:
            if said["weft"] != 1:
                raise self._error(f"version {said['weft']!r} of this form is not known here")
            yield from self._finish()
            yield from self._close()
            self._session, self._is_open = self._facts(said.get("session") or {}), True
        elif "stray" in said:
            yield from self._finish()
            yield from self._begin()
            match said["stray"]:
                case {"format": str(name), "text": str(text)}:
                    yield Stray(name, text)
                case _:
                    raise self._error("a stray line has a format and a text")
        elif "end" in said:
            yield from self._finish()
            yield from self._begin()
            if not isinstance(said["end"], dict):
                raise self._error("end must be an object")
            self._end = said["end"]
        elif self._draft is not None and not self._draft.facts:
            self._draft.facts = said
        else:
            raise self._error("this comment says something of a message, and none begins before it")

    def _body(self, fence: str) -> list[str]:
        """Take the lines of a fenced block."""
        begun = self._number
        body: list[str] = []
        for number, line in self._lines:
            self._number = number
            closing = line.strip(" ")
            if (
                closing
                and not closing.strip("`")
                and len(closing) >= len(fence)
                and len(line) - len(line.lstrip(" ")) < 4
            ):
                return body
            body.append(line)
        raise CodecError("the block that begins here is not closed", where=f"line {begun}")

    def _json(self, text: str) -> dict[str, Any]:
        try:
            value = jsontext.loads(text)
        except ValueError as problem:
            raise self._error(f"not JSON: {problem}") from None
        if not isinstance(value, dict):
            raise self._error(f"an object expected, not {type(value).__name__}")
        return value

    def _facts(self, value: Any) -> Session:
        try:
            return session_from_dict(value)
        except (TypeError, ValueError) as problem:
            raise self._error(str(problem)) from None

    def _error(self, message: str) -> CodecError:
        return CodecError(message, where=f"line {self._number}")


class _Draft:
    """A message while its lines come in."""

    __slots__ = ("_blobs", "_line", "_parts", "_plain", "facts", "role")

    def __init__(self, role: str, line: int) -> None:
        self.role = role
        self.facts: dict[str, Any] = {}
        self._line = line
        self._plain: list[str] = []
        self._parts: list[Part] = []
        self._blobs: dict[str, bytes] = {}

    def text(self, number: int, line: str) -> None:
        """Take a line of text."""
        del number
        self._plain.append(line)

    def _settle(self) -> None:
        """Make a part of the text so far, without the blank lines around it."""
        lines, self._plain = self._plain, []
        while lines and not lines[0].strip():
            lines.pop(0)
        while lines and not lines[-1].strip():
            lines.pop()
        if lines:
            self._parts.append(frozen_part("text", "\n".join(lines)))

    def block(self, number: int, kind: str, about: str | None, body: list[str]) -> None:
        """Take a fenced block."""
        self._settle()
        text = "\n".join(body)
        if kind == "blob":
            try:
                self._blobs[about or ""] = base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError) as problem:
                raise CodecError(f"not base64: {problem}", where=f"line {number}") from None
            return
        said = self._loads(about, number) if about else {}
        if not isinstance(said, dict):
            raise CodecError("the words after the block's name must be an object", where=f"line {number}")
        for key in ("id", "name"):
            if said.get(key) is not None and not isinstance(said[key], str):
                raise CodecError(f"{key} must be a string", where=f"line {number}")
        self._parts.append(self._part(kind, said, text, number))

    def _part(self, kind: str, said: Mapping[str, Any], text: str, number: int) -> Part:
        match kind:
            case "text" | "thinking" | "refusal":
                return frozen_part(kind, text)
            case "tool_call":
                value = self._loads(text, number + 1) if text.strip() else {}
                if not isinstance(value, dict):
                    raise CodecError("the arguments of a call are an object", where=f"line {number + 1}")
                return frozen_part(
                    kind, tool_call_id=said.get("id"), tool_name=said.get("name"), tool_args=freeze(value)
                )
            case "tool_result":
                output = self._loads(text, number + 1) if said.get("json") is True else text
                ids = {"tool_call_id": said.get("id"), "tool_name": said.get("name")}
                return frozen_part(kind, tool_output=freeze(output), **ids)
            case "part":
                value = self._loads(text, number + 1)
                try:
                    whole = entry_from_dict({"id": "1", "message": {"role": "user", "parts": [value]}})
                except (TypeError, ValueError) as problem:
                    message = str(problem).removeprefix("entry.message.parts[0]").lstrip(". ")
                    raise CodecError(message, where=f"line {number}") from None
                return whole.message.parts[0]
        raise CodecError(f"there is no block weft {kind}", where=f"line {number}")

    def _loads(self, text: str, number: int) -> Any:
        try:
            return jsontext.loads(text)
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}", where=f"line {number}") from None

    def entry(self, position: str, before: tuple[str, ...]) -> Entry:
        """Give the whole."""
        self._settle()
        facts = dict(self.facts)
        kept = facts.pop("parts", None) or []
        about = facts.pop("message", None) or {}
        where = f"line {self._line + 1}"
        if not isinstance(kept, list) or not isinstance(about, dict):
            raise CodecError("parts must be a list, and message an object", where=where)
        blobs = self._store()
        given: dict[str, Any] = {
            "id": position,
            "parent_ids": list(before),
            **{key: facts[key] for key in _FACTS if key in facts},
            "message": {**about, "role": self.role, "parts": []},
        }
        try:
            entry = entry_from_dict(given)
        except (TypeError, ValueError) as problem:
            raise CodecError(str(problem), where=where) from None
        parts = tuple(_with_kept(part, kept, self._parts[:p]) for p, part in enumerate(self._parts))
        return replace_message(entry, parts, blobs)

    def _store(self) -> Any:
        payloads: dict[str, tuple[BlobReference, bytes]] = {}
        for part in self._parts:
            if part.blob is not None and part.blob.id in self._blobs:
                data = self._blobs[part.blob.id]
                if hashlib.sha256(data).hexdigest() != part.blob.sha256:
                    raise CodecError(f"the bytes of blob {part.blob.id} are others", where=f"line {self._line}")
                payloads[part.blob.id] = (part.blob, data)
        return InMemoryBlobStore.from_preloaded(payloads) if payloads else NO_BLOBS


def replace_message(entry: Entry, parts: tuple[Part, ...], blobs: Any) -> Entry:
    """Give an entry with other parts."""
    message = replace(entry.message, parts=parts)
    return Entry(
        entry.id, message, entry.parent_ids, entry.model, entry.finish_reason, entry.usage, entry.extras, blobs
    )


def _with_kept(part: Part, kept: list[Any], before: list[Part]) -> Part:
    """Give a part back what was kept for it; for one that was edited since, there is nothing."""
    if not kept:
        return part
    mark = seal(part)
    mine = [each for each in kept if isinstance(each, dict) and each.get("of") == mark]
    twins = sum(seal(other) == mark for other in before) if mine else 0
    found = next((each for each in mine if each.get("after", 0) == twins), None)
    if found is None:
        return part
    marks, raw = found.get("json"), found.get("provider_raw")
    return replace(
        part,
        json=marks if isinstance(marks, dict) else part.json,
        provider_raw=raw if isinstance(raw, dict) else part.provider_raw,
    )


def seal(part: Part) -> str:
    """Give the mark by which it is known whether a part was edited since what is kept for it was written."""
    shown = [part.type, part.text, part.tool_call_id, part.tool_name, thaw(part.tool_args), thaw(part.tool_output)]
    return hashlib.sha256(jsontext.dumps(shown)).hexdigest()[:12]
