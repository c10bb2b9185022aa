"""Servers that hang, die, lie and shout: every one ends in an error result, within its limits, and alone."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tool_servers import SHORT, alive, hostile, said, using
from weft.blobs import FileBlobStore, InMemoryBlobStore
from weft.errors import McpError, ToolError
from weft.tools import Server, Toolbox

QUICK = replace(SHORT, start_s=0.5, call_s=0.4, hard_s=1.2)


def call(*flags: str, tool: str, limits: Any = SHORT, **arguments: Any) -> tuple[Any, float]:
    """Call one tool of the hostile server; the seconds are those of the call alone."""

    async def work(toolbox: Toolbox) -> tuple[Any, float]:
        await toolbox.list()
        began = time.monotonic()
        block = await toolbox.call(f"bad___{tool}", arguments)
        return block, time.monotonic() - began

    return using([hostile(*flags)], work, limits=limits)


def test_a_command_reaches_its_program_as_it_was_written() -> None:
    """M-02: no shell reads it; what would be code in one is text here."""
    words = ("; touch /tmp/x", "$(id)", "`id`", "a b", "line\nline", "*", "~", "'quoted' \"twice\"", "")

    block, _ = call(*words, tool="arguments", text="$(id); `id`\n")

    assert json.loads(said(block)) == {"argv": list(words), "arguments": {"text": "$(id); `id`\n"}}


def test_a_server_that_never_initialises_is_ended_with_its_family_and_leaves_no_zombie() -> None:
    """M-03: an error at the limit; TERM, then KILL for who ignores it; nobody stays."""

    async def work(toolbox: Toolbox) -> tuple[int, int, str, float]:
        began = time.monotonic()
        connection = await toolbox.connect("bad")
        starting = asyncio.create_task(connection.tools())
        while "child" not in (words := connection.stderr()):  # noqa: ASYNC110 - another process says it
            await asyncio.sleep(0.02)
        child = int(words.split()[1])
        parent = connection.pid
        assert parent is not None
        with pytest.raises(ToolError, match=r"server bad did not start: it was not ready within 0\.8 s") as problem:
            await starting
        return parent, child, str(problem.value), time.monotonic() - began

    limits = replace(SHORT, start_s=0.8)
    parent, child, problem, seconds = using([hostile("silent", "stubborn", "family")], work, limits=limits)

    assert not alive(parent)
    assert not alive(child)
    assert not Path(f"/proc/{parent}").exists()  # not even as a zombie
    assert "its last words: child" in problem
    assert seconds < 5


def test_a_server_that_ends_as_it_starts_says_why() -> None:
    """M-03: its last words are in the error."""

    async def work(toolbox: Toolbox) -> Any:
        assert await toolbox.list() == []
        return toolbox.notices

    [notice] = using([hostile("exit")], work)

    assert notice == "server bad did not start: exit status 1\n  its last words: could not find my settings"


def test_a_program_that_is_not_there_is_told_with_its_command() -> None:
    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.call("gone___tool")

    servers = [Server(name="gone", command=("no-such-program --flag",))]

    with pytest.raises(
        ToolError, match="server gone did not start: No such file or directory: 'no-such-program --flag'"
    ):
        using(servers, lambda toolbox: _ping(toolbox, "gone"))
    assert using(servers, work)["is_error"] is True


async def _ping(toolbox: Toolbox, name: str) -> float:
    return await (await toolbox.connect(name)).ping()


def test_a_server_that_refuses_the_handshake_is_an_error_with_its_words() -> None:
    """T-71: an error answer is no connection."""
    with pytest.raises(ToolError, match=r"MCP Error \(-32603\): not today"):
        using([hostile("refuses")], lambda toolbox: _ping(toolbox, "bad"))


def test_a_server_that_falls_over_the_2026_question_is_not_asked_it_again() -> None:
    """Both eras: old servers know nothing of server/discover, and some end over it."""
    seen = using([hostile("falls-over")], lambda toolbox: toolbox.call("bad___heard"))

    assert json.loads(said(seen)) == ["initialize", "notifications/initialized", "tools/list", "tools/call"]


def test_the_handshake_is_initialize_then_initialized_then_the_list() -> None:
    """T-71: in this order, and an era set to 2025 skips the question before it."""
    seen = using([hostile(era="2025")], lambda toolbox: toolbox.call("bad___heard"))
    asked = using([hostile("version=2025-06-18")], lambda toolbox: toolbox.call("bad___heard"))

    assert json.loads(said(seen)) == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert json.loads(said(asked))[:3] == ["server/discover", "initialize", "notifications/initialized"]


def test_a_call_that_hangs_is_cancelled_at_its_limit_and_the_next_one_works() -> None:
    """M-04, T-72: every wait has an end, and the server is told that nobody waits any more."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        began = time.monotonic()
        block = await toolbox.call("bad___hang", call_id="c1")
        seconds = time.monotonic() - began
        return block, seconds, said(await toolbox.call("bad___heard"))

    block, seconds, heard = using([hostile()], work, limits=QUICK)

    assert block == {
        "type": "tool_result",
        "name": "bad___hang",
        "tool_use_id": "c1",
        "is_error": True,
        "content": [{"type": "text", "text": "MCP Error (-32001): no answer and no progress within 0.4 s"}],
    }
    assert 0.3 < seconds < 2
    assert json.loads(heard)[-2:] == ["notifications/cancelled", "tools/call"]


def test_progress_without_end_is_stopped_at_the_hard_limit() -> None:
    """M-04: whatever the progress; and the server, which is past saving, is ended."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        block = await toolbox.call("bad___progress")
        return said(block), toolbox.running, said(await toolbox.call("bad___echo", {"message": "again"}))

    text, running, again = using([hostile()], work, limits=QUICK)

    assert text == "MCP Error (-32001): stopped after 1.2 s"
    assert running == ()
    assert again == "again"


def test_a_cancelled_call_leaves_the_server_usable() -> None:
    """Cancellation: ctrl-c in the middle of a call."""

    async def work(toolbox: Toolbox) -> str:
        await toolbox.list()
        waiting = asyncio.create_task(toolbox.call("bad___hang"))
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return said(await toolbox.call("bad___echo", {"message": "still here"}))

    assert using([hostile()], work) == "still here"


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("exit", "exit status 3\n  its last words: a bug, and not the first"),
        ("kill", "it was ended by signal 9"),
        ("orphan", "exit status 4"),
    ],
)
def test_a_server_that_dies_in_a_call_is_an_error_within_a_second_and_is_started_again(tool: str, reason: str) -> None:
    """M-05: also when a child of its holds the pipe open; the next call starts it anew."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        began = time.monotonic()
        block = await toolbox.call(f"bad___{tool}")
        seconds = time.monotonic() - began
        return block, seconds, toolbox.running, await toolbox.call("bad___echo", {"message": "risen"})

    block, seconds, running, again = using([hostile()], work)

    assert block["is_error"] is True
    assert said(block) == f"MCP Error (-32000): server bad ended: {reason}"
    assert seconds < 1
    assert running == ()
    assert said(again) == "risen"


def test_a_server_killed_from_outside_is_an_error_within_a_second() -> None:
    """M-05: kill -9 from anywhere."""

    async def work(toolbox: Toolbox) -> Any:
        connection = await toolbox.connect("bad")
        await connection.tools()
        waiting = asyncio.create_task(toolbox.call("bad___hang"))
        await asyncio.sleep(0.1)
        assert connection.pid is not None
        os.kill(connection.pid, signal.SIGKILL)
        began = time.monotonic()
        block = await waiting
        return block, time.monotonic() - began

    block, seconds = using([hostile()], work)

    assert block["is_error"] is True
    assert seconds < 1


def test_junk_between_messages_is_passed_over() -> None:
    """M-06, T-72: text, binary, half messages, other ids, a flood of notifications, the same id twice."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        first = await toolbox.call("bad___junk")
        return said(first), said(await toolbox.call("bad___echo", {"message": "next"}))

    assert using([hostile()], work) == ("the first", "next")


def test_a_line_without_end_costs_the_server_its_connection_and_nobody_else() -> None:
    """M-06: a gibibyte without a line end; memory stays flat, another server goes on meanwhile."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        before = _resident()
        shouting = asyncio.create_task(toolbox.call("bad___long_line", {"mib": 1024}))
        good = await toolbox.call("good___echo", {"message": "unmoved"})
        return await shouting, good, _resident() - before, toolbox.running

    events: list[tuple[str, Any]] = []
    block, good, growth, running = using(
        [hostile(), hostile(name="good")], work, observe=lambda topic, facts: events.append((topic, facts))
    )

    assert said(block) == "MCP Error (-32000): server bad ended: a message of more than 268435456 bytes"
    assert said(good) == "unmoved"
    assert growth < 64 << 20
    assert running == ("good",)
    assert (
        "mcp.bad.error",
        {"code": -32000, "message": "server bad ended: a message of more than 268435456 bytes"},
    ) in events


def test_a_flood_on_stderr_blocks_nothing_and_its_end_is_kept() -> None:
    """M-07: 8 MiB of it; the tail is 64 KiB."""

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        block = await toolbox.call("bad___stderr_flood", {"kib": 8192})
        connection = await toolbox.connect("bad")
        for _ in range(100):
            if connection.stderr().endswith("the end of the flood"):
                break
            await asyncio.sleep(0.02)
        return said(block), connection.stderr()

    text, tail = using([hostile()], work)

    assert text == "still here"
    assert tail.endswith("the end of the flood")
    assert len(tail) <= 64 * 1024


def test_a_result_of_a_hundred_mebibytes_goes_to_a_blob_and_the_model_gets_its_beginning(tmp_path: Path) -> None:
    """M-08: a cut with a note; resident memory grows by less than 64 MiB."""
    blobs = FileBlobStore(tmp_path)
    unit = 'tide "high"\n\té🌊'

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.list()
        before = _resident()
        block = await toolbox.call("bad___big_result", {"times": 1360, "unit": unit})
        return block, _resident() - before

    block, growth = using([hostile()], work, blobs=blobs, limits=replace(SHORT, call_s=60))

    text = said(block)
    [entry] = blobs.list_blobs()
    whole = unit * 4096 * 1360
    assert entry.ref.size == len(whole.encode()) > 100 << 20
    assert (
        text
        == whole[: SHORT.result_chars]
        + f"\n\n[cut by weft: {entry.ref.size} bytes in all; the whole is kept as blob {entry.ref.id}]"
    )
    assert "is_error" not in block
    assert growth < 64 << 20
    assert blobs.get_blob(entry.ref) == whole.encode()


def test_a_result_too_long_for_a_model_but_not_for_memory_is_cut_as_well() -> None:
    """M-08: the limit is of text given to the model, over all texts of a result."""
    blobs = InMemoryBlobStore()

    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.call("bad___big_result", {"times": 20})

    text = said(using([hostile()], work, blobs=blobs, limits=replace(SHORT, result_chars=1000)))
    without = said(using([hostile()], work, limits=replace(SHORT, result_chars=1000)))

    [entry] = blobs.list_blobs()
    assert (
        text
        == "0123456789abcdef" * 62
        + "01234567"
        + f"\n\n[cut by weft: {entry.ref.size} bytes in all; the whole is kept as blob {entry.ref.id}]"
    )
    assert entry.ref.size == 20 * 4096 * 16
    assert without.endswith("[cut by weft: 1310720 bytes in all; the rest was not kept: there is no blob store]")


def test_an_error_answer_is_told_with_its_code_and_a_misfit_with_its_place() -> None:
    """T-75: the JSON-RPC error table; an answer that is no tool result is an error too."""
    failed, _ = call(tool="fail")
    misfit, _ = call(tool="misfit")

    assert failed == {
        "type": "tool_result",
        "name": "bad___fail",
        "is_error": True,
        "content": [{"type": "text", "text": "MCP Error (-32050): no water in the harbour"}],
    }
    assert misfit["is_error"] is True
    assert "its answer does not fit MCP" in said(misfit)


def test_a_list_with_cursors_without_end_stops() -> None:
    """T-72: every wait has an end, also that for the next page."""

    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.list(), toolbox.notices

    tools, notices = using([hostile("endless-pages")], work, limits=replace(SHORT, pages=5))

    assert [tool["name"] for tool in tools] == ["bad___echo"]
    assert notices == ["server bad has two tools called echo; the second is left out"]


def test_a_refused_list_is_the_servers_own_error() -> None:
    """`mcp tool list` gives the JSON-RPC error object."""

    async def work(toolbox: Toolbox) -> Any:
        with pytest.raises(McpError) as problem:
            await (await toolbox.connect("bad")).tools()
        return problem.value.code, problem.value.message

    assert using([hostile("no-list")], work) == (-32603, "no list today")


def test_a_missing_sign_of_life_is_told() -> None:
    """T-72."""
    with pytest.raises(ToolError, match=r"server bad gave no sign of life within 0\.4 s"):
        using([hostile("no-ping")], lambda toolbox: _ping(toolbox, "bad"), limits=replace(SHORT, call_s=0.4))
    assert using([hostile()], lambda toolbox: _ping(toolbox, "bad")) < 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
        ("elicitation/create", {"message": "your password?", "requestedSchema": {"type": "object", "properties": {}}}),
        ("roots/list", {}),
    ],
)
def test_what_a_server_asks_of_the_client_is_refused_unless_switched_on(method: str, params: Any) -> None:
    """M-18, M-17: sampling, elicitation and roots are off by default."""
    block, _ = call(tool="ask", method=method, params=params)

    assert "error" in json.loads(said(block))


def test_elicitation_goes_to_whoever_was_named_for_it() -> None:
    """M-18: switched on, it asks the user; the answer is the user's."""
    from mcp_types import ElicitResult

    async def elicitation(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001
        return ElicitResult(action="decline")

    async def work(toolbox: Toolbox) -> Any:
        params = {"message": "your name?", "requestedSchema": {"type": "object", "properties": {}}}
        return await toolbox.call("bad___ask", {"method": "elicitation/create", "params": params})

    assert json.loads(said(using([hostile()], work, elicitation=elicitation))) == {"result": {"action": "decline"}}


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://example.com/authorise"])
def test_an_address_to_be_opened_is_checked_before_anybody_sees_it(url: str) -> None:
    """M-19: javascript: and file: are refused for the person; a web address reaches them."""
    from mcp_types import ElicitResult

    seen: list[str] = []

    async def elicitation(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001
        seen.append(params.url)
        return ElicitResult(action="cancel")

    async def work(toolbox: Toolbox) -> Any:
        params = {"mode": "url", "message": "sign in", "url": url, "elicitationId": "e1"}
        return await toolbox.call("bad___ask", {"method": "elicitation/create", "params": params})

    answer = json.loads(said(using([hostile()], work, elicitation=elicitation)))

    assert seen == ([url] if url.startswith("https") else [])
    assert ("error" in answer) is (not seen)


def test_children_end_within_five_seconds_when_weft_is_killed(tmp_path: Path) -> None:
    """M-20: kill -9 of weft; a server that ignores TERM and its child that does too are gone."""
    script = tmp_path / "run.py"
    script.write_text(
        "import asyncio, sys\n"
        "from weft.tools import Server, Toolbox\n"
        "async def main():\n"
        "    toolbox = Toolbox([Server(name='bad', command=tuple(sys.argv[1:]))])\n"
        "    connection = await toolbox.connect('bad')\n"
        "    await connection.tools()\n"
        "    while 'child' not in connection.stderr():\n"
        "        await asyncio.sleep(0.02)\n"
        "    print(connection.pid, connection.stderr().split()[1], flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    command = hostile("stubborn", "family").command
    with subprocess.Popen([sys.executable, str(script), *command], stdout=subprocess.PIPE, text=True) as weft:
        assert weft.stdout is not None
        server, child = map(int, weft.stdout.readline().split())
        assert alive(server)
        assert alive(child)
        weft.kill()
        began = time.monotonic()
        while (alive(server) or alive(child)) and time.monotonic() - began < 10:
            time.sleep(0.05)
        seconds = time.monotonic() - began

    assert not alive(server)
    assert not alive(child)
    assert seconds < 5


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
