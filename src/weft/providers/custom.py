"""Rows from the settings: any OpenAI-compatible server, or another address for a provider that is in the table.

[providers.mine]
base_url = "https://llm.example.org/v1"
key_env = "MINE_API_KEY"          # or a list; without one no key is sent
dialect = "openai_chat"           # the default
headers = { x-team = "harbour" }
refuses = ["seed"]                # and the other quirks by their names in the table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from weft.errors import UsageError
from weft.providers.table import PROVIDERS, Provider, Quirks
from weft.wire import DIALECTS

__all__ = ["merged_table"]

_PLAIN = ("dialect", "base_url", "auth", "path", "models_path", "account")
_PAIRS = ("headers", "query")
_QUIRK_PAIRS = ("renames", "roles")
_KEY_HEADERS = ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")


def merged_table(settings: Mapping[str, Any] | None) -> dict[str, Provider]:
    """Give the table of providers with the settings' entries put in or laid over."""
    table = dict(PROVIDERS)
    for name, entry in (settings or {}).items():
        where = f"[providers.{name}]"
        if not isinstance(entry, Mapping):
            raise UsageError(f"{where} must be a table of settings")
        if "/" in name or not name.strip():
            raise UsageError(f"{where}: a provider's name has no slash")
        table[name] = _laid_over(table.get(name), name, entry, where)
    return table


def _laid_over(row: Provider | None, name: str, entry: Mapping[str, Any], where: str) -> Provider:
    fields: dict[str, Any] = {}
    quirks: dict[str, Any] = {}
    for key, value in entry.items():
        at = f"{where} {key}"
        if key in _PLAIN:
            fields[key] = _text(value, at)
        elif key == "key_env":
            fields["keys"] = _texts([value] if isinstance(value, str) else value, at)
        elif key in _PAIRS:
            fields[key] = _pairs(value, at)
            if key == "headers" and any(header.lower() in _KEY_HEADERS for header, _ in fields[key]):
                todo = "name its header with auth, its variable with key_env"
                raise UsageError(f"{at}: a key does not belong in the settings\n  {todo}")
        elif key in _QUIRK_PAIRS:
            quirks[key] = _pairs(value, at)
        elif key == "refuses":
            quirks[key] = _texts(value, at)
        elif key == "reasoning_field":
            quirks[key] = _text(value, at)
        elif key == "key":
            raise UsageError(f"{where}: a key does not belong in the settings\n  keep it: weft keys set {name}")
        else:
            known = (*_PLAIN, "key_env", *_PAIRS, *_QUIRK_PAIRS, "refuses", "reasoning_field")
            raise UsageError(f"{where}: nothing is called {key!r}\n  known: {', '.join(known)}")
    if row is None:
        if "base_url" not in fields:
            raise UsageError(f"{where} needs a base_url")
        # The family of chat completions knows `system`, as the rest of the table has it.
        row = Provider(name, "openai_chat", "", quirks=Quirks(roles=(("developer", "system"),)))
    made = replace(row, **fields, quirks=replace(row.quirks, **quirks))
    if made.dialect not in DIALECTS:
        raise UsageError(f"{where}: no dialect is called {made.dialect!r}\n  known: {', '.join(DIALECTS)}")
    if "base_url" in fields:
        made = replace(made, addresses=())  # what is written for this very provider outdoes a variable of the SDK's
    return made


def _text(value: Any, at: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{at} must be a text")
    return value.strip()


def _texts(value: Any, at: str) -> tuple[str, ...]:
    return _all(value if isinstance(value, list) else None, at, "a list of texts", _text)


def _pairs(value: Any, at: str) -> tuple[tuple[str, str], ...]:
    items = list(value.items()) if isinstance(value, Mapping) else None
    return _all(items, at, "a table of texts", lambda item, at: (_text(item[0], at), _text(item[1], at)))


def _all(items: list[Any] | None, at: str, wanted: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    if items is None:
        raise UsageError(f"{at} must be {wanted}")
    return tuple(read(item, at) for item in items)
