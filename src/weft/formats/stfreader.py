"""The lines of an STF file to wire messages: commands, data, comments, arguments (message-codecs.md, 8).

`StfReader` takes one line after the other and gives each message as soon as it is complete; what it cannot read is a
StfSyntaxError with the number of the line.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from weft.errors import CodecError, StfSyntaxError
from weft.formats import json5
from weft.formats.wiremessages import ABSENT, Json
from weft.wire import check_message

__all__ = ["StfReader"]

_COMMAND = re.compile(r";[ \t]*([a-z][a-z0-9]*)[ \t]*(.*)", re.DOTALL)
_NAME_END = re.compile(r"[A-Z_a-z0-9]")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_BLANKS = re.compile(r"[ \t]*")
_BARE = re.compile(r"[^ \t]+")
_LINE_COMMENTS, _OPEN, _CLOSE = ("#", "//"), "/*", "*/"
_BLANK = " \t"

ROLES = {
    "system": "system",
    "sys": "system",
    "developer": "developer",
    "dev": "developer",
    "user": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
}
POLYADIC = {
    "raw": "raw",
    "meta": "meta",
    "extra": "extra",
    "reasoning": "reasoning",
    "refusal": "refusal",
    "toolcall": "toolcall",
    "call": "toolcall",
}
NEED_MESSAGE = frozenset(("extra", "reasoning", "refusal", "toolcall"))


class StfReader:
    """Lines in, messages out. `metadata` is what `meta` said so far, `begun` the line where the last message began."""

    NAMES: ClassVar[frozenset[str]] = frozenset((*ROLES, *POLYADIC, "message", "msg", "flush", "end"))

    def __init__(self, default_role: str | None = None) -> None:
        """Read data outside of messages as messages of `default_role`; without one, it is an error [W-43]."""
        self.metadata: Any = ABSENT
        self.begun = 0
        self._default_role = default_role
        self._line = 0
        self._message: Json | None = None
        self._message_line = 0
        self._content: list[str] = []
        self._data: list[str] = []
        self._body: list[str] = []
        self._pending: tuple[str, dict[str, str], int] | None = None  # a polyadic command, its arguments, its line
        self._comments: list[int] = []  # the lines of the block comments that are open

    def feed(self, line: str) -> list[Json]:
        """Take a line; give the messages it completes."""
        self._line += 1
        if line.startswith(";"):
            rest = line[1:].lstrip(_BLANK)
            if rest.startswith(_OPEN):
                self._comments.append(self._line)
                return []
            if rest.startswith(_CLOSE):
                if not self._comments:
                    raise self._error("a comment ends that has not begun")
                self._comments.pop()
                return []
            if self._comments or rest.startswith(_LINE_COMMENTS):
                return []
            if not line.startswith(";;"):
                return self._command(line)
            line = line[1:]
        elif self._comments:
            return []
        if self._pending is not None:
            self._body.append(line)
        elif self._message is not None:
            self._data.append(line)
        elif line.strip(_BLANK):
            if self._default_role is None:
                raise self._error("this line belongs to no message; begin one with ;user or the like")
            self._begin({"role": self._default_role})
            self._data.append(line)
        return []

    def close(self) -> list[Json]:
        """Say that nothing more comes; give the last message."""
        if self._comments:
            raise StfSyntaxError("a comment that begins here is not closed", line=self._comments[-1])
        if self._pending is not None:
            raise StfSyntaxError(
                f"{self._pending[0]} opened here is not closed; ;end is missing", line=self._pending[2]
            )
        return self._finish()

    # -- commands ------------------------------------------------------------------------------------------------

    def _command(self, line: str) -> list[Json]:
        found = _COMMAND.fullmatch(line)
        if found is None or _glued(line, found):
            shown = line[1:41].strip()
            raise self._error(f"{shown!r} is no command; a line of text that begins with ; is written with ;;")
        name, rest = found.groups()
        if name == "end":
            return self._end(rest)
        if self._pending is not None:
            raise self._error(f"{name} inside {self._pending[0]}, which is not closed; ;end is missing")
        self._flush()
        if name in ROLES:
            return self._start(ROLES[name], self._arguments(rest))
        if name in POLYADIC:
            arguments = self._arguments(rest)
            kind = POLYADIC[name]
            if kind in NEED_MESSAGE and self._message is None:
                raise self._error(f"{name} needs a message to belong to")
            if kind == "toolcall" and "name" not in arguments:
                raise self._error(f"{name} needs a name")
            self._pending, self._body = (name, arguments, self._line), []
            return self._finish() if kind == "raw" else []
        if name in ("message", "msg"):
            arguments = self._arguments(rest)
            current = self._message["role"] if self._message is not None else self._default_role
            role = arguments.get("role", current)
            if role is None:
                raise self._error(f"{name} needs a role: there is no message before it to take it from")
            return self._start(role, arguments)
        if name == "flush":
            self._arguments(rest)
            return self._finish()
        raise self._error(f"there is no command {name!r}")

    def _start(self, role: str, arguments: dict[str, str]) -> list[Json]:
        finished = self._finish()
        given: Json = {key: arguments[key] for key in ("name", "id", "call_id") if key in arguments}
        self._begin({"role": role, **given})
        return finished

    def _begin(self, message: Json) -> None:
        self._message, self._message_line = message, self._line
        self._content, self._data = [], []

    def _flush(self) -> None:
        """Put the data so far behind the content; what comes after a field goes on directly [W-42, W-44]."""
        if self._data:
            self._content.append("\n".join(self._data))
            self._data = []

    def _finish(self) -> list[Json]:
        """End the current message and give it; the state is nil."""
        if self._message is None:
            return []
        self._flush()
        message, self._message = self._message, None
        message["content"] = "".join(self._content)
        self.begun = self._message_line
        return [message]

    def _end(self, rest: str) -> list[Json]:
        if _NAME_END.match(rest):
            raise self._error(f"end takes no arguments: {rest[:40]!r}")
        if self._pending is None:
            raise self._error("end without a command that it could end")
        (name, arguments, begun), self._pending = self._pending, None
        kind, body = POLYADIC[name], "\n".join(self._body)
        message = self._message
        if kind == "raw":
            value = self._json5(body, begun)
            try:
                self.begun = begun
                return [check_message(value)]
            except CodecError as problem:
                raise StfSyntaxError(str(problem), line=begun) from None
        if kind == "meta":
            self.metadata = _merged(self.metadata, self._json5(body, begun))
            return []
        if message is None:  # pragma: no cover - the command itself was refused
            return []
        if kind == "extra":
            message["extra"] = _merged(message.get("extra", ABSENT), self._json5(body, begun))
        elif kind == "toolcall":
            ids: Json = {key: arguments[key] for key in ("id", "call_id") if key in arguments}
            message.setdefault("tool_calls", []).append({"name": arguments["name"], "arguments": body, **ids})
        else:
            message[kind] = message.get(kind, "") + body
        return []

    def _json5(self, text: str, begun: int) -> Any:
        try:
            return json5.loads(text)
        except json5.Json5Error as problem:
            line = begun + 1 + text.count("\n", 0, problem.at)
            raise StfSyntaxError(f"not JSON5: {problem}", line=line) from None

    # -- arguments ------------------------------------------------------------------------------------------------

    def _arguments(self, text: str) -> dict[str, str]:
        """Read `key=value` pairs, or a JSON5 object [W-48 to W-51]."""
        text = text.rstrip(_BLANK)
        if not text:
            return {}
        given = self._object(text) if text.startswith("{") else self._pairs(text)
        for key in ("role", "name", "id", "call_id"):
            if key in given and not isinstance(given[key], str):
                raise self._error(f"{key} must be a string")
        return given

    def _object(self, text: str) -> dict[str, Any]:
        try:
            value = json5.loads(text)
        except json5.Json5Error as problem:
            raise self._error(f"not JSON5: {problem}") from None
        if not isinstance(value, dict):
            raise self._error("arguments in braces must be an object")
        return value

    def _pairs(self, text: str) -> dict[str, str]:
        given: dict[str, str] = {}
        at = 0
        while at < len(text):
            if text[at] == "{":
                raise self._error("an object may not come after key=value pairs")
            key = _KEY.match(text, at)
            if key is None:
                raise self._error(f"a key begins with a letter, not {text[at]!r}")
            at = _after_blanks(text, key.end())
            if text[at : at + 1] != "=":
                raise self._error(f"= is missing after {key.group()}")
            value, at = self._value(text, _after_blanks(text, at + 1), key.group())
            if key.group() in given:
                raise self._error(f"{key.group()} is given twice")
            given[key.group()] = value
            end = _after_blanks(text, at)
            if end == at < len(text):
                raise self._error(f"a blank is missing after the value of {key.group()}")
            at = end
        return given

    def _value(self, text: str, at: int, key: str) -> tuple[str, int]:
        if at >= len(text):
            raise self._error(f"the value of {key} is missing")
        if text[at] in "\"'":
            try:
                return json5.read_string(text, at)
            except json5.Json5Error as problem:
                raise self._error(f"the value of {key}: {problem}") from None
        bare = _BARE.match(text, at)
        if bare is None or bare.group()[-1] in "\"'":
            raise self._error(f"the value of {key} ends with a quote it did not begin with")
        return bare.group(), bare.end()

    def _error(self, message: str) -> StfSyntaxError:
        return StfSyntaxError(message, line=self._line)


def _glued(line: str, found: re.Match[str]) -> bool:
    """Tell whether the name runs on into something that is no name: `;User`, `;tool_call`."""
    end = found.end(1)
    return end < len(line) and line[end] not in " \t{" and found[1] != "end"


def _after_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it always matches


def _merged(old: Any, new: Any) -> Any:
    """Put a second `meta` or `extra` to the first: two objects become one, anything else is replaced [W-53]."""
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
