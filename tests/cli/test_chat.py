"""`weft chat`: piped, and in a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.asking import CLAUDE, GEMINI
from tests.support.cli import Ran, Weft, in_terminal, program
from weft.sim import Simulator

pytestmark = pytest.mark.usefixtures("sim")


@pytest.fixture(autouse=True)
def _home(weft: Weft) -> None:
    """A store of the test's own, for programs too."""


def talk(*lines: str, options: tuple[str, ...] = ("-m", CLAUDE, "-b", "tides")) -> Ran:
    return program("chat", *options, stdin="".join(f"{line}\n" for line in lines).encode())


def test_every_piped_line_is_a_question_of_one_thread(weft: Weft, sim: Simulator) -> None:
    ran = talk("one", "", "two", options=("-m", CLAUDE, "-b", "tides", "-s", "Be brief."))

    assert (ran.status, ran.out) == (0, "You said: one\n\nYou said: two\n")
    assert [turn["role"] for turn in weft("ctx", "list", "tides").json] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert len(sim.seen[-1].body["messages"]) == 3


def test_a_question_may_have_many_lines(sim: Simulator) -> None:
    talk("one \\", "two", '"""', "three", "", "four", '"""')

    asked = [entry.body["messages"][-1]["content"][0]["text"] for entry in sim.seen]
    assert asked == ["one \ntwo", "three\n\nfour"]


def test_a_chat_branches_goes_back_and_switches_model(weft: Weft, sim: Simulator) -> None:
    ran = talk("one", "/branch side", f"/model {GEMINI}", "two", "/undo", "/edit one again", "/model", "/help")

    assert ran.status == 0
    assert "from here on this is side" in ran.err
    assert "back to before: two" in ran.err
    assert [entry.provider for entry in sim.seen] == ["anthropic", "gemini", "anthropic"]
    assert [entry["gist"] for entry in weft("log", "side", "--json").json] == [
        "You said: two",
        "two",
        "You said: one",
        "one",
    ]
    assert [entry["gist"] for entry in weft("log", "--json").json] == ["You said: one again", "one again"]
    assert CLAUDE in ran.err


def test_a_chat_goes_on_from_any_turn(weft: Weft) -> None:
    weft("-m", CLAUDE, "-b", "tides", "one")

    talk("two", "/quit", "never asked", options=("-c", "tides"))

    assert [entry["gist"] for entry in weft("log", "tides", "--json").json][:2] == ["You said: two", "two"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/bogus", "/bogus is nothing that can be done here"),
        ("/branch x", "nothing to branch from yet"),
        ("/undo", "there is no question yet"),
        ("/model nosuch/x", "no provider is called 'nosuch'"),
    ],
)
def test_what_cannot_be_done_is_said(line: str, said: str) -> None:
    ran = talk(line)

    assert (ran.status, said in ran.err) == (1, True)


def test_a_branch_needs_a_name() -> None:
    assert "a branch needs a name" in talk("one", "/branch").err


def test_a_refusal_is_said_and_status_4() -> None:
    ran = talk("[[error 401]]", "never asked")

    assert (ran.status, "does not accept the key" in ran.err) == (4, True)


def test_an_edit_without_a_text_and_a_terminal_changes_nothing() -> None:
    assert "nothing was changed" in talk("one", "/edit").err


def test_in_a_terminal_a_refusal_is_not_the_end(tmp_path: Path) -> None:
    """The prompt comes back after an error; the history is for its owner's eyes alone."""
    home = tmp_path / "chat-home"
    typed = [("> ", "[[error 401]]"), ("does not accept", "two"), ("You said: two", "/quit")]

    status, shown = in_terminal("chat", "-m", CLAUDE, typed=typed, env={"WEFT_HOME": str(home)})

    assert (status, "You said: two" in shown) == (0, True)
    assert (home / "chat_history").stat().st_mode & 0o777 == 0o600
    assert "two" in (home / "chat_history").read_text()


def test_in_a_terminal_ctrl_d_leaves(tmp_path: Path) -> None:
    status, _ = in_terminal("chat", "-m", CLAUDE, typed=[("> ", "\x04")], env={"WEFT_HOME": str(tmp_path / "h")})

    assert status == 0


def test_the_last_question_is_edited_in_an_editor(tmp_path: Path, weft: Weft) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "edited" > "$1"\n')
    editor.chmod(0o755)
    typed = [("> ", "one"), ("You said: one", "/edit"), ("You said: edited", "/quit")]

    status, _ = in_terminal("chat", "-m", CLAUDE, typed=typed, env={"EDITOR": str(editor), "VISUAL": str(editor)})

    assert status == 0
    assert [entry["gist"] for entry in weft("log", "--json").json] == ["You said: edited", "edited"]


def test_ctrl_c_stops_the_answer_and_not_the_chat(weft: Weft) -> None:
    """What arrived is kept, and the next question goes on from it."""
    running = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "chat", "-m", CLAUDE, "-b", "tides"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
        bufsize=0,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"[[slow 20ms]][[long 2000]] Tell me.\n")
    running.stdin.flush()
    assert running.stdout.read(3) == b"The"
    running.send_signal(signal.SIGINT)
    out, said = running.communicate(b"two\n", timeout=20)

    assert (running.returncode, b"stopped; what arrived is kept" in said) == (0, True)
    assert out.endswith(b"You said: two\n")
    assert len(weft("ctx", "list", "tides").json) == 4
