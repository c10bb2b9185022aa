"""`weft demo`: everything in it really happens, so everything in it can be checked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.cli import Weft, in_terminal, program


def test_the_demo_asks_branches_switches_and_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no network, a real MCP server, and nothing left behind; in less than 10 s."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    began = time.monotonic()

    ran = program("demo", "--once", stdin=b"this is not a question")

    assert (ran.status, ran.err) == (0, "")
    assert time.monotonic() - began < 10
    for said in (
        'tool_use(harbour___depth): {"pier":4}',
        "At pier 4 the water is 6.2 m deep.",
        "left out: context.messages[1].parts[0]: thinking of anthropic",
        "Claude's signed thinking went back to Claude: 1 block, its signature checked",
        "(doubt) The sonar said 6.2 m",
        "├─╯",
        "$ weft diff pier doubt",
        "Try next",
    ):
        assert said in ran.out
    assert list(tmp_path.iterdir()) == []


def test_the_demo_leaves_the_users_own_store_alone(weft: Weft) -> None:
    weft("demo", "--once")

    assert weft("log", "--all", "--json").json == []


def test_the_demo_goes_on_without_the_mcp_extra(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.cli import demo

    monkeypatch.setattr(demo, "find_spec", lambda _name: None)

    ran = weft("demo", "--once")

    assert "servers need an extra" in ran.out
    assert "At pier 4 the water is 6.2 m deep." in ran.out


def test_in_a_terminal_the_demo_waits_between_its_parts() -> None:
    status, shown = in_terminal("demo", typed=[("press enter", "")] * 3)

    assert (status, shown.count("press enter")) == (0, 3)
