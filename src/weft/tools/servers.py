"""Tool servers as people write them down: weft's `config.toml`, and the `.mcp.json` files they already have.

    [mcp_servers.time]                      {"mcpServers": {"time": {
    command = "mcp-server-time"                "command": "mcp-server-time",
    args = ["--local-timezone", "UTC"]         "args": ["--local-timezone", "UTC"]}}}

Reading starts nothing. A server from a file that its owner did not write for weft needs consent first [M-01].
"""

from __future__ import annotations

import hashlib
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from weft.errors import UsageError
from weft.jsontext import dumps, loads
from weft.tools.links import check_link
from weft.tools.names import check_server_name
from weft.tools.visible import reveal_line

__all__ = ["TABLE", "Server", "ServerTable", "project_files", "read_server", "read_servers"]

TABLE = "mcp_servers"  # in config.toml, as Codex spells it
OBJECT = "mcpServers"  # in .mcp.json, as everybody else does
MAX_FILE_BYTES = 4 * 1024 * 1024
HTTP_TYPES = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One tool server: a command with its arguments, or an address."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    env_vars: tuple[str, ...] = ()  # passed on from weft's own environment, by name
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    bearer_token_env_var: str | None = None
    private: bool = False  # the address may be inside the owner's own network though its name does not say so
    roots: tuple[str, ...] = ()
    era: str = "auto"  # "2025" skips the question whether the server speaks the 2026 protocol
    start_s: float | None = None
    call_s: float | None = None
    enabled_tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    source: str = ""  # the file it was read from
    owned: bool = True  # False: from a file that came with a project, and nobody has agreed to it yet

    def __post_init__(self) -> None:
        """Hold it to being one thing or the other."""
        check_server_name(self.name)
        if bool(self.command) == bool(self.url):
            raise UsageError(f"server {self.name} needs a command or a url, and not both")
        if any("\0" in word for word in self.command):
            raise UsageError(f"server {self.name}: a command cannot carry a NUL character")
        if self.url is not None and "${" not in self.url:
            check_link(self.url)

    def shown(self) -> str:
        """Write exactly what would run or be called, on one line, with nothing hidden [M-01]."""
        if self.url is not None:
            return reveal_line(self.url)
        return reveal_line(shlex.join(self.command))

    def details(self) -> list[str]:
        """List what else consent covers: where it runs and which variables it gets, by name only."""
        lines = [f"in {reveal_line(self.cwd)}"] if self.cwd else []
        names = sorted({*self.env, *self.env_vars})
        lines += [f"with variables {reveal_line(', '.join(names))}"] if names else []
        lines += [f"with headers {reveal_line(', '.join(sorted(self.headers)))}"] if self.headers else []
        lines += [f"may work in {reveal_line(root)}" for root in self.roots]
        return lines

    def fingerprint(self) -> str:
        """Hash everything that decides what would run, so that a changed entry is a new question."""
        facts = [
            self.name, self.command, dict(sorted(self.env.items())), self.env_vars, self.cwd, self.url,
            dict(sorted(self.headers.items())), self.bearer_token_env_var, self.private, self.roots,
        ]  # fmt: skip
        return hashlib.sha256(dumps(facts)).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Write the entry as it stands in a file; what is not set is left out."""
        entry: dict[str, Any] = {}
        if self.command:
            entry |= {"command": self.command[0], "args": list(self.command[1:])}
        else:
            entry["url"] = self.url
        for key, value in (
            ("env", dict(self.env)),
            ("env_vars", list(self.env_vars)),
            ("cwd", self.cwd),
            ("headers", dict(self.headers)),
            ("bearer_token_env_var", self.bearer_token_env_var),
            ("private", self.private),
            ("roots", list(self.roots)),
            ("era", self.era if self.era != "auto" else None),
            ("startup_timeout_sec", self.start_s),
            ("tool_timeout_sec", self.call_s),
            ("disabled_tools", list(self.disabled_tools)),
        ):
            if value:
                entry[key] = value
        if self.enabled_tools is not None:
            entry["enabled_tools"] = list(self.enabled_tools)
        return entry


@dataclass(frozen=True, slots=True)
class ServerTable:
    """Every server that was found, and what is wrong with those that could not be read."""

    servers: Mapping[str, Server] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def named(self, name: str) -> Server:
        """Give one server, or say which there are."""
        if (server := self.servers.get(name)) is not None:
            return server
        near = get_close_matches(name, self.servers, n=3)
        known = f"near it: {', '.join(near)}" if near else f"known: {', '.join(self.servers) or 'none'}"
        raise UsageError(f"no tool server called {reveal_line(name)!r}\n  {known}\n  see all: weft mcp list")


def read_servers(
    config: Path | None, others: Iterable[Path] = (), plugged: Mapping[str, Any] = MappingProxyType({})
) -> ServerTable:
    """Read weft's own config file, then other people's, then what plugins bring; the first to name a server wins."""
    servers: dict[str, Server] = {}
    problems: list[str] = []
    files = [(config, True)] if config is not None else []
    sources: list[tuple[Path | str, bool]] = [*files, *((path, False) for path in others)]
    if plugged:
        sources.append(("a plugin", False))
    for path, owned in sources:
        try:
            entries = _entries(path) if isinstance(path, Path) else plugged
        except UsageError as problem:
            problems.append(str(problem))
            continue
        for name, entry in entries.items():
            if name in servers:
                continue
            try:
                server = read_server(name, entry, source=str(path), owned=owned)
            except UsageError as problem:
                problems.append(f"{path}: {problem}")
                continue
            if server is not None:
                servers[name] = server
    return ServerTable(MappingProxyType(servers), tuple(problems))


def project_files(folder: Path) -> tuple[Path, ...]:
    """Give the `.mcp.json` of a folder, if there is one."""
    place = folder / ".mcp.json"
    return (place,) if place.is_file() else ()


def read_server(name: str, entry: Any, *, source: str = "", owned: bool = True) -> Server | None:
    """Read one entry of either kind of file; None if it is switched off."""
    if not isinstance(entry, Mapping):
        raise UsageError(f"server {name} must be a table, not {type(entry).__name__}")
    read = _Reader(name, entry)
    if read.flag("disabled") or not read.flag("enabled", default=True):
        return None
    kind = read.text("type")
    if kind == "sse":
        raise UsageError(f"server {name}: the old sse transport is gone from MCP; give its streamable http address")
    if kind not in {None, "stdio"} | HTTP_TYPES:
        raise UsageError(f"server {name}: unknown type {reveal_line(str(kind))}; stdio or http")
    command, url = read.text("command"), read.text("url")
    era = read.text("era") or "auto"
    if era not in {"auto", "2025"}:
        raise UsageError(f"server {name}: era is auto or 2025")
    return Server(
        name=name,
        command=(command, *read.texts("args")) if command is not None else (),
        env=read.table("env"),
        env_vars=read.texts("env_vars"),
        cwd=read.text("cwd"),
        url=url,
        headers={**read.table("http_headers"), **read.table("headers")},
        bearer_token_env_var=read.text("bearer_token_env_var"),
        private=read.flag("private"),
        roots=read.texts("roots"),
        era=era,
        start_s=read.seconds("startup_timeout_sec"),
        call_s=read.seconds("tool_timeout_sec"),
        enabled_tools=read.texts("enabled_tools") if "enabled_tools" in entry else None,
        disabled_tools=read.texts("disabled_tools"),
        source=source,
        owned=owned,
    )


def _entries(path: Path) -> Mapping[str, Any]:
    """Give the servers of a file by name; a file that is not there has none."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is too large for a list of servers")
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror}") from problem
    try:
        body = (
            tomllib.loads(raw.decode("utf-8-sig"))
            if path.suffix == ".toml"
            else loads(raw.removeprefix(b"\xef\xbb\xbf"))
        )
    except ValueError as problem:
        raise UsageError(f"{path} cannot be read: {problem}") from None
    found = body.get(TABLE if path.suffix == ".toml" else OBJECT, {}) if isinstance(body, Mapping) else None
    if not isinstance(found, Mapping):
        raise UsageError(f"{path}: {TABLE if path.suffix == '.toml' else OBJECT} must be a table of servers")
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """The fields of one entry, each held to its type."""

    name: str
    entry: Mapping[str, Any]

    def text(self, key: str) -> str | None:
        value = self.entry.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self._wrong(key, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def table(self, key: str) -> Mapping[str, str]:
        value = self.entry.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
            raise self._wrong(key, "a table of texts")
        return MappingProxyType(dict(value))

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.entry.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def seconds(self, key: str) -> float | None:
        value = self.entry.get(key)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 600
        ):
            raise self._wrong(key, "seconds, from above 0 to 600")
        return value

    def _wrong(self, key: str, wanted: str) -> UsageError:
        return UsageError(f"server {reveal_line(self.name)}: {key} must be {wanted}")
