"""The stdio transport: JSON-RPC messages, one a line, between the MCP SDK and a child process [T-72, M-05, M-06].

The SDK's own transport holds a line of any length in memory and lets stderr through; this one bounds both. Lines that
are no messages are passed over and counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from weft.tools.limits import Limits
from weft.tools.lines import Cut, LineCutter, Spilled, TooLongError, shrink
from weft.tools.process import Child

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

__all__ = ["Wire", "stdio_transport"]

READ_BYTES = 1 << 18
WATCH_S = 0.1  # how soon the death of a server is noticed when someone else holds its pipe [M-05]
# What weft listens to; a flood of anything else costs no more than its reading.
HEARD = frozenset({"notifications/progress", "notifications/tools/list_changed", "notifications/cancelled"})


@dataclass(slots=True)
class Wire:
    """What was found out about a connection while it ran."""

    limits: Limits
    keep: Callable[[IO[bytes]], str]
    cuts: dict[str, Cut] = field(default_factory=dict)
    problem: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def stdio_transport(child: Child, wire: Wire) -> AsyncGenerator[TransportStreams]:
    """Connect the SDK's two streams to a child's two pipes."""
    arriving, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    async with arriving, read_stream, write_stream, leaving, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, child, wire, arriving)
        tasks.start_soon(_write, child, leaving)
        tasks.start_soon(_watch, child, arriving, wire)
        try:
            yield read_stream, write_stream
        finally:
            tasks.cancel_scope.cancel()


async def _read(child: Child, wire: Wire, arriving: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    lines = LineCutter(wire.limits.message_bytes, wire.limits.spill_bytes)
    try:
        async with arriving:
            while chunk := await child.read(READ_BYTES):
                for line in lines.feed(chunk):
                    if (message := await _message(line, wire)) is not None:
                        await arriving.send(message)
    except TooLongError as problem:
        wire.problem = str(problem)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        pass  # the session or the server went away; either is seen elsewhere
    finally:
        lines.close()
        wire.ended.set()


async def _message(line: bytes | Spilled, wire: Wire) -> SessionMessage | None:
    """Read a line; None if it is no message, or one nobody here listens to."""
    if isinstance(line, Spilled):
        data, cuts = await asyncio.to_thread(_shrunk, line, wire)
        wire.cuts |= {cut.token: cut for cut in cuts}
    else:
        data = line
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        await anyio.lowlevel.checkpoint()  # junk without end must not keep others from running
        return None
    if isinstance(message, JSONRPCNotification) and message.method not in HEARD:
        await anyio.lowlevel.checkpoint()
        return None
    return SessionMessage(message)


def _shrunk(line: Spilled, wire: Wire) -> tuple[bytes, tuple[Cut, ...]]:
    # In a thread, which cannot be cancelled: so the file is closed here, not by whoever stopped waiting.
    limits = wire.limits
    with line.file as file:
        return shrink(file, head_chars=limits.result_chars, message_bytes=limits.message_bytes, keep=wire.keep)


async def _write(child: Child, leaving: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with leaving:
        async for item in leaving:
            data = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
            with suppress(OSError, RuntimeError):  # its end is noticed by the reader
                await child.write(data)


async def _watch(child: Child, arriving: MemoryObjectSendStream[SessionMessage | Exception], wire: Wire) -> None:
    """Notice the end of a server whose pipe somebody else still holds open."""
    while child.returncode is None:  # noqa: ASYNC110 - a process gives no event that does not wait for its pipes
        await anyio.sleep(WATCH_S)
    await anyio.sleep(WATCH_S)  # what it said last is still being read
    await arriving.aclose()
    wire.ended.set()
