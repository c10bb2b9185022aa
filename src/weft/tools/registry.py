"""Writing servers down: entries in weft's `config.toml`, and whom its owner has agreed to start [M-01].

The file belongs to the person who edits it: an entry is added at its end and taken out by its own lines, and whatever
would change anything else is refused.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import StoreError, UsageError
from weft.jsontext import dumps, dumps_text, loads
from weft.tools.servers import TABLE, Server

__all__ = ["Consents", "register", "remove"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[")


def register(config: Path, server: Server, *, replace: bool = False) -> None:
    """Add a server to the config file."""
    text = _read(config)
    known = _servers(text, config)
    if server.name in known:
        if not replace:
            raise UsageError(f"{config} already has a server called {server.name}\n  replace it: --replace")
        text = _without(text, server.name, config)
    entry = server.to_dict()
    joint = "" if not text or text.endswith("\n") else "\n"
    added = f"{text}{joint}{chr(10) if text else ''}{_table_text(server.name, entry)}"
    wanted = {name: value for name, value in known.items() if name != server.name} | {server.name: entry}
    _replace(config, text, added, wanted)


def remove(config: Path, name: str) -> None:
    """Take a server out of the config file."""
    text = _read(config)
    known = _servers(text, config)
    if name not in known:
        raise UsageError(f"{config} has no server called {name!r}\n  see all: weft mcp list")
    wanted = {other: value for other, value in known.items() if other != name}
    _replace(config, text, _without(text, name, config), wanted)


class Consents:
    """Servers of other people's files that the owner has looked at and agreed to, by the hash of what would run."""

    def __init__(self, path: Path) -> None:
        """Keep consents in `path`; it need not exist yet."""
        self._path = path

    def has(self, server: Server) -> bool:
        """Tell whether this very entry was agreed to; owned ones were by being written down."""
        return server.owned or server.fingerprint() in self._known()

    def add(self, server: Server) -> None:
        """Remember that the owner agreed."""
        _write(self._path, dumps({**self._known(), server.fingerprint(): f"{server.name}: {server.shown()}"}) + b"\n")

    def _known(self) -> Mapping[str, Any]:
        try:
            body = loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            raise StoreError(f"{self._path} cannot be read: {problem}\n  remove it to be asked again") from problem
        return body if isinstance(body, dict) else {}


def _read(config: Path) -> str:
    try:
        return config.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{config} cannot be read: {problem}") from problem


def _servers(text: str, config: Path) -> Mapping[str, Any]:
    try:
        found = tomllib.loads(text).get(TABLE, {})
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{config} is not TOML: {problem}") from None
    return found if isinstance(found, dict) else {}


def _without(text: str, name: str, config: Path) -> str:
    """Leave out the lines of one server's table and of the tables inside it."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line) and (path := _header_path(line)) is not None:
            inside = path[:2] == [TABLE, name]
        if not inside:
            kept.append(line)
    if name in _servers("".join(kept), config):
        raise UsageError(f"{config}: {name} is written in a way that weft does not edit; take it out by hand")
    return "".join(kept).rstrip("\n") + "\n" if "".join(kept).strip() else ""


def _header_path(line: str) -> list[str] | None:
    """Read `[a."b c".d]` into its keys; None if the line is no header (an array's continuation, say)."""
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(value, dict) and len(value) == 1:
        key, value = next(iter(value.items()))
        path.append(key)
    return path


def _replace(config: Path, old: str, new: str, wanted: Mapping[str, Any]) -> None:
    """Write the new text only if it says exactly what was meant and leaves all else alone."""
    try:
        before, after = tomllib.loads(old), tomllib.loads(new)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{config} is written in a way that weft does not edit ({problem}); edit it by hand") from None
    before.pop(TABLE, None)
    servers = after.pop(TABLE, {})
    if after != before or servers != wanted:
        raise UsageError(f"{config} is written in a way that weft does not edit; edit it by hand")
    _write(config, new.encode("utf-8"))


def _write(path: Path, data: bytes) -> None:
    """Replace a file whole, readable by its owner alone from its first byte: entries may hold keys [K-05]."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _table_text(name: str, entry: Mapping[str, Any]) -> str:
    lines = [f"[{TABLE}.{_key(name)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # A JSON text is a TOML text, but for DEL, which TOML wants escaped.
            return dumps_text(value).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(_value(item) for item in value)}]"
    return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)
