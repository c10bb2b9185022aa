"""All the tools of one conversation behind one object: what the chat loop lists, asks about and calls.

    async with Toolbox(servers, functions=[add]) as toolbox:
        tools = await toolbox.list(["time"])
        block = await toolbox.call("time___get_current_time", {"timezone": "UTC"})

Servers start when first needed. One that fails is a notice, or an error result; never the end of the others.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from weft.blobs import BlobStore
from weft.errors import ToolError, UsageError, WeftError
from weft.tools.approval import Approval, Choice, ToolInfo
from weft.tools.environment import PROVIDER_KEYS
from weft.tools.functions import FunctionTool, function_tool
from weft.tools.guard import Guard
from weft.tools.limits import Limits
from weft.tools.names import Names, Route, split_name
from weft.tools.results import TIMED_OUT, Json, error_answer, keeper, tool_result
from weft.tools.servers import Server, ServerTable
from weft.tools.visible import reveal_line

if TYPE_CHECKING:
    from weft.tools.connection import Connection, Surroundings

__all__ = ["Settlement", "Toolbox"]

Blocks = list[Json]
Texts = list[str]
Consent = Callable[[Server], bool | Awaitable[bool]]
Observe = Callable[[str, Any], None]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]

# What models are told of a tool; a server's icons, titles and private notes are not for them.
SHOWN_KEYS = ("name", "description", "inputSchema", "annotations", "outputSchema")


@dataclass(frozen=True, slots=True)
class Settlement:
    """All calls of one answer, settled: one result block each, in call order [T-63, M-14]."""

    results: tuple[Json, ...] = ()
    stopped: bool = False  # somebody said `no`: there are no results, and nothing is to be appended
    refused: tuple[str, ...] = ()  # calls nobody could be asked about: their results say so [M-13]


class Toolbox:
    """The tools of some servers and some Python functions."""

    def __init__(
        self,
        servers: ServerTable | Iterable[Server] = (),
        *,
        functions: Iterable[Callable[..., Any] | FunctionTool] = (),
        environ: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        blobs: BlobStore | None = None,
        consent: Consent | None = None,
        observe: Observe | None = None,
        keys: frozenset[str] = PROVIDER_KEYS,
        sampling: Any = None,
        elicitation: Any = None,
    ) -> None:
        """Know the servers and functions; nothing starts yet.

        `environ` is where servers' variables come from (nothing by default), `consent` is asked before a server starts
        that its owner did not write down for weft, `observe` is told of topics such as `mcp.time.ready`.
        """
        found = servers.servers.values() if isinstance(servers, ServerTable) else servers
        self.servers: Mapping[str, Server] = MappingProxyType({server.name: server for server in found})
        self.limits = limits or Limits()
        self.notices: Texts = []
        self._keep = keeper(blobs)
        self._consent = consent or (lambda server: server.owned)
        self._observe = observe or (lambda _topic, _facts: None)
        self._environ = dict(environ or {})
        self._keys = keys
        self._callbacks = (sampling, elicitation)
        self._guard = Guard()
        self._names = Names()
        self._connections: dict[str, Connection] = {}
        self._agreed: dict[str, asyncio.Task[bool]] = {}
        self._infos: dict[Route, ToolInfo] = {}
        self._failures: dict[str, str] = {}  # servers that could not be listed, and why
        self._functions: dict[str, FunctionTool] = {}
        for function in functions:
            self._add_function(function if isinstance(function, FunctionTool) else function_tool(function))

    async def __aenter__(self) -> Self:
        """Nothing to do yet: servers start when they are needed."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every server."""
        await self.close()

    async def close(self) -> None:
        """End every server and everything they started."""
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))
        await self._guard.close()

    @property
    def running(self) -> tuple[str, ...]:
        """The servers that were started and have not ended since, in the order they first were."""
        return tuple(name for name, connection in self._connections.items() if connection.running)

    # -- listing -----------------------------------------------------------------------------------------------------

    async def list(self, servers: Sequence[str] | None = None) -> Blocks:
        """Give the functions and the tools of `servers` (all, if None), by the names models call them, in order."""
        names = tuple(self.servers) if servers is None else tuple(dict.fromkeys(servers))
        for name in names:
            ServerTable(self.servers).named(name)  # an unknown name is the caller's mistake, told before any start
        await self._refresh(*names)
        infos = [info for info in self._infos.values() if info.route.server is None]
        infos += [info for name in names for info in self._infos.values() if info.route.server == name]
        return [
            {**{key: info.listed[key] for key in SHOWN_KEYS if key in info.listed}, "name": info.shown}
            for info in infos
        ]

    async def find(self, shown: str) -> ToolInfo | None:
        """Look a tool up by the name a model used, as it is described now [M-10]; None if there is none."""
        route = self._names.find(shown)
        if route is None and (told := split_name(shown)) is not None and told.server in self.servers:
            route = told  # out of stored history, before this process listed anything [T-73]
        if route is None:
            return None
        if route.server is not None:
            await self._refresh(route.server)
        return self._infos.get(route)

    # -- calling -----------------------------------------------------------------------------------------------------

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        on_progress: Progress | None = None,
    ) -> Json:
        """Call a tool by the name a model uses and give the `tool_result` block; never raises for what a tool does."""
        route = self._names.find(name)
        if route is None:
            info = await self.find(name)
            route = info.route if info is not None else None
        if route is None:
            return self._failed(name, self._absent(name), call_id)
        if route.server is None:
            answer, cuts = await self._run_function(self._functions[route.tool], arguments or {}), None
        else:
            try:
                connection = await self._connection(route.server)
            except WeftError as problem:
                return self._failed(name, str(problem), call_id)
            answer = await connection.call(route.tool, arguments, on_progress)
            cuts = connection.cuts
            if "error" in answer:
                self._observe(f"mcp.{route.server}.error", answer["error"])
        return await asyncio.to_thread(
            tool_result,
            name,
            answer,
            call_id=call_id,
            cuts=cuts,
            result_chars=self.limits.result_chars,
            keep=self._keep,
        )

    async def call_all(self, calls: Sequence[Mapping[str, Any]]) -> Blocks:
        """Run `tool_use` blocks at the same time; one result each, in their order [M-14]."""
        return await asyncio.gather(*(self.call(**_asked(call)) for call in calls))

    async def settle(self, calls: Sequence[Mapping[str, Any]], approval: Approval) -> Settlement:
        """Ask about each `tool_use` in order, then run what was approved, at the same time [T-63]."""
        settled: dict[int, Json] = {}
        running: dict[int, Mapping[str, Any]] = {}
        refused: list[str] = []
        for n, call in enumerate(calls):
            asked = _asked(call)
            name, call_id = asked["name"], asked["call_id"]
            info = await self.find(name)
            if info is None:
                settled[n] = self._failed(name, self._absent(name), call_id)
                continue
            decision = await approval.decide(info, asked["arguments"], call_id=call_id)
            if decision.choice is Choice.NO:
                return Settlement(stopped=True)
            if decision.runs:
                running[n] = call
                continue
            if decision.choice is Choice.REFUSED:
                refused.append(name)
            settled[n] = tool_result(
                name, {"result": {"content": [_text(decision.text)], "isError": True}}, call_id=call_id
            )
        results = await self.call_all(list(running.values()))
        settled |= dict(zip(running, results, strict=True))
        return Settlement(tuple(settled[n] for n in range(len(calls))), refused=tuple(refused))

    # -- servers -----------------------------------------------------------------------------------------------------

    async def connect(self, server: str) -> Connection:
        """Give the connection to a server, for what is not a tool call: `about()`, `ping()`, `tools()`."""
        ServerTable(self.servers).named(server)
        return await self._connection(server)

    async def _connection(self, name: str) -> Connection:
        server = self.servers[name]
        if name not in self._agreed:  # asked once, however many calls wait for the answer
            self._agreed[name] = asyncio.create_task(self._agree(server))
        if not await asyncio.shield(self._agreed[name]):
            del self._agreed[name]
            raise ToolError(f"server {name} was not started: its owner has not agreed to run {server.shown()}")
        if name not in self._connections:
            connection, surroundings = _mcp()
            self._connections[name] = connection(
                server,
                surroundings(self.limits, self._guard, self._keep, self._environ, self._keys, *self._callbacks),
            )
        return self._connections[name]

    async def _agree(self, server: Server) -> bool:
        answer = self._consent(server)
        return bool(await answer) if inspect.isawaitable(answer) else bool(answer)

    async def _refresh(self, *names: str) -> None:
        """Read the tools of servers where they are not known or have changed, at once; a failure is a notice."""
        read = await asyncio.gather(*(self._read(name) for name in names))
        for name, listed in zip(names, read, strict=True):  # in order, so that a clash has the same end every time
            if listed is None:
                continue
            self._forget(name)
            for tool in listed:
                self._add_listed(name, tool)

    async def _read(self, name: str) -> Blocks | None:
        """Give a server's tools; None if they are known already."""
        try:
            connection = await self._connection(name)
            if not connection.changed:
                return None
            listed = await connection.tools()
        except WeftError as problem:
            self._failures[name] = str(problem)
            self._notice(str(problem))
            self._observe(f"mcp.{name}.error", {"message": str(problem)})
            return []
        self._failures.pop(name, None)
        self._observe(f"mcp.{name}.tools", listed)
        self._observe(f"mcp.{name}.ready", {"tools": len(listed)})
        return listed

    def _forget(self, name: str) -> None:
        self._infos = {route: info for route, info in self._infos.items() if route.server != name}

    def _add_listed(self, name: str, tool: Json) -> None:
        server = self.servers[name]
        said = str(tool.get("name", ""))
        if said in server.disabled_tools or (server.enabled_tools is not None and said not in server.enabled_tools):
            return
        route = Route(name, said)
        if route in self._infos:
            self._notice(f"server {name} has two tools called {reveal_line(said[:80])}; the second is left out")
            return
        self._add(route, tool)

    def _add_function(self, function: FunctionTool) -> None:
        route = Route(None, function.name)
        if route in self._infos:
            raise UsageError(f"two functions are called {function.name}; give one another name with @tool(name=...)")
        self._functions[function.name] = function
        self._add(route, function.listed())

    def _add(self, route: Route, listed: Json) -> None:
        try:
            shown, notice = self._names.add(route)
        except UsageError as problem:
            self._notice(f"left out: {problem}")
            return
        if notice is not None:
            self._notice(notice)
        self._infos[route] = ToolInfo(shown, route, listed)

    def _notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _absent(self, name: str) -> str:
        route = self._names.find(name) or split_name(name)
        why = self._failures.get(route.server) if route is not None and route.server is not None else None
        return why or f"there is no tool called {reveal_line(name[:200])}"

    def _failed(self, name: str, reason: str, call_id: str | None) -> Json:
        return tool_result(name, {"result": {"content": [_text(reason)], "isError": True}}, call_id=call_id)

    async def _run_function(self, function: FunctionTool, arguments: Mapping[str, Any]) -> Json:
        try:
            return await asyncio.wait_for(function.run(arguments), self.limits.call_s)
        except TimeoutError:
            return error_answer(f"no answer within {self.limits.call_s:g} s", TIMED_OUT)


def _asked(call: Mapping[str, Any]) -> Json:
    """Read a `tool_use` block."""
    given = call.get("input")
    return {
        "name": str(call.get("name", "")),
        "arguments": given if isinstance(given, Mapping) else {},
        "call_id": call["id"] if isinstance(call.get("id"), str) else None,
    }


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _mcp() -> tuple[type[Connection], type[Surroundings]]:
    """Load what needs the MCP SDK, which is an extra."""
    try:
        from weft.tools.connection import Connection, Surroundings  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        if problem.name is not None and problem.name.partition(".")[0] == "weft":
            raise
        raise ToolError('tool servers need the MCP SDK: pip install "weft[mcp]"') from problem
    return Connection, Surroundings
