"""Finding a format: by its name, by the look of a file, or by its extension.

Formats are loaded when they are asked for; to guess, all of them are. Others are added with `register`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from weft.errors import UsageError
from weft.formats.format import Format
from weft.formats.source import Head, Source
from weft.plugins import added

__all__ = ["FORMATS", "format_by_name", "formats", "guess", "guess_by_name", "register"]

# Name: the module with its FORMAT, and the other names it answers to. In the order of the reference.
FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "weft": ("weft.formats.weft", ("native",)),
    "markdown": ("weft.formats.markdown", ("md",)),
    "json": ("weft.formats.json", ("messages",)),
    "ndjson": ("weft.formats.ndjson", ("jsonl",)),
    "toml": ("weft.formats.toml", ()),
    "stf": ("weft.formats.stf", ()),
    "context": ("weft.formats.context", ("gpt2099",)),
    "lmctx": ("weft.formats.lmctx", ()),
    "cooked": ("weft.formats.cooked", ()),
    "trace": ("weft.formats.trace", ("llm-path", "records", "raw")),
    # Those of other tools.
    "claude-code": ("weft.formats.claude_code", ("claude",)),
    "codex": ("weft.formats.codex", ("rollout",)),
    "gemini-cli": ("weft.formats.gemini_cli", ("gemini", "gemini-session")),
    "pi": ("weft.formats.pi", ()),
    "chatgpt": ("weft.formats.chatgpt", ("openai-export", "chatgpt-export")),
    "claude-ai": ("weft.formats.claude_ai", ("claude-export",)),
    "open-webui": ("weft.formats.open_webui", ()),
    "llm": ("weft.formats.llm_logs", ("llm-logs",)),
    "uimessage": ("weft.formats.uimessage", ("vercel", "ai-sdk")),
    "langchain": ("weft.formats.langchain", ()),
    "pydantic-ai": ("weft.formats.pydantic_ai", ()),
    "openai-finetuning": ("weft.formats.finetuning", ("finetuning",)),
    "sharegpt": ("weft.formats.sharegpt", ()),
    "atif": ("weft.formats.atif", ()),
    "inspect": ("weft.formats.inspect", ("inspect-ai", "eval")),
    "otel": ("weft.formats.otel", ("opentelemetry", "genai", "otel-genai")),
    "claude-trace": ("weft.formats.claude_trace", ()),
    "har": ("weft.formats.har", ()),
}
_added: dict[str, Format] = {}


def register(given: Format) -> None:
    """Add a format, or put another in the place of one of its name."""
    _added[given.name] = given
    _names.cache_clear()


@cache
def _names() -> dict[str, str]:
    known = {_bare(alias): name for name, (_, aliases) in FORMATS.items() for alias in (name, *aliases)}
    for each in _added.values():
        known |= dict.fromkeys(map(_bare, (each.name, *each.aliases)), each.name)
    return known


def _bare(name: str) -> str:
    """Give a name as it is compared: Claude.ai, claude-ai and claude_ai are one."""
    return "".join(filter(str.isalnum, name.lower()))


@cache
def _take_plugged() -> None:
    """Add what plugins bring; a name that is taken stays with whom it has."""
    for plugin, given in added("weft_formats"):
        if not isinstance(given, Format):
            raise UsageError(f"plugin {plugin}: weft_formats gives Format records, not {type(given).__name__}")
        if _bare(given.name) not in _names():
            register(given)


def format_by_name(name: str) -> Format:
    """Give a format by its name or one of its other names; UsageError lists what there is."""
    wanted = _bare(name)
    known = _names().get(wanted)
    if known is None:
        _take_plugged()
        known = _names().get(wanted)
    if known is None:
        close = dict.fromkeys(_names()[each] for each in get_close_matches(wanted, _names(), 3, 0.7))
        near = f"\n  near it: {', '.join(close)}" if close else ""
        raise UsageError(f"no format is called {name!r}{near}\n  known: {', '.join(sorted(set(_names().values())))}")
    return _added[known] if known in _added else _load(known)


def formats() -> Iterator[Format]:
    """Give every format, those of plugins too."""
    _take_plugged()
    for name in dict.fromkeys((*FORMATS, *_added)):
        yield format_by_name(name)


@cache
def _load(name: str) -> Format:
    found: Format = import_module(FORMATS[name][0]).FORMAT
    return found


def guess(given: Source | bytes | str | os.PathLike[str]) -> Format | None:
    """Tell the format of a file by its content, then by its name; None if nothing speaks for any."""
    if isinstance(given, os.PathLike):
        with Source.open(given) as source:
            return guess(source)
    head = Source.of(given).head
    best, best_score = None, 0.0
    for each in formats():
        if each.read is None:
            continue
        score = each.sniff(head)
        if score > 0 and head.ends(*each.extensions):
            score += 0.05  # of two that look alike, the one of that name
        if score > best_score:
            best, best_score = each, score
    return best or guess_by_name(head.name)


def guess_by_name(name: str) -> Format | None:
    """Tell a format by the extension of a file, the longest that fits."""
    head = Head(b"", name)
    fitting = [(len(ending), each) for each in formats() for ending in each.extensions if head.ends(ending)]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None
