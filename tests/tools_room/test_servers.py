"""Servers as they are written in files, and the file as it is written by weft."""

from __future__ import annotations

import json
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tool_servers import hostile, said, using
from weft.errors import StoreError, ToolError, UsageError
from weft.providers import PROVIDERS
from weft.tools import PROVIDER_KEYS, Consents, Server, Toolbox, read_server, read_servers, register, remove
from weft.tools.environment import child_environment, fill_in


def test_servers_come_from_the_settings_and_from_the_files_people_have(tmp_path: Path) -> None:
    """The first to name a server wins; what cannot be read is told and hides nothing else."""
    config, project = tmp_path / "config.toml", tmp_path / ".mcp.json"
    config.write_text(
        '[mcp_servers.time]\ncommand = "mcp-server-time"\nargs = ["--local-timezone", "UTC"]\nstartup_timeout_sec = 5\n'
        "[mcp_servers.off]\ncommand = 'x'\nenabled = false\n[mcp_servers.odd]\ncommand = 7\n"
    )
    project.write_text(
        json.dumps(
            {
                "mcpServers": {
                    "time": {"command": "evil"},
                    "far": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Tide": "high"}},
                    "old": {"type": "sse", "url": "https://example.com/sse"},
                    "both": {"command": "x", "url": "https://example.com"},
                    "a___b": {"command": "x"},
                }
            }
        )
    )

    table = read_servers(config, [project, tmp_path / "missing.json"])

    assert list(table.servers) == ["time", "far"]
    assert table.servers["time"] == Server(
        name="time", command=("mcp-server-time", "--local-timezone", "UTC"), start_s=5, source=str(config)
    )
    assert (table.servers["far"].url, dict(table.servers["far"].headers)) == (
        "https://example.com/mcp",
        {"X-Tide": "high"},
    )
    assert table.servers["far"].owned is False
    assert [problem.removeprefix(str(tmp_path)) for problem in table.problems] == [
        "/config.toml: server odd: command must be a text",
        "/.mcp.json: server old: the old sse transport is gone from MCP; give its streamable http address",
        "/.mcp.json: server both needs a command or a url, and not both",
        "/.mcp.json: a___b: three underscores separate server and tool, so a server's name has none",
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}', "\xff", '{"mcpServers": {"a": []}}'])
def test_a_broken_file_is_a_problem_and_not_an_end(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text, encoding="latin-1")

    table = read_servers(None, [path])

    assert dict(table.servers) == {}
    assert len(table.problems) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"args": ["x"]},
        {"command": "x", "args": "y"},
        {"command": "x", "env": {"A": 1}},
        {"command": "x", "type": "smoke"},
        {"command": "x", "tool_timeout_sec": 0},
        {"command": "x", "tool_timeout_sec": 601},
        {"command": "x", "era": "1999"},
        {"command": "x\0y"},
        {"command": ""},
        {"command": "x", "private": 1},
        {"url": "file:///etc/passwd"},
        {"url": "javascript:alert(1)"},
        {"url": "http://user:pass@example.com/"},
        {"url": "https://"},
        {"url": "https://a\u200bb/"},
    ],
)
def test_an_entry_of_the_wrong_shape_is_refused(entry: dict[str, Any]) -> None:
    """M-19 among them: only http and https are addresses."""
    with pytest.raises(UsageError):
        read_server("x", entry)


def test_what_would_run_is_shown_exactly_and_nothing_in_it_can_hide() -> None:
    """M-01: an argv list, quoted as it is, control characters visible."""
    server = Server(
        name="x",
        command=("sh", "-c", "echo hi\r\x1b[2K; rm -rf /\u202e", "a b"),
        env={"TOKEN": "secret"},
        env_vars=("HOME",),
        cwd="/srv",
        roots=("/srv/tides",),
    )

    assert server.shown() == "sh -c 'echo hi<U+000D><U+001B>[2K; rm -rf /<U+202E>' 'a b'"
    assert server.details() == ["in /srv", "with variables HOME, TOKEN", "may work in /srv/tides"]
    assert "secret" not in repr(server)


def test_registering_and_removing_leave_the_rest_of_the_file_alone(tmp_path: Path) -> None:
    """M-01: stored as an argv list, readable by its owner alone."""
    config = tmp_path / "home" / "config.toml"
    config.parent.mkdir()
    before = (
        '# mine\n[aliases]\nkilo = "anthropic/claude" # the usual\n\n'
        '[mcp_servers.old]\ncommand = "old"\n[mcp_servers.old.env]\nA = "1"\n'
    )
    config.write_text(before)
    server = Server(
        name="tide.s",
        command=("run", "a b", 'quo"te', "line\nline", "\x7f\x1b", "é"),
        env={"A B": "$x"},
        private=False,
        call_s=5.5,
    )

    register(config, server)

    text = config.read_text()
    assert text.startswith(before)
    assert tomllib.loads(text)["mcp_servers"]["tide.s"] == server.to_dict()
    assert read_servers(config).servers["tide.s"] == replace(server, source=str(config))
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="already has a server called old"):
        register(config, Server(name="old", command=("new",)))
    register(config, Server(name="old", command=("new",)), replace=True)
    assert tomllib.loads(config.read_text())["mcp_servers"]["old"] == {"command": "new", "args": []}
    remove(config, "old")
    remove(config, "tide.s")
    assert config.read_text() == '# mine\n[aliases]\nkilo = "anthropic/claude" # the usual\n'
    with pytest.raises(UsageError, match="has no server called 'old'"):
        remove(config, "old")


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { a = { command = "x" } }\n',
        'mcp_servers.a.command = "x"\n',
        '[mcp_servers]\na = { command = "x" }\n',
        "not toml",
        "\xff",
    ],
)
def test_a_file_written_in_another_way_is_left_to_its_owner(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="latin-1")

    with pytest.raises(UsageError):
        remove(config, "a")

    assert config.read_text(encoding="latin-1") == text


def test_an_entry_with_lists_that_look_like_headers_is_removed_whole(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[mcp_servers.a]\ncommand = "x"\nargs = [\n  "one",\n  "[two]",\n]\n\n[other]\nx = 1\n')

    remove(config, "a")

    assert config.read_text() == "[other]\nx = 1\n"


def test_a_projects_server_does_not_start_before_its_owner_agreed() -> None:
    """M-01: nothing runs; asked once for all that wait, and agreed to once."""
    asked: list[str] = []
    server = replace(hostile(), owned=False)

    async def work(toolbox: Toolbox) -> Any:
        return await toolbox.list(), toolbox.notices, await toolbox.call("bad___echo")

    def person(server: Server) -> bool:
        asked.append(server.shown())
        return True

    tools, notices, block = using([server], work)
    agreed, _, _ = using([server], work, consent=person)

    assert tools == []
    assert notices == [f"server bad was not started: its owner has not agreed to run {server.shown()}"]
    assert block["is_error"] is True
    assert len(agreed) > 5
    assert asked == [server.shown()]


def test_consent_is_for_an_entry_as_it_is_and_outlasts_the_process(tmp_path: Path) -> None:
    """M-01: a changed command, variable or folder is a new question."""
    path = tmp_path / "consents.json"
    server = Server(name="x", command=("run", "it"), owned=False)

    assert not Consents(path).has(server)
    Consents(path).add(server)

    assert Consents(path).has(server)
    assert Consents(path).has(Server(name="y", command=("anything",)))
    for changed in ({"command": ("run", "that")}, {"env": {"LD_PRELOAD": "x.so"}}, {"cwd": "/"}, {"roots": ("/",)}):
        assert not Consents(path).has(replace(server, **changed))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("{")
    with pytest.raises(StoreError, match="remove it to be asked again"):
        Consents(path).has(server)


def test_a_childs_environment_is_the_base_and_what_is_listed() -> None:
    """M-16."""
    environ = {"PATH": "/bin", "HOME": "/h", "A": "1", "B": "2", "GROQ_API_KEY": "k", "LANG": "() { :; }"}

    child = child_environment(environ, given={"C": "${A}-${NOT:-x}-$A", "B": "own"}, passed=("A", "B", "ABSENT"))

    assert child == {"PATH": "/bin", "HOME": "/h", "A": "1", "B": "own", "C": "1-x-$A"}


def test_a_providers_key_is_never_passed_however_it_is_asked_for() -> None:
    """M-16: neither by name nor by reference; every key of the table of providers is known here."""
    environ = {"OPENAI_API_KEY": "sk-canary"}

    with pytest.raises(UsageError, match="OPENAI_API_KEY is a model provider's key"):
        child_environment(environ, given={}, passed=("OPENAI_API_KEY",))
    with pytest.raises(UsageError, match="OPENAI_API_KEY is a model provider's key"):
        fill_in("Bearer ${OPENAI_API_KEY}", environ, where="x.headers")
    with pytest.raises(UsageError, match="the environment has no MISSING"):
        fill_in("${MISSING}", environ, where="x.args")
    block = using(
        [hostile(env={"X": "${OPENAI_API_KEY}"})], lambda toolbox: toolbox.call("bad___environment"), environ=environ
    )
    assert "is_error" in block
    assert "sk-canary" not in said(block)


def test_every_key_variable_of_the_table_of_providers_is_kept_from_tools() -> None:
    """M-16: the two lists are in different rooms; here they meet."""
    names = {name for row in PROVIDERS.values() for name in row.keys}

    assert names <= PROVIDER_KEYS


def test_a_relative_folder_and_variables_reach_the_child(tmp_path: Path) -> None:
    server = hostile("${WORD}", cwd=str(tmp_path), env={"GREETING": "hello ${WORD}"})

    async def work(toolbox: Toolbox) -> Any:
        return said(await toolbox.call("bad___arguments")), said(await toolbox.call("bad___environment"))

    arguments, environment = using([server], work, environ={"WORD": "wörd; $(id)", "PATH": "/usr/bin"})

    assert json.loads(arguments)["argv"] == ["wörd; $(id)"]
    assert json.loads(environment)["GREETING"] == "hello wörd; $(id)"


def test_a_tool_may_be_switched_off_for_a_server() -> None:
    server = hostile(enabled_tools=("echo", "fail"), disabled_tools=("fail",))

    async def work(toolbox: Toolbox) -> Any:
        return [tool["name"] for tool in await toolbox.list()], await toolbox.call("bad___fail")

    names, block = using([server], work)

    assert names == ["bad___echo"]
    assert said(block) == "there is no tool called bad___fail"


def test_an_unknown_server_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="no tool server called 'bax'\n  near it: bad"):
        using([hostile()], lambda toolbox: toolbox.list(["bax"]))


def test_without_the_sdk_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in ("weft.tools.connection", "weft.tools.stdio"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    async def work(toolbox: Toolbox) -> Any:
        await toolbox.connect("bad")

    with pytest.raises(ToolError, match=r'pip install "weft\[mcp\]"'):
        using([hostile()], work)
