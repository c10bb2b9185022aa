"""`weft mcp`, as a program and in a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.tool_servers import HOSTILE, hostile
from weft.cli import main

COMMAND = hostile().command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def weft(*words: str) -> int:
    return main(["mcp", *words])


def test_a_server_is_shown_started_and_written_down(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """M-01: `mcp register` returns once the server is ready; then list, tools, call, ping, initialize, remove."""
    assert (
        weft("register", "bad", "--yes", "--env", "TIDE=high", "--root", str(home.parent), "--", *COMMAND, "a b") == 0
    )
    said = capsys.readouterr()
    assert f"server bad: {sys.executable} -I -S {HOSTILE} 'a b'" in said.err
    assert "bad is ready: hostile 1, " in said.err
    written = tomllib.loads((home / "config.toml").read_text())["mcp_servers"]["bad"]
    assert written == {
        "command": COMMAND[0],
        "args": [*COMMAND[1:], "a b"],
        "env": {"TIDE": "high"},
        "roots": [str(home.parent)],
    }

    assert weft("register", "bad", "--yes", "--", *COMMAND) == 1
    assert "already has a server called bad" in capsys.readouterr().err
    assert weft("list", "--json") == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["bad"]
    assert weft("list") == 0
    assert "settings" in capsys.readouterr().out
    assert weft("tools", "bad") == 0
    assert "Does echo." in capsys.readouterr().out
    assert weft("tool", "list", "bad", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["inputSchema"] == {"type": "object"}
    assert weft("call", "bad", "echo", '{"message": "hi\\u001b[31m"}') == 0
    assert capsys.readouterr().out == "hi␛[31m\n"
    assert weft("tool", "call", "bad", "fail", "--json") == 1
    assert json.loads(capsys.readouterr().out) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32050, "message": "no water in the harbour"},
    }
    assert weft("ping", "bad") == 0
    assert capsys.readouterr().out.endswith(" ms\n")
    assert weft("ping", "bad", "--json") == 0
    assert json.loads(capsys.readouterr().out)["name"] == "bad"
    assert weft("initialize", "bad") == 0
    assert capsys.readouterr().out.startswith("hostile 1, MCP 2025-11-25, ")
    assert weft("initialize", "bad", "--json") == 0
    assert json.loads(capsys.readouterr().out)["serverInfo"] == {"name": "hostile", "version": "1"}
    assert weft("remove", "bad") == 0
    assert weft("list") == 0
    assert "there are no tool servers yet" in capsys.readouterr().err


def test_nothing_runs_and_nothing_is_written_without_consent(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """M-01: without a terminal nobody can agree, so it is said how to."""
    marker = home.parent / "ran"

    assert weft("register", "bad", "--", "touch", str(marker)) == 1

    said = capsys.readouterr().err
    assert f"touch {marker}" in said
    assert "agree beforehand: --yes" in said
    assert not marker.exists()
    assert not (home / "config.toml").exists()


def test_a_server_that_does_not_answer_is_not_written_down(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("register", "bad", "--yes", "--", *COMMAND, "exit") == 1
    assert "could not find my settings" in capsys.readouterr().err
    assert not (home / "config.toml").exists()


def test_a_projects_file_is_read_but_not_obeyed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """M-01: a `.mcp.json` that came with a repository is listed, and does not start by itself."""
    entry = {"mcpServers": {"theirs": {"command": COMMAND[0], "args": list(COMMAND[1:])}, "odd": {"command": 1}}}
    (home.parent / ".mcp.json").write_text(json.dumps(entry))

    assert weft("list") == 0
    said = capsys.readouterr()
    assert ".mcp.json" in said.out
    assert "server odd: command must be a text" in said.err
    assert weft("ping", "theirs") == 1
    assert "server theirs would run as you, on this machine:" in capsys.readouterr().err

    assert weft("register", "theirs", "--from", ".mcp.json", "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["name"] == "theirs"
    assert weft("ping", "theirs") == 0


def test_a_remote_server_may_be_written_down_without_being_called(home: Path) -> None:
    assert (
        weft(
            "register",
            "far",
            "--url",
            "https://example.com/mcp",
            "--header",
            "X-Tide: ${TIDE}",
            "--private",
            "--no-start",
        )
        == 0
    )
    written = tomllib.loads((home / "config.toml").read_text())["mcp_servers"]["far"]
    assert written == {"url": "https://example.com/mcp", "headers": {"X-Tide": "${TIDE}"}, "private": True}


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (("register", "x"), 1, "needs a command or a url"),
        (("register", "x", "--yes", "--", "no-such-program"), 1, "weft: server x did not start: No such file"),
        (("register", "a___b", "true"), 1, "three underscores"),
        (("register", "x", "--url", "file:///etc/passwd"), 1, "not http or https"),
        (("register", "x", "--env", "novalue", "true"), 2, "--env NAME=VALUE"),
        (("register", "x", "--from", "f.json", "true"), 2, "--from takes the server"),
        (("register", "x", "--from", "missing.json"), 1, "no tool server called 'x'"),
        (("ping", "nobody"), 1, "no tool server called 'nobody'"),
        (("remove", "nobody"), 1, "has no server called 'nobody'"),
        (("call", "nobody", "x", "{"), 1, "ARGUMENTS is not JSON"),
        (("call", "nobody", "x", "[]"), 1, "ARGUMENTS is a JSON object"),
    ],
)
def test_mistakes_are_told_in_a_line(
    home: Path, words: tuple[str, ...], status: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weft(*words) == status
    assert problem in capsys.readouterr().err
    assert not home.exists()


def test_a_refused_list_is_given_as_the_error_object(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`mcp tool list`: tools, or the JSON-RPC error object."""
    assert weft("register", "bad", "--no-start", "--", *COMMAND, "no-list") == 0
    assert weft("tools", "bad", "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"error": {"code": -32603, "message": "no list today"}}
    assert weft("tools", "bad") == 1
    assert "MCP Error (-32603): no list today" in capsys.readouterr().err
    assert home.exists()


def terminal(script: str, *answers: str, home: Path) -> str:
    """Run Python in a real terminal and type answers as they are asked for; give all that was shown."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "WEFT_HOME": str(home)}
    # Its own terminal, so that ctrl-c is a signal and not a letter.
    own = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", own + script],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        env=environment,
        cwd=home.parent,
        start_new_session=True,
    )
    os.close(secondary)
    shown, todo = b"", list(answers)
    try:
        while select.select([primary], [], [], 30)[0]:
            try:
                chunk = os.read(primary, 4096)
            except OSError:  # the other side is closed
                break
            shown += chunk
            if todo and shown.rstrip().endswith(todo[0].partition("|")[0].encode()):
                os.write(primary, todo.pop(0).partition("|")[2].encode() + b"\n")
    finally:
        process.kill()
        process.wait()
        os.close(primary)
    return shown.decode()


def test_a_person_is_asked_before_a_projects_server_starts_and_only_once(home: Path) -> None:
    """M-01: in a terminal."""
    (home.parent / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"bad": {"command": COMMAND[0], "args": list(COMMAND[1:])}}})
    )
    words = ["mcp", "call", "bad", "echo", '{"message": "agreed"}']
    script = f"import sys; from weft.cli import main; sys.exit(main({words!r}))"

    refused = terminal(script, "start it? [y/N]:|n", home=home)
    first = terminal(script, "start it? [y/N]:|y", home=home)
    second = terminal(script, home=home)

    assert "its owner has not agreed" in refused
    assert f"{COMMAND[0]} -I -S {HOSTILE}" in first
    assert "agreed" in first.splitlines()[-1]
    assert "start it?" not in second
    assert "agreed" in second


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        (("run it?|1",), "yes|"),
        (("run it?|maybe", "run it?|yes"), "yes|"),
        (("run it?|2", "what instead?|use the almanac"), "no: do something different|use the almanac"),
        (("run it?|no",), "no|"),
        (("run it?|activate: yolo",), "activate: yolo|"),
        (("run it?|\x04",), "no|"),
        (("run it?|\x03",), "no|"),
    ],
)
def test_the_four_choices_are_asked_in_a_terminal(home: Path, answers: tuple[str, ...], decision: str) -> None:
    """Section 11: yes / no: do something different / no / activate: yolo."""
    script = (
        "import asyncio\n"
        "from weft.cli.tooling import approval_of\n"
        "from weft.tools import ToolInfo, Route\n"
        "info = ToolInfo('a___b', Route('a', 'b'), {'name': 'b', 'description': 'Does\\x1b b.'})\n"
        "made = asyncio.run(approval_of().decide(info, {'x': 1}))\n"
        "print('decided', made.choice + '|' + made.text)\n"
    )

    shown = terminal(script, *answers, home=home)

    assert f"decided {decision}" in shown
    assert "Does<U+001B> b." in shown
    assert '"x": 1' in shown


def test_without_a_terminal_nobody_approves_and_yolo_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """M-12, M-13, T-62, T-65."""
    import asyncio

    from weft.cli.tooling import approval_of
    from weft.tools import Choice, Route, ToolInfo

    info = ToolInfo("a___b", Route("a", "b"), {"name": "b"})

    def decide() -> Any:
        return asyncio.run(approval_of().decide(info, {})).choice

    assert decide() is Choice.REFUSED
    monkeypatch.setenv("WEFT_YOLO", "1")
    assert decide() is Choice.YES
    assert "yolo: every tool call runs without being asked about" in capsys.readouterr().err
