"""`weft demo`: everything in it really happens, so everything in it can be checked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.support.cli import Weft, program
from tests.support.viewing import until

FOREST = """\
● claude-sonnet-4-6  Book it, but leave a metre to spare.
│ ● claude-sonnet-4-6  Book it.
├─╯
● claude-sonnet-4-6  5.5 m 6.2 m
│ ○ gpt-5-mini  Give a title for: a berth for a ship of 5 m draught
○ claude-sonnet-4-6  Find a berth for a ship of 5 m draught."""


def test_the_demo_asks_branches_records_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no network, a real MCP server, a recorded agent, and nothing left behind; in less than 20 s."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PATH", os.defpath)  # as `make demo` has it: weft is not there by its name
    began = time.monotonic()

    ran = program("demo", "--once", stdin=b"this is not a question")

    assert (ran.status, ran.err) == (0, "")
    assert time.monotonic() - began < 20
    for said in (
        'tool_use(harbour___depth): {"pier":4}',
        "At pier 4 the water is 6.2 m deep.",
        "left out: context.messages[1].parts[0]: thinking of anthropic",
        "Claude's signed thinking went back to Claude: 1 block, its signature checked",
        "(doubt) The sonar said 6.2 m",
        "├─╯",
        "$ weft diff pier doubt",
        "$ weft record -o run.jsonl -- python agent.py",
        "tool: depth(pier=3), depth(pier=4)",
        "recorded 5 exchanges in run.jsonl",
        "5 requests, 10 new turns",
        "(nights) Booked: pier 4 for two nights.",
        "   run.jsonl (03",
        "): 5 requests",
        "threads: 22 turns",
        'Try next\n   export PATH="',
    ):
        assert said in ran.out
    assert _forest(ran.out) == FOREST
    assert list(tmp_path.iterdir()) == []


def _forest(out: str) -> str:
    """Take from what was shown how the requests hang together: a chain, a fork from it, a tree of its own."""
    listed = out.partition("$ weft trace ls run.jsonl\n")[2].partition("\n\n")[0]
    return re.sub(r"\w{6,}  [\d:]{8}  (\S+)  .*?\d(?:ms|s)  ", r"\1  ", listed)


def test_the_demo_goes_on_without_extras_and_leaves_the_users_own_store_alone(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.cli import demo

    monkeypatch.setattr(demo, "find_spec", lambda _name: None)

    ran = weft("demo", "--once")

    assert "servers need an extra" in ran.out
    assert "the viewer needs an extra" in ran.out
    assert "At pier 4 the water is 6.2 m deep." in ran.out
    assert weft("log", "--all", "--json").json == []


def test_in_a_terminal_the_demo_waits_and_ends_with_the_viewer(tmp_path: Path) -> None:
    """It goes on at enter, opens the browser on the recorded run and the threads, and ends at ctrl-c."""
    opened = tmp_path / "opened"
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "demo"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "BROWSER": f"sh -c 'touch {opened}' %s"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        os.write(ours, b"\n" * 7)
        shown = _read_until(ours, "ctrl-c to end")
        address, token = re.findall(r"(http://127\.0\.0\.1:\d+/)#token=(\S+)", shown)[0]
        answer = httpx2.get(f"{address}api/sources", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        until(opened.exists)
        running.send_signal(signal.SIGINT)
        _read_until(ours, "docs/tutorial/record-see-branch.md")
        assert running.wait(20) == 0
    finally:
        running.kill()
        running.wait()
        os.close(ours)

    assert shown.count("press enter to go on") == 7
    assert [(one["kind"], one["rows"]) for one in answer.json()["sources"]] == [("session", 5), ("threads", 22)]


def _read_until(terminal: int, words: str) -> str:
    shown = b""
    while words.encode() not in shown:
        shown += os.read(terminal, 65536)
    return shown.decode()
