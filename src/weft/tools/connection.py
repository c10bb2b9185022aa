"""One tool server, from its first message to its last, through the official MCP SDK [T-71, T-72, M-03 to M-06].

The SDK's client lives in a task of its own, since what it opens must be closed where it was opened; calls come from
anywhere. A server that ended is started again by the next call.
"""

from __future__ import annotations

import asyncio
import logging
import math
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    Implementation,
    ListRootsResult,
    Root,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from weft.errors import McpError, ToolError, UsageError, WeftError
from weft.tools.environment import PROVIDER_KEYS, child_environment, fill_in
from weft.tools.guard import Guard
from weft.tools.limits import Limits
from weft.tools.links import check_link
from weft.tools.process import Child
from weft.tools.remote import http_client
from weft.tools.results import CLOSED, TIMED_OUT, Json, error_answer
from weft.tools.roots import Roots
from weft.tools.servers import Server
from weft.tools.stdio import Wire, stdio_transport
from weft.tools.visible import reveal
from weft.version import __version__

if TYPE_CHECKING:
    from mcp.client._transport import Transport
    from mcp.client.session import ClientRequestContext, ElicitationFnT, IncomingMessage, SamplingFnT

__all__ = ["Connection", "Surroundings"]

Progress = Callable[[float, float | None, str | None], Awaitable[None]]

# The SDK logs what it passes over; where nobody has set up logging that would land on the terminal.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every connection of a toolbox shares."""

    limits: Limits
    guard: Guard
    keep: Callable[[IO[bytes]], str]
    environ: Mapping[str, str] = field(repr=False)
    keys: frozenset[str] = PROVIDER_KEYS
    sampling: SamplingFnT | None = None  # off unless somebody is there to ask [M-18]
    elicitation: ElicitationFnT | None = None


@dataclass(slots=True)
class _Live:
    """One run of a server."""

    task: asyncio.Task[None]
    stop: asyncio.Event
    ready: asyncio.Event
    over: asyncio.Event
    wire: Wire
    client: Client | None = None
    child: Child | None = None
    problem: str = ""
    fell_over: bool = False  # it ended by itself before it was ready

    @property
    def usable(self) -> bool:
        return self.client is not None and not self.task.done() and not self.wire.ended.is_set()


class Connection:
    """A server that is started when it is needed and asked through the SDK."""

    def __init__(self, server: Server, surroundings: Surroundings) -> None:
        """Know the server; nothing starts before it is asked something."""
        self.server = server
        self.limits = replace(
            surroundings.limits,
            start_s=server.start_s or surroundings.limits.start_s,
            call_s=server.call_s or surroundings.limits.call_s,
        )
        self.changed = True  # the list of tools is not known, or no longer the one that was read
        self._around = surroundings
        self._live: _Live | None = None
        self._lock = asyncio.Lock()

    @property
    def running(self) -> bool:
        """Whether it is there to be asked, without being started first."""
        return self._live is not None and self._live.usable

    @property
    def pid(self) -> int | None:
        """The process of a local server while it runs."""
        return self._live.child.pid if self._live is not None and self._live.child is not None else None

    @property
    def cuts(self) -> Mapping[str, Any]:
        """Texts that were taken out of this run's answers because of their length."""
        return self._live.wire.cuts if self._live is not None else {}

    def stderr(self) -> str:
        """The last words of the current or latest run."""
        return self._live.child.last_words() if self._live is not None and self._live.child is not None else ""

    async def tools(self) -> list[Json]:
        """List the server's tools, in MCP's own form; every page of them."""
        client = await self._client()
        found: list[Json] = []
        cursor: str | None = None
        self.changed = False
        with anyio.move_on_after(self.limits.call_s) as scope:
            for _ in range(self.limits.pages):
                try:
                    page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                except MCPError as problem:
                    raise self._refusal(problem) from problem
                except ValidationError as problem:
                    raise ToolError(
                        f"server {self.server.name}: its list of tools does not fit MCP: {_brief(problem)}"
                    ) from problem
                found += [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    break
        if scope.cancelled_caught:
            self.changed = True
            raise ToolError(f"server {self.server.name} did not list its tools within {self.limits.call_s:g} s")
        return found

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, on_progress: Progress | None = None
    ) -> Json:
        """Call a tool and give its answer: `{"result": ...}`, or `{"error": ...}` for whatever went wrong [T-74]."""
        try:
            client = await self._client()
        except WeftError as problem:
            return error_answer(str(problem))
        now = anyio.current_time
        end = now() + self.limits.hard_s
        with anyio.CancelScope(deadline=min(end, now() + self.limits.call_s)) as scope:

            async def advance(progress: float, total: float | None, message: str | None) -> None:
                scope.deadline = min(end, now() + self.limits.call_s)
                if on_progress is not None:
                    await on_progress(progress, total, message)

            try:
                result = await client.call_tool(tool, dict(arguments or {}), progress_callback=advance)
                return {"result": result.model_dump(by_alias=True, mode="json", exclude_none=True)}
            except MCPError as problem:
                if problem.code == CLOSED:
                    return error_answer(await self._obituary(str(problem)))
                return {"error": {"code": problem.code, "message": problem.message}}
            except ValidationError as problem:
                return error_answer(f"its answer does not fit MCP: {_brief(problem)}")
            except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as problem:
                return error_answer(await self._obituary(str(problem)))
        if now() >= end:  # progress or not, this one does not come back by itself
            await self.close()
            return error_answer(f"stopped after {self.limits.hard_s:g} s", TIMED_OUT)
        return error_answer(f"no answer and no progress within {self.limits.call_s:g} s", TIMED_OUT)

    async def about(self) -> Json:
        """Say who answered the handshake: protocol, name, version, capabilities, instructions."""
        client = await self._client()
        info = client.server_info
        return {
            "protocolVersion": client.protocol_version,
            "serverInfo": info.model_dump(by_alias=True, mode="json", exclude_none=True) if info is not None else None,
            "capabilities": client.server_capabilities.model_dump(by_alias=True, mode="json", exclude_none=True),
            "instructions": client.instructions,
        }

    async def ping(self) -> float:
        """Ask for a sign of life and give the seconds it took; the 2026 era has no ping, so it lists tools."""
        client = await self._client()
        began = anyio.current_time()
        try:
            with anyio.fail_after(self.limits.call_s):
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    await client.list_tools(cache_mode="bypass")
                else:
                    with warnings.catch_warnings(action="ignore"):  # said at every call: this era still has it
                        sign = client.session.send_ping()
                    await sign
        except TimeoutError:
            raise ToolError(f"server {self.server.name} gave no sign of life within {self.limits.call_s:g} s") from None
        except MCPError as problem:
            raise self._refusal(problem) from problem
        return anyio.current_time() - began

    async def close(self) -> None:
        """End the server and everything it started."""
        live, self._live = self._live, None
        if live is not None:
            live.stop.set()
            await asyncio.wait([live.task])
        self.changed = True

    # -- one run ---------------------------------------------------------------------------------------------------

    async def _client(self) -> Client:
        async with self._lock:
            if self._live is not None and not self._live.usable:
                await self.close()
            if self._live is None:
                await self._start()
            live = self._live
            if live is None or live.client is None:
                raise ToolError(f"server {self.server.name} ended as it started")
            return live.client

    async def _start(self) -> None:
        """Start the server; one that falls over the 2026 question is started again and not asked it."""
        modes = ("legacy",) if self.server.era == "2025" else ("auto", "legacy")
        for mode in modes:
            live = self._live = self._begin(mode)
            ready = asyncio.create_task(live.ready.wait())
            try:
                await asyncio.wait([ready, live.task], return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:  # nobody waits for it any more
                live.task.cancel()
                raise
            finally:
                ready.cancel()
            if live.client is not None:
                return
            live.stop.set()
            await asyncio.wait([live.task])
            if not live.fell_over or live.wire.problem or mode == modes[-1]:
                start = f"server {self.server.name} did not start: "
                problem = str(live.problem or live.wire.problem or "it ended")
                raise ToolError(start + problem.removeprefix(start))

    def _begin(self, mode: str) -> _Live:
        wire = Wire(self.limits, self._around.keep)
        holder: list[_Live] = []

        async def run() -> None:
            await self._run(holder[0], mode)

        task = asyncio.create_task(run(), name=f"weft tool server {self.server.name}")
        live = _Live(task, asyncio.Event(), asyncio.Event(), asyncio.Event(), wire)
        holder.append(live)
        return live

    async def _run(self, live: _Live, mode: str) -> None:
        """Hold the SDK's client open until told to stop, or until the server is gone."""
        gently = False
        try:
            # Around all of it, since what the SDK opens stays open: the limit is lifted once it is ready.
            with anyio.CancelScope(deadline=anyio.current_time() + self.limits.start_s) as starting:
                async with AsyncExitStack() as stack:
                    transport = await self._transport(live, stack)
                    live.client = await stack.enter_async_context(self._sdk_client(transport, mode))
                    starting.deadline = math.inf
                    live.ready.set()
                    self.changed = True
                    await self._until_over(live, live.client)
                    gently = True
            if starting.cancelled_caught:
                live.problem = f"it was not ready within {self.limits.start_s:g} s"
        except WeftError as problem:
            live.problem = str(problem)
        except (Exception, BaseExceptionGroup) as problem:  # noqa: BLE001 - what a server can cause has no list
            cause = _first(problem)
            live.fell_over = live.child is not None and isinstance(cause, MCPError) and cause.code == CLOSED
            live.problem = "" if live.fell_over else _brief(problem)
        finally:
            live.wire.ended.set()
            if live.child is not None:
                if not live.stop.is_set() or live.client is None:  # it was not told to end
                    epitaph = await live.child.epitaph()
                    live.problem = ("\n" if epitaph.startswith(" ") else ": ").join(
                        filter(None, (live.problem, epitaph))
                    )
                live.over.set()
                await live.child.stop(gently=gently)

    async def _until_over(self, live: _Live, client: Client) -> None:
        tasks = [asyncio.create_task(live.stop.wait()), asyncio.create_task(live.wire.ended.wait())]
        listener = asyncio.create_task(self._listen(client))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*tasks, listener):
                task.cancel()
            await asyncio.gather(*tasks, listener, return_exceptions=True)

    async def _transport(self, live: _Live, stack: AsyncExitStack) -> Transport:
        server, environ, keys = self.server, self._around.environ, self._around.keys
        if server.url is None:
            env = child_environment(environ, given=server.env, passed=server.env_vars, keys=keys, where=server.name)
            argv = tuple(fill_in(word, environ, keys=keys, where=f"{server.name}.args") for word in server.command)
            live.child = await Child.start(server, argv, env, self.limits, self._around.guard)
            return stdio_transport(live.child, live.wire)
        url = fill_in(server.url, environ, keys=keys, where=f"{server.name}.url")
        headers = {
            name: fill_in(value, environ, keys=keys, where=f"{server.name}.headers.{name}")
            for name, value in server.headers.items()
        }
        if server.bearer_token_env_var is not None:
            token = fill_in(
                f"${{{server.bearer_token_env_var}}}", environ, keys=keys, where=f"{server.name}.bearer_token_env_var"
            )
            headers["Authorization"] = f"Bearer {token}"
        client = http_client(url, headers, self.limits, private=server.private)
        await stack.enter_async_context(client)
        return streamable_http_client(url, http_client=client, max_sse_event_size=self.limits.message_bytes)

    def _sdk_client(self, transport: Transport, mode: str) -> Client:
        roots = Roots.of(self.server.roots)

        async def list_roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 - called by name
            return ListRootsResult(roots=[Root(uri=uri) for uri in roots.uris()])  # type: ignore[arg-type]

        async def heard(message: IncomingMessage) -> None:
            if isinstance(message, ToolListChangedNotification):
                self.changed = True

        return Client(
            transport,
            mode=mode,
            cache=None,
            client_info=Implementation(name="weft", version=__version__),
            list_roots_callback=list_roots if roots.folders else None,
            sampling_callback=self._around.sampling,
            elicitation_callback=_careful(self._around.elicitation),
            message_handler=heard,
        )

    async def _listen(self, client: Client) -> None:
        """In the 2026 era a change of the tools is only told to those who listen for it."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        with suppress(Exception):  # a server that cannot be listened to is only listed anew when asked
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self.changed = True

    async def _obituary(self, reason: str) -> str:
        """Say why an answer will not come, once the end of the run is known."""
        live = self._live
        if live is None:
            return reason
        with anyio.move_on_after(0.6):  # its end is told within a second [M-05]
            await live.over.wait()
        live.stop.set()
        why = live.wire.problem or live.problem
        return reveal(f"server {self.server.name} ended: {why or reason}")

    def _refusal(self, problem: MCPError) -> WeftError:
        if problem.code == CLOSED:
            live = self._live
            why = (live.wire.problem or live.problem) if live is not None else ""
            return ToolError(f"server {self.server.name} ended: {why or problem.message}")
        return McpError(problem.message, code=problem.code)


def _careful(ask: ElicitationFnT | None) -> ElicitationFnT | None:
    """Let only addresses that may be opened reach the person who is asked to open them [M-19]."""
    if ask is None:
        return None

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        if isinstance(params, ElicitRequestURLParams):
            try:
                check_link(params.url)
            except UsageError as problem:
                return ErrorData(code=INVALID_PARAMS, message=str(problem))
        return await ask(context, params)

    return elicit


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _brief(problem: BaseException) -> str:
    """Say in one line what an error, or the first of a group of them, is about."""
    problem = _first(problem)
    if isinstance(problem, MCPError):
        return f"it answered MCP Error ({problem.code}): {reveal(problem.message)}"
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
    if isinstance(problem, UsageError):
        return str(problem)
    return reveal(str(problem) or type(problem).__name__)
