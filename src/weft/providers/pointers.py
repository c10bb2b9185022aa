"""Pointers: short names for a provider and a model, such as `kilo` or `kilo.r`.

All of it is functions over plain tables [T-51, T-52]: who reads and writes the store's `gpt.provider` and
`gpt.provider.ptrs` frames hands them in and takes them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from weft.errors import UsageError

__all__ = [
    "PROVIDER_TOPIC",
    "PTRS_TOPIC",
    "SIZES",
    "Pointer",
    "is_disabled",
    "latest_frames",
    "pointer_table",
    "read_reference",
    "with_pointer",
    "without_pointer",
]

PROVIDER_TOPIC = "gpt.provider"
PTRS_TOPIC = "gpt.provider.ptrs"
SIZES = ("nano", "milli", "kilo", "mega", "giga")
"""The conventional names, by size; with `.r` after them, the reasoning variant. Any other text will do [T-53]."""

# How models are called by those who make them, for who forgets to say whose model is meant.
_MAKERS = {
    "claude": "anthropic",
    "command": "cohere",
    "deepseek": "deepseek",
    "gemini": "gemini",
    "gpt": "openai",
    "grok": "xai",
    "mistral": "mistral",
}


class Pointer(NamedTuple):
    """Where a name leads."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def latest_frames(metas: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Give the newest `gpt.provider` entry per name; `metas` come oldest first [T-51]."""
    return {meta["name"]: meta for meta in metas if isinstance(meta.get("name"), str)}


def is_disabled(frame: Mapping[str, Any] | None) -> bool:
    """Tell whether a provider's newest entry switches it off: its key is null, and no other place is named [T-51]."""
    return frame is not None and frame.get("key") is None and not frame.get("key_env") and not frame.get("key_in")


def pointer_table(meta: Mapping[str, Any] | None, settings: Mapping[str, Any] | None = None) -> dict[str, Pointer]:
    """Read the pointers: those of the settings file, and over them the newest table of the store [T-52].

    In the settings, `kilo = "anthropic/claude-…"`; in the store `{"kilo": {"provider": …, "model": …}}`.
    """
    table: dict[str, Pointer] = {}
    for name, value in (settings or {}).items():
        table[name] = _pointer(name, value, "pointers in the settings")
    for name, value in (meta or {}).items():
        table[name] = _pointer(name, value, "the store's pointer table")
    return table


def with_pointer(meta: Mapping[str, Any] | None, name: str, pointer: Pointer) -> dict[str, Any]:
    """Give the whole table with one entry put or replaced, to be appended as it is [T-52]."""
    if not name.strip():
        raise UsageError("a pointer needs a name")
    return {**(meta or {}), name: {"provider": pointer.provider, "model": pointer.model}}


def without_pointer(meta: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """Give the whole table without one entry."""
    if name not in (meta or {}):
        raise UsageError(_unknown(name, meta or {}))
    return {each: value for each, value in (meta or {}).items() if each != name}


def read_reference(text: str, table: Mapping[str, Pointer], providers: Iterable[str]) -> Pointer:
    """Read what someone wrote for a model: a pointer's name, or `provider/model`."""
    if text in table:  # first: the dot of `kilo.r`, and a slash too, are part of a name [T-53]
        return table[text]
    providers = list(providers)
    provider, slash, model = text.partition("/")
    if slash and provider in providers and model:
        return Pointer(provider, model)
    if slash and provider not in providers:
        near = get_close_matches(provider, providers, 3)
        raise UsageError(f"no provider is called {provider!r}\n  {_known(near, providers)}")
    if slash or text in providers:
        raise UsageError(f"{provider!r} needs a model: {provider}/<model>\n  see: weft models {provider}")
    raise UsageError(_unknown(text, table))


def _pointer(name: str, value: Any, where: str) -> Pointer:
    match value:
        case str() if "/" in value:
            return Pointer(*value.split("/", 1))
        case {"provider": str(provider), "model": str(model)}:
            return Pointer(provider, model)
    raise UsageError(f'{where}: {name} must be "provider/model"')


def _unknown(name: str, table: Mapping[str, Any]) -> str:
    near = _known(get_close_matches(name, table, 3), list(table)) if table else "none is set yet"
    maker = next((provider for start, provider in _MAKERS.items() if name.startswith(start)), None)
    meant = f"\n  a model is named with who has it: {maker}/{name}" if maker else ""
    return f"no pointer is called {name!r}{meant}\n  {near}\n  set it: weft alias set {name} <provider>/<model>"


def _known(near: list[str], everything: list[str]) -> str:
    return f"near it: {', '.join(near)}" if near else f"known: {', '.join(everything)}"
