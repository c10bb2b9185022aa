"""The reference servers of the MCP project, as installed: two from npm, two from PyPI; both eras, both transports."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.components import require
from tests.support.tool_servers import node, python, said, using
from weft.tools import Server, Toolbox


def everything(**rest: Any) -> Server:
    return node("mcp-server-everything", name="every", **rest)


def clock() -> Server:
    return python("mcp-server-time", "--local-timezone", "UTC", name="time")


def test_four_servers_of_both_eras_list_their_tools_side_by_side(tmp_path: Path) -> None:
    """T-71, T-73: each tool is called server___tool, in the order of the servers; the eras do not show."""
    servers = [
        clock(),
        everything(),
        node("mcp-server-filesystem", str(tmp_path), name="fs"),
        python("mcp-server-git", name="git"),
    ]

    async def work(toolbox: Toolbox) -> tuple[list[Any], list[str], tuple[str, ...]]:
        tools = await toolbox.list(["git", "time", "every", "fs"])
        eras = [(await (await toolbox.connect(server.name)).about())["protocolVersion"] for server in servers]
        return tools, eras, toolbox.running

    tools, eras, running = using(servers, work)

    names = [tool["name"] for tool in tools]
    assert names[0].startswith("git___")
    assert list(dict.fromkeys(name.partition("___")[0] for name in names)) == ["git", "time", "every", "fs"]
    assert {"time___get_current_time", "every___echo", "fs___read_text_file", "git___git_status"} <= set(names)
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
    assert {key for tool in tools for key in tool} <= {
        "name",
        "description",
        "inputSchema",
        "annotations",
        "outputSchema",
    }
    assert eras == ["2026-07-28", "2025-11-25", "2025-11-25", "2026-07-28"]
    assert sorted(running) == ["every", "fs", "git", "time"]


def test_the_clock_tells_the_time_and_says_when_it_cannot() -> None:
    """T-75: content as the server gave it, the full name, the call's id only if it had one, is_error when it failed."""

    async def work(toolbox: Toolbox) -> list[Any]:
        return [
            await toolbox.call("time___get_current_time", {"timezone": "UTC"}, call_id="call_1"),
            await toolbox.call("time___get_current_time", {"timezone": "Atlantis/Harbour"}),
            await toolbox.call("time___get_current_time"),
        ]

    good, wrong, empty = using([clock()], work)

    assert (good["type"], good["name"], good["tool_use_id"]) == ("tool_result", "time___get_current_time", "call_1")
    assert json.loads(said(good))["timezone"] == "UTC"
    assert "is_error" not in good
    assert wrong["is_error"] is True
    assert "tool_use_id" not in wrong
    assert "Atlantis" in said(wrong)
    assert empty["is_error"] is True  # T-74: no arguments are {}, which this tool does not take


def test_a_picture_and_its_words_come_through_as_the_server_sent_them() -> None:
    async def work(toolbox: Toolbox) -> list[Any]:
        return [
            await toolbox.call("every___get-tiny-image"),
            await toolbox.call("every___get-structured-content", {"location": "New York"}),
            await toolbox.call("every___get-sum", {"a": 2, "b": 40}),
            await toolbox.call("every___get-sum", {"a": "two"}),
        ]

    picture, structured, total, wrong = using([everything()], work)

    image = next(item for item in picture["content"] if item["type"] == "image")
    assert image["mimeType"] == "image/png"
    assert len(image["data"]) > 100
    assert "temperature" in said(structured)
    assert "42" in said(total)
    assert wrong["is_error"] is True


def test_a_long_operation_reports_progress_and_outlives_the_limit_of_silence() -> None:
    """M-04: the limit is of silence; a server that reports progress is waited for."""
    heard: list[float] = []

    async def on_progress(progress: float, _total: float | None, _message: str | None) -> None:
        heard.append(progress)

    async def work(toolbox: Toolbox) -> Any:
        connection = await toolbox.connect("every")
        await connection.tools()
        connection.limits = type(connection.limits)(call_s=0.8, hard_s=10)
        began = time.monotonic()
        block = await toolbox.call(
            "every___trigger-long-running-operation", {"duration": 1.5, "steps": 5}, on_progress=on_progress
        )
        return block, time.monotonic() - began

    block, seconds = using([everything()], work)

    assert "is_error" not in block
    assert seconds > 1.2
    assert len(heard) >= 4


def test_five_calls_at_once_get_one_result_each_in_their_order() -> None:
    """M-14: whichever is done first."""
    calls = [
        {"type": "tool_use", "id": f"c{n}", "name": "every___echo", "input": {"message": str(n)}} for n in range(5)
    ]

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        return await toolbox.call_all(calls)

    results = using([everything()], work)

    assert [block["tool_use_id"] for block in results] == ["c0", "c1", "c2", "c3", "c4"]
    assert [said(block) for block in results] == [f"Echo: {n}" for n in range(5)]


def test_the_server_sees_the_variables_it_was_given_and_no_key() -> None:
    """M-16: only what is listed; the keys of model providers never."""
    environ = {
        **os.environ,
        "OPENAI_API_KEY": "sk-canary",
        "SECRET_OF_MINE": "canary",
        "HARBOUR": "north",
        "UNLISTED": "canary",
    }
    server = everything(env={"TIDE": "high", "PORT": "${HARBOUR}"}, env_vars=("HARBOUR",))

    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.call("every___get-env")

    seen = json.loads(said(using([server], work, environ=environ)))

    assert (seen["TIDE"], seen["PORT"], seen["HARBOUR"]) == ("high", "north", "north")
    assert "canary" not in json.dumps(seen)
    assert set(seen) <= {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TZ",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TIDE",
        "PORT",
        "HARBOUR",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_a_file_server_keeps_to_the_roots_it_was_given(tmp_path: Path) -> None:
    """M-17: asked for something outside, through `..` or a link, it refuses; it knows the real folders."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("canary")
    (inside / "notes.txt").write_text("high water at six")
    (inside / "way-out").symlink_to(outside)
    server = node("mcp-server-filesystem", name="fs", roots=(str(inside),))

    async def work(toolbox: Toolbox) -> list[Any]:
        await toolbox.list()
        allowed = await toolbox.call("fs___list_allowed_directories")
        while str(inside) not in said(allowed):  # the server asks for the roots in its own time
            await asyncio.sleep(0.05)
            allowed = await toolbox.call("fs___list_allowed_directories")
        places = [
            inside / "notes.txt",
            inside / ".." / "outside" / "secret.txt",
            inside / "way-out" / "secret.txt",
            "/etc/passwd",
        ]
        return [allowed, *[await toolbox.call("fs___read_text_file", {"path": str(place)}) for place in places]]

    allowed, good, *refused = using([server], work)

    assert str(inside.resolve()) in said(allowed)
    assert said(good) == "high water at six"
    assert [block.get("is_error") for block in refused] == [True, True, True]
    assert "canary" not in "".join(map(said, refused))


def test_a_repository_is_asked_about_its_state(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "tides.txt").write_text("06:10")

    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.call("git___git_status", {"repo_path": str(tmp_path)})

    assert "tides.txt" in said(using([python("mcp-server-git", name="git")], work))


def test_a_call_of_a_stored_thread_finds_its_server_before_anything_was_listed() -> None:
    """T-73: without a map, the name is split at its first separator, and then has to be one the server lists."""

    async def work(toolbox: Toolbox) -> list[Any]:
        return [
            await toolbox.call("time___get_current_time", {"timezone": "UTC"}),
            await toolbox.call("time___no_such_tool"),
            await toolbox.call("nowhere___get_current_time"),
            await toolbox.call("get_current_time"),
        ]

    good, *wrong = using([clock()], work)

    assert "is_error" not in good
    assert [block["is_error"] for block in wrong] == [True, True, True]
    assert [block["name"] for block in wrong] == [
        "time___no_such_tool",
        "nowhere___get_current_time",
        "get_current_time",
    ]


@pytest.fixture
def remote() -> Iterator[str]:
    """server-everything over streamable HTTP, on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(require("mcp-servers") / "mcp-server-everything")
    environment = {"PATH": os.environ["PATH"], "PORT": str(port)}
    with subprocess.Popen(
        [program, "streamableHttp"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if re.search(r"listening|running", line, re.IGNORECASE):
                break
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def test_a_remote_server_of_the_2025_era_is_used_over_http(remote: str) -> None:
    """Streamable HTTP, with a session, against the reference server."""

    async def work(toolbox: Toolbox) -> Any:
        tools = await toolbox.list()
        connection = await toolbox.connect("far")
        return (
            tools,
            await connection.about(),
            await connection.ping(),
            await toolbox.call("far___echo", {"message": "over there"}),
        )

    tools, about, seconds, block = using([Server(name="far", url=remote)], work)

    assert "far___get-sum" in [tool["name"] for tool in tools]
    assert about["protocolVersion"] == "2025-11-25"
    assert seconds < 5
    assert said(block) == "Echo: over there"
