"""What goes wrong on the way: one clear line, an exit status, and the question kept in the thread."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import CLAUDE, GEMINI, GPT
from tests.support.cli import Weft
from tests.support.sim import running_simulator
from tests.support.stores import store_url
from weft.sim import Simulator

__all__ = ["store_url"]

pytestmark = pytest.mark.usefixtures("sim")

FAST = "retry-after=0s"


def kept(weft: Weft) -> list[str]:
    return [entry["gist"] for entry in weft("log", "--all", "--json").json]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "does not take the request (400)"),
        (401, "does not accept the key (401)"),
        (404, "has nothing at"),
        (429, "says it is too much (429)"),
        (500, "failed on its side (500)"),
        (529, "is overloaded (529)"),
    ],
)
def test_a_refusal_is_one_clear_message_and_status_4(weft: Weft, status: int, said: str) -> None:
    ran = weft("-m", CLAUDE, f"[[error {status} {FAST}]] Hm?", ok=False)

    assert (ran.status, ran.out) == (4, "")
    last = ran.err.partition("weft: ")[2]
    assert last.startswith("anthropic: ")
    assert said in last
    assert "Traceback" not in ran.err
    assert kept(weft) == [f"[[error {status} {FAST}]] Hm?"]
    again = last.partition("ask again: weft call ")[2].strip()
    assert weft("show", again, "--json").json["role"] == "user"


def test_what_passes_is_tried_again_and_said(weft: Weft) -> None:
    ran = weft("-m", CLAUDE, "[[error 529 times=1 retry-after=0s]] Hm?")

    assert ran.out == "You said: Hm?\n"
    assert "trying again" in ran.err


def test_an_unknown_pointer_is_named_with_those_near_it(weft: Weft) -> None:
    weft("alias", "set", "kilo", GPT)

    ran = weft("-p", "kilu", "Hm?", ok=False)

    assert ran.status == 1
    assert ran.err.startswith("weft: no pointer is called 'kilu'\n  near it: kilo\n")
    assert kept(weft) == ["Hm?"]


def test_an_unknown_provider_is_named(weft: Weft) -> None:
    assert "no provider is called 'antropic'" in weft("-m", "antropic/x", "Hm?", ok=False).err


def test_nobody_named_says_how_to_name_someone(weft: Weft) -> None:
    ran = weft("Hm?", ok=False)

    assert (ran.status, "-m provider/model" in ran.err) == (1, True)
    assert kept(weft) == ["Hm?"]


def test_a_missing_key_says_where_it_was_looked_for(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name)

    ran = weft("-m", CLAUDE, "Hm?", ok=False)

    assert ran.status == 1
    assert ran.err.startswith("weft: no key for anthropic\n  looked in: ANTHROPIC_API_KEY")
    assert kept(weft) == ["Hm?"]


def test_a_refused_connection_is_said(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{place.getsockname()[1]}")

        ran = weft("-m", CLAUDE, "Hm?", ok=False)

    assert ran.status == 4
    assert "weft: anthropic: nothing listens at 127.0.0.1:" in ran.err


def test_an_unknown_thread_is_status_5_and_stores_nothing(weft: Weft) -> None:
    ran = weft("-c", "nosuch", "-m", CLAUDE, "Hm?", ok=False)

    assert (ran.status, ran.err.startswith('weft: no bookmark or turn called "nosuch"')) == (5, True)
    assert weft("call", "nosuch", ok=False).status == 5
    assert kept(weft) == []


def test_a_cut_stream_keeps_what_came_and_says_how_to_go_on(weft: Weft) -> None:
    ran = weft("-m", CLAUDE, "[[long 100]][[cut 10]] Tell me.", ok=False)

    assert ran.status == 4
    assert ran.out.startswith("The tide")
    assert "broke" in ran.err
    turn = ran.err.partition("weft ask -c ")[2].partition(" ")[0]
    shown = weft("show", turn)
    assert "unfinished    true" in shown.out
    assert weft("-c", turn, "Go on.").out == "You said: Go on.\n"


def test_a_stream_that_fails_midway_says_whose_it_is(weft: Weft) -> None:
    """Issue 5: what happened and where, also when something had come already."""
    ran = weft("-m", GPT, "[[error 500 after=6]] one two three four five", ok=False)

    assert (ran.status, ran.out) == (4, "You said: one two three\n")
    assert ran.err.startswith("weft: openai: The server had an error")


@pytest.mark.parametrize(
    ("model", "asked", "out", "err"),
    [
        (GEMINI, "[[refuse]] Hm?", "", "the provider's filter let no answer through\n"),
        (GEMINI, "[[say ]] Hm?", "", "the answer is empty\n"),
        (GPT, "[[say ]] Hm?", "", "the answer is empty\n"),
        (GPT, "[[finish content_filter]] Hm?", "You said: Hm?\n", "the provider's filter ended the answer here\n"),
        (GPT, "[[refuse]] Hm?", "", "refusal: I can't help with that.\n"),
        (CLAUDE, "[[think Hm.]] [[say ]] Hm?", "", "thinking: Hm.\nthe answer is empty\n"),
    ],
)
def test_an_answer_that_says_nothing_is_not_passed_over(weft: Weft, model: str, asked: str, out: str, err: str) -> None:
    """T-58, threads.md 10: a refusal or nothing at all is an answer, and whoever asked is told so."""
    ran = weft("-m", model, asked)

    assert (ran.status, ran.out) == (0, out)
    assert ran.err.replace("\n\n", "\n").lstrip() == err
    assert weft("-q", "-m", model, asked).err == ""


def test_m15_the_limit_of_the_tool_loop_is_status_1(
    weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    weft("mcp", "register", "harbour", "--no-start", "--", sys.executable, "-m", "weft.cli.demo_tools")
    call = '[[tool harbour___depth {"pier": 1}]]'

    ran = weft("-q", "-m", CLAUDE, "--servers", "harbour", "--yolo", f"{'[[then]]'.join([call] * 12)} Hm?", ok=False)

    assert (ran.status, "10 rounds of tools are the limit" in ran.err) == (1, True)


def test_k01_no_key_is_in_any_output_or_file(weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K-01, K-11: with debugging on, in errors, in the dry run, and in every file of the data folder."""
    canary = "sk-canary-6f1b2c3d4e5f"
    with running_simulator({"keys": [canary]}) as strict:
        for name, value in strict.environment().items():
            monkeypatch.setenv(name, value)
        ran = [
            weft("--debug", "-m", CLAUDE, "Hm?"),
            weft("--debug", "-m", CLAUDE, "[[error 401]]", ok=False),
            weft("-m", CLAUDE, "--dry-run", "Hm?"),
        ]
        monkeypatch.setenv("ANTHROPIC_API_KEY", f"{canary}-wrong")
        ran.append(weft("--debug", "-m", CLAUDE, "Hm?", ok=False))

    assert canary not in "".join(one.out + one.err for one in ran)
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if canary.encode() in path.read_bytes()] == []


# -- stopped in the middle --------------------------------------------------------------------------------------


def begin(home: Path, prompt: str) -> subprocess.Popen[bytes]:
    """Start a question as a program of its own and wait until its answer comes in."""
    command = [sys.executable, "-m", "weft.cli", "-m", CLAUDE, "-b", "tides", prompt]
    environ = {**os.environ, "WEFT_HOME": str(home)}
    running = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        start_new_session=True,
        bufsize=0,  # what is read here must not be more than is asked for
    )
    assert running.stdout is not None
    assert running.stdout.read(3) == b"The"
    return running


SLOW = "[[slow 20ms]][[long 2000]] Tell me."


@pytest.mark.parametrize(("signal_", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "kill"])
def test_d05_a_stopped_question_keeps_what_arrived(
    weft: Weft, tmp_path: Path, signal_: signal.Signals, status: int
) -> None:
    """D-05: exit within 2 s, status 130 or 143, the answer so far an unfinished turn that can be continued."""
    running = begin(tmp_path / "home", SLOW)
    stopped = time.monotonic()
    running.send_signal(signal_)
    rest, said = running.communicate(timeout=20)

    assert time.monotonic() - stopped < 2
    assert (running.returncode, b"Traceback" in said) == (status, False)
    assert b"what arrived is kept" in said
    turn = weft("ctx", "list", "tides").json[-1]
    assert turn["role"] == "assistant"
    assert turn["content"][0]["text"] == (b"The" + rest).decode().removesuffix("\n")
    assert weft("fsck").status == 0
    assert weft("-c", "tides", "Go on.").out == "You said: Go on.\n"


def test_d05_a_killed_question_is_taken_up_by_the_next(
    weft: Weft, tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9: nobody can write any more; what was in the log becomes the unfinished turn when someone next asks."""
    monkeypatch.setenv("WEFT_STORE", store_url)
    running = begin(tmp_path / "home", SLOW)
    time.sleep(0.4)
    alive = weft("-m", CLAUDE, "And you?")
    running.kill()
    running.communicate(timeout=20)

    assert "cut off" not in alive.err  # the call was under way still, and is left alone
    assert weft("fsck").status == 0
    assert [turn["role"] for turn in weft("ctx", "list", "tides").json] == ["user"]
    ran = weft("-c", "tides", "Go on.")

    assert "an answer that was cut off when the program was killed is kept" in ran.err
    turns = weft("ctx", "list", "tides").json
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "assistant"]
    assert turns[1]["content"][0]["text"].startswith("The tide comes in")
    assert weft("show", turns[1]["id"], "--json").json["meta"]["message"] | {"role": "", "stop_reason": ""} == {
        "role": "",
        "stop_reason": "",
        "provider": "anthropic",
        "model": "claude-sonnet-4-6",
    }
    assert "cut off" not in weft("-c", "tides", "And now?").err


def test_a_question_stopped_before_a_word_came_is_kept(weft: Weft, tmp_path: Path, sim: Simulator) -> None:
    command = [sys.executable, "-m", "weft.cli", "-m", CLAUDE, "[[stall 0]] Hm?"]
    environ: dict[str, Any] = {**os.environ, "WEFT_HOME": str(tmp_path / "home")}
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ)
    deadline = time.monotonic() + 20
    while not sim.seen and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=20)

    assert (running.returncode, b"Traceback" in said) == (143, False)
    assert kept(weft) == ["[[stall 0]] Hm?"]
