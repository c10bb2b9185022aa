"""Servers at an address: the 2026 era over real HTTP, and addresses that lead somewhere else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.tool_servers import SHORT, said, using
from weft.errors import ToolError, UsageError
from weft.tools import Server, Toolbox
from weft.tools.remote import is_private

MODERN = '''
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("harbour")

@server.tool()
def tide(place: str) -> str:
    """Say when the water is high."""
    return f"{place}: 06:10"

@server.tool()
def flood(mib: int) -> str:
    """Say a great deal."""
    return "x" * (mib << 20)

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
'''


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the 2026 era, made with the official SDK, in a process of its own."""
    script = tmp_path_factory.mktemp("modern") / "server.py"
    script.write_text(MODERN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, str(script), str(port)], stderr=subprocess.DEVNULL) as process:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def test_a_remote_server_of_the_2026_era_is_used_over_http(modern: str) -> None:
    async def work(toolbox: Toolbox) -> Any:
        names = [tool["name"] for tool in await toolbox.list()]
        connection = await toolbox.connect("far")
        return (
            names,
            (await connection.about())["protocolVersion"],
            await connection.ping(),
            await toolbox.call("far___tide", {"place": "Ostend"}),
        )

    names, era, seconds, block = using([Server(name="far", url=modern)], work)

    assert names == ["far___tide", "far___flood"]
    assert era == "2026-07-28"
    assert seconds < 5
    assert said(block) == "Ostend: 06:10"


def test_an_answer_over_http_is_bounded(modern: str) -> None:
    """M-06: as on stdio; the connection outlives it."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        return await toolbox.call("far___flood", {"mib": 3}), await toolbox.call("far___tide", {"place": "Ostend"})

    block, after = using([Server(name="far", url=modern)], work, limits=replace(SHORT, message_bytes=1 << 20))

    assert block["is_error"] is True
    assert said(after) == "Ostend: 06:10"


def test_a_server_that_is_not_there_is_an_error_with_its_reason(unused_port: int) -> None:
    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.list(), toolbox.notices

    tools, notices = using([Server(name="far", url=f"http://127.0.0.1:{unused_port}/mcp")], work)

    assert tools == []
    assert notices[0].startswith("server far did not start: ")


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


Answer = Callable[[bytes], bytes]


@contextlib.asynccontextmanager
async def scripted(answer: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A raw HTTP server that answers every request with the same bytes, and remembers what it was asked."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head)
            writer.write(answer(head))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", asked


def meet(answer: Answer, **rest: Any) -> tuple[str, list[bytes]]:
    """Try to use a scripted server; give the error and what it was asked."""

    async def run() -> tuple[str, list[bytes]]:
        async with (
            scripted(answer) as (url, asked),
            Toolbox([Server(name="far", url=url, **rest)], limits=SHORT, environ=os.environ) as toolbox,
        ):
            with pytest.raises(ToolError) as problem:
                await (await toolbox.connect("far")).tools()
            return str(problem.value), asked

    return asyncio.run(run())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_place_is_not_followed(status: int) -> None:
    """M-19: nor are the headers that were meant for this place sent there."""

    async def run() -> tuple[str, list[bytes]]:
        async with scripted(lambda _: b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (elsewhere, caught):

            def answer(_head: bytes) -> bytes:
                head = f"HTTP/1.1 {status} Go\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n"
                return f"{head}connection: close\r\n\r\n".encode()

            async with scripted(answer) as (url, _):
                server = Server(name="far", url=url, headers={"Authorization": "Bearer canary"})
                async with Toolbox([server], limits=SHORT) as toolbox:
                    with pytest.raises(ToolError) as problem:
                        await (await toolbox.connect("far")).tools()
            return str(problem.value), caught

    problem, caught = asyncio.run(run())

    assert "not followed" in problem
    assert caught == []
    assert "canary" not in problem


def test_headers_go_with_every_request_and_come_from_the_environment_when_they_say_so() -> None:
    def refuse(_head: bytes) -> bytes:
        return b"HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

    os.environ["WEFT_TEST_TOKEN"] = "t0ken"
    try:
        problem, asked = meet(refuse, headers={"X-Tide": "${WEFT_TEST_TOKEN}"}, bearer_token_env_var="WEFT_TEST_TOKEN")
    finally:
        del os.environ["WEFT_TEST_TOKEN"]

    assert all(b"x-tide: t0ken" in head.lower() and b"authorization: bearer t0ken" in head.lower() for head in asked)
    assert asked
    assert "t0ken" not in problem


def test_a_body_without_end_is_cut_off() -> None:
    """M-06."""
    body = b"x" * (2 << 20)

    def answer(_head: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n" + body

    async def run() -> str:
        limits = replace(SHORT, message_bytes=1 << 20)
        async with scripted(answer) as (url, _), Toolbox([Server(name="far", url=url)], limits=limits) as toolbox:
            with pytest.raises(ToolError) as problem:
                await (await toolbox.connect("far")).tools()
            return str(problem.value)

    assert "an answer of more than 1048576 bytes" in asyncio.run(run())


def test_a_name_that_leads_into_a_private_network_is_refused_unless_the_owner_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """M-19: checked on the very address that is connected to, so that a second look-up cannot change it."""
    asked: list[str] = []

    async def run(**rest: Any) -> str:
        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo

        async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
            asked.append(host)
            return await real("127.0.0.1" if host == "tides.example" else host, port, **options)

        monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
        async with scripted(lambda _: b"HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n") as (
            url,
            seen,
        ):
            named = url.replace("127.0.0.1", "tides.example")
            async with Toolbox([Server(name="far", url=named, **rest)], limits=SHORT) as toolbox:
                with pytest.raises(ToolError) as problem:
                    await (await toolbox.connect("far")).tools()
            return f"{problem.value} [{len(seen)} requests]"

    refused = asyncio.run(run())
    allowed = asyncio.run(run(private=True))

    assert "tides.example leads to 127.0.0.1, inside a private network; if that is meant: private = true" in refused
    assert refused.endswith("[0 requests]")
    assert not allowed.endswith("[0 requests]")
    assert set(asked) == {"tides.example"}


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("192.168.0.1", True),
        ("169.254.169.254", True),
        ("::1", True),
        ("fe80::1%eth0", True),
        ("::ffff:10.0.0.1", True),
        ("0.0.0.1", True),
        ("224.0.0.1", True),
        ("100.64.0.1", True),
        ("8.8.8.8", False),
        ("2606:4700::1", False),
    ],
)
def test_which_addresses_are_private(address: str, private: bool) -> None:
    """M-19: the cloud's metadata address among them."""
    assert is_private(address) is private


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "ftp://example.com", "unix:///run/x.sock"]
)
def test_an_address_is_http_or_https(url: str) -> None:
    """M-19: also one that only becomes an address once a variable is filled in."""
    with pytest.raises(UsageError, match="not http or https"):
        Server(name="far", url=url)
    with pytest.raises(ToolError, match="not http or https"):
        using([Server(name="far", url="${WHERE}")], _tools, environ={"WHERE": url})


async def _tools(toolbox: Toolbox) -> Any:
    return await (await toolbox.connect("far")).tools()
