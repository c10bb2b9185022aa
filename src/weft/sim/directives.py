"""Rules in the prompt itself: `[[tool depth {"pier": 4}]]`, `[[think ...]]`, `[[error 529]]` and the like.

They are read from the last question. `[[then]]` divides them into steps: the first is for the first answer, the next
for the answer after that (when tool results have come back), and so on. Words outside the brackets are the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from weft.sim.refusal import refuse

__all__ = ["read_directives"]

Given = dict[str, Any]

_OPEN = re.compile(r"\[\[(\w+)\s*")
_SETTING = re.compile(r"([\w-]+)=(\S+)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s)?$")


def read_directives(text: str) -> tuple[list[Given], str]:
    """Give the steps a prompt asks for, each as an answer is written in a script, and the prompt without them."""
    steps: list[Given] = []
    plain: list[str] = []
    here: Given = {}
    at = 0
    found = False
    while match := _OPEN.search(text, at):
        word = match[1]
        if word != "then" and word not in WORDS:
            plain.append(text[at : match.end()])
            at = match.end()
            continue
        plain.append(text[at : match.start()])
        found = True
        if word == "tool":
            at = _tool(text, match.end(), here)
            continue
        end = text.find("]]", match.end())
        if end < 0:
            refuse(f"the simulator found no ]] after [[{word}")
        if word == "then":
            steps.append(here)
            here = {}
        else:
            WORDS[word](here, text[match.end() : end].strip())
        at = end + 2
    plain.append(text[at:])
    if found:
        steps.append(here)
    return steps, "".join(plain).strip()


def _tool(text: str, at: int, given: Given) -> int:
    """Read a tool's name and arguments; JSON may hold brackets, so it is read as JSON."""
    name = re.compile(r"[^\s\]{]+").match(text, at)
    if name is None:
        refuse("the simulator needs the name of a tool in [[tool NAME {...}]]")
    at = name.end()
    while at < len(text) and text[at].isspace():
        at += 1
    arguments: Any = {}
    if text.startswith("{", at):
        try:
            arguments, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError as problem:
            refuse(f"the simulator cannot read the arguments in [[tool {name[0]} ...]]: {problem}")
    closing = re.compile(r"\s*\]\]").match(text, at)
    if closing is None:
        refuse(f"the simulator found no ]] after [[tool {name[0]}")
    given.setdefault("tools", []).append({"name": name[0], "arguments": arguments})
    return closing.end()


def _text(key: str) -> Callable[[Given, str], None]:
    def put(given: Given, rest: str) -> None:
        given[key] = rest

    return put


def _number(key: str, default: int | None = None) -> Callable[[Given, str], None]:
    def put(given: Given, rest: str) -> None:
        words = _settings(given, rest)
        if not words and default is None:
            refuse(f"the simulator needs a number in [[{key} N]]")
        given[key] = _whole(words[0]) if words else default

    return put


def _error(given: Given, rest: str) -> None:
    words = _settings(given, rest)
    given["error"] = _whole(words[0]) if words else 500
    if len(words) > 1:
        given["message"] = " ".join(words[1:])


def _slow(given: Given, rest: str) -> None:
    given["slow_ms"] = _milliseconds(rest)


def _redacted(given: Given, rest: str) -> None:
    given["redacted"] = True
    if rest:
        given["think"] = rest


def _settings(given: Given, rest: str) -> list[str]:
    """Take `times=2`, `after=3` and `retry-after=1s` out of a directive; give the other words."""
    words = []
    for word in rest.split():
        match = _SETTING.match(word)
        if match is None:
            words.append(word)
        elif match[1] == "retry-after":
            duration = match[2] if match[2].endswith("s") else f"{match[2]}s"
            given["retry_after"] = _milliseconds(duration) / 1000
        elif match[1] in ("times", "after"):
            given[match[1]] = _whole(match[2])
        else:
            refuse(f"the simulator knows no {match[1]}=; it knows times=, after= and retry-after=")
    return words


def _whole(word: str) -> int:
    if not word.isdecimal():
        refuse(f"the simulator needs a whole number, not {word!r}")
    return int(word)


def _milliseconds(word: str) -> float:
    match = _DURATION.match(word)
    if match is None:
        refuse(f"the simulator needs a time such as 20ms or 1.5s, not {word!r}")
    return float(match[1]) * (1000 if match[2] == "s" else 1)


WORDS: dict[str, Callable[[Given, str], None]] = {
    "tool": lambda _given, _rest: None,  # read on its own, above
    "say": _text("say"),
    "think": _text("think"),
    "redacted": _redacted,
    "refuse": _text("refuse"),
    "finish": _text("finish"),
    "error": _error,
    "cut": _number("cut"),
    "stall": _number("stall", 0),
    "slow": _slow,
    "long": _number("long"),
    "piece": _number("piece"),
}
