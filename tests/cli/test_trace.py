"""Recordings on the command line: import, trace, tail, replay, serve-replay; and going on with a captured request."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import agent_trace, as_lines, claude_record, openai_record
from tests.support.asking import CLAUDE, GEMINI, GPT
from tests.support.cli import Weft, in_terminal, program
from weft.sim import Simulator
from weft.trace import keep_lines

USER: dict[str, Any] = {"role": "user", "content": "How deep?"}
TOOL = {"name": "depth", "description": "How deep it is", "input_schema": {"type": "object", "properties": {}}}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A trace: two turns of a conversation, a second answer to the first, and a call that failed."""
    later = [USER, {"role": "assistant", "content": "Six."}, {"role": "user", "content": "And there?"}]
    settings = {"tools": [TOOL], "temperature": 0.5, "system": "You are a sailor."}
    records = [
        {**claude_record(1, [USER], [{"type": "text", "text": "Six."}], request=settings), "id": "aaaa1111-1"},
        {**claude_record(2, later, [{"type": "text", "text": "Nine."}], request=settings), "id": "bbbb2222-2"},
        {
            **claude_record(3, [*later[:2], {"role": "user", "content": "Why?"}], [], request=settings),
            "id": "cccc3333-3",
        },
        {
            **openai_record(4, [{"role": "user", "content": "Title?"}], ""),
            "id": "dddd4444-4",
            "response": None,
            "error": "timed out",
        },
    ]
    records[2]["response"]["content"] = [{"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}}]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in as_lines(records)))
    return path


# -- import ------------------------------------------------------------------------------------------------------------


def test_a_trace_is_imported_and_kept_as_a_session(weft: Weft, recorded: Path) -> None:
    """Requirement: every captured request becomes turns, and importing twice adds nothing."""
    first = weft("import", str(recorded), "--json").json
    again = weft("import", str(recorded), "--json").json

    assert [request["id"] for request in first["requests"]] == ["aaaa1111-1", "bbbb2222-2", "cccc3333-3", "dddd4444-4"]
    assert (again["new_turns"], again["session"]) == (0, None)
    sessions = weft("trace", "sessions", "--json").json
    assert [(one["id"], one["requests"], one["kind"]) for one in sessions] == [(first["session"], 4, "import")]
    assert weft("import", "--session", first["session"][:10], "--json").json["new_turns"] == 0
    assert "4 requests in 1 session" in weft("stats").out
    assert weft("fsck").status == 0


def test_bad_lines_are_told_and_the_rest_is_imported(weft: Weft, recorded: Path) -> None:
    """J-08: each with its number; the exit status says that it is not all."""
    lines = recorded.read_bytes().splitlines()
    recorded.write_bytes(b"\n".join([lines[0], b'{"torn', b'{"x":1}', *lines[1:], lines[0][:40]]))

    ran = weft("import", str(recorded), ok=False)

    assert ran.status == 3
    assert re.findall(r"(?m)^line (\d+)", ran.err) == ["2", "3", "7"]
    assert ran.out.startswith("4 requests, ")


def test_a_file_that_is_no_trace_is_told_of_in_a_few_lines(weft: Weft, tmp_path: Path) -> None:
    """C-04: the first lines that cannot be read, and how many more there are."""
    path = tmp_path / "noise.jsonl"
    path.write_bytes(b"\xff noise\n" * 500)

    ran = weft("trace", "ls", str(path))

    assert len(ran.err.splitlines()) == 12
    assert "490 more lines" in ran.err


def test_recorded_requests_can_be_searched(weft: Weft, recorded: Path) -> None:
    weft("import", str(recorded))

    assert weft("search", "--recorded", "sailor", "--json").json[-1]["id"] == "aaaa1111-1"
    assert weft("search", "--recorded", "nine").lines[0].startswith("bbbb2222-2")
    assert "nothing found" in weft("search", "--recorded", "kraken").err
    assert weft("search", "--recorded", ok=False).status == 2
    assert weft("search", "--recorded", "--role", "user", "x", ok=False).status == 2


# -- going on with a captured request ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("sim")
def test_a_captured_request_goes_on_with_any_provider(weft: Weft, recorded: Path, sim: Simulator) -> None:
    """Requirement: weft ask -c REQUEST -p kilo "try again, but …"; tools, system and settings go along."""
    weft("import", str(recorded))

    same = weft("ask", "-c", "bbbb2222", "try again")
    others = [weft("ask", "-c", "bbbb2222-2", "-m", model, "try again") for model in (GPT, GEMINI)]

    assert [ran.out for ran in (same, *others)] == ["You said: try again\n"] * 3
    claude, gpt, gemini = [seen.body for seen in sim.seen]
    assert claude["system"] == "You are a sailor."
    assert claude["messages"] == [
        USER,
        {"role": "assistant", "content": "Six."},
        {"role": "user", "content": "And there?"},
        {"role": "assistant", "content": "Nine."},
        {"role": "user", "content": "try again"},
    ]
    assert (claude["model"], claude["temperature"], claude["tools"]) == ("claude-sonnet-4-6", 0.5, [TOOL])
    assert gpt["model"] == GPT.partition("/")[2]
    assert gpt["tools"][0]["function"]["name"] == "depth"
    assert gemini["tools"][0]["functionDeclarations"][0]["name"] == "depth"


@pytest.mark.usefixtures("sim")
def test_calls_without_a_result_are_mended_and_foreign_tools_are_not_run(weft: Weft, recorded: Path) -> None:
    """An agent's run may stop at a tool call; its tools are not here, so the answer is the end of it."""
    weft("import", str(recorded))

    dry = weft("ask", "-c", "cccc3333", "--dry-run", "go on").json
    ran = weft("ask", "-c", "cccc3333", '[[tool depth {"pier": 4}]]')

    assert dry["body"]["messages"][-2]["content"][0]["type"] == "tool_result"
    assert any("has no result" in warning for warning in dry["warnings"])
    assert "tools of the captured program" in ran.err


@pytest.mark.usefixtures("sim")
def test_what_cannot_be_carried_is_said(weft: Weft, tmp_path: Path) -> None:
    """X-32: a setting another provider has no word for is left out and told."""
    record = claude_record(
        1, [USER], [{"type": "text", "text": "Six."}], request={"top_k": 5, "metadata": {"user_id": "u"}}
    )
    (tmp_path / "t.jsonl").write_bytes(as_lines([record])[0])
    weft("import", str(tmp_path / "t.jsonl"))

    ran = weft("ask", "-c", "c1", "-m", GPT, "again")

    assert "left out: " in ran.err
    assert "top_k" in ran.err


# -- trace -------------------------------------------------------------------------------------------------------------


def test_requests_are_listed_as_a_tree(weft: Weft, recorded: Path) -> None:
    listed = weft("trace", "ls", str(recorded), "--json").json
    drawn = weft("trace", "ls", str(recorded))
    plain = weft("trace", "ls", str(recorded), "--no-graph", "-n", "2")

    assert [(one["id"], one["parent_id"]) for one in listed] == [
        ("aaaa1111-1", None),
        ("bbbb2222-2", "aaaa1111-1"),
        ("cccc3333-3", "aaaa1111-1"),
        ("dddd4444-4", None),
    ]
    assert listed[1]["input_tokens"] == 210
    assert (listed[1]["cost"] or 0) > 0
    assert ["dddd44" in drawn.lines[0], "timed out" in drawn.lines[0]] == [True, True]
    assert "├─╯" in drawn.out
    assert [mark for line in drawn.lines for mark in line if mark in "○●"] == ["○", "●", "●", "○"]
    assert len(plain.lines) == 2
    assert "2 older requests" in plain.err


def test_requests_of_one_id_are_listed_each_by_itself(weft: Weft, tmp_path: Path) -> None:
    """G-11: ids in records are anybody's text, and may be there twice; a parent is the latest one before."""
    said = [USER]
    records = []
    for number in range(3):
        records.append({**openai_record(number, list(said), f"{number} m"), "id": "same"})
        said += [{"role": "assistant", "content": f"{number} m"}, {"role": "user", "content": f"And at pier {number}?"}]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in as_lines(records)))

    drawn = weft("trace", "ls", str(path))

    assert [line.rpartition("  ")[2] for line in drawn.lines] == ["And at pier 1?", "And at pier 0?", "How deep?"]
    assert [line[0] for line in drawn.lines] == ["●", "●", "○"]
    assert weft("trace", "ls", str(path), "--json").json[0]["gist"] == "How deep?"


def test_one_request_is_shown_with_what_is_new_in_it(weft: Weft, recorded: Path) -> None:
    shown = weft("trace", "show", "bbbb", "-f", str(recorded))
    whole = weft("trace", "show", "bbbb", "-f", str(recorded), "--all")
    record = weft("trace", "show", "bbbb", "-f", str(recorded), "--json").json
    raw = weft("trace", "show", "bbbb", "-f", str(recorded), "--raw")

    assert "And there?" in shown.out
    assert "How deep?" not in shown.out
    assert "2 messages as in aaaa1111-1" not in whole.out
    assert "How deep?" in whole.out
    assert [message["content"] for message in record["response_messages"]] == ["Nine."]
    assert raw.json == json.loads(recorded.read_bytes().splitlines()[1])
    failed = weft("trace", "show", "dddd", "-f", str(recorded))
    assert re.search(r"error +timed out", failed.out)


def test_requests_are_compared(weft: Weft, recorded: Path) -> None:
    """C-51: with its parent, or any two."""
    own = weft("trace", "diff", "bbbb", "-f", str(recorded), "--json").json
    two = weft("trace", "diff", "bbbb", "cccc", "-f", str(recorded))
    first = weft("trace", "diff", "aaaa", "-f", str(recorded), "--json").json
    models = weft("trace", "diff", "aaaa", "dddd", "-f", str(recorded))

    assert (own["old"], own["added"], own["deleted"], own["unchanged"]) == ("aaaa1111-1", 1, 0, 3)
    assert [line for line in two.lines if line.startswith(("+ user", "- user"))] == [
        "- user        And there?",
        "+ user        Why?",
    ]
    assert (first["old"], first["unchanged"]) == (None, 0)
    assert "model: claude-sonnet-4-6 → gpt-5" in models.out
    assert "- tool depth" in models.out


def test_a_recording_is_summed_up(weft: Weft, recorded: Path) -> None:
    summed = weft("trace", "stats", str(recorded), "--json").json
    shown = weft("trace", "stats", str(recorded))

    assert (summed["requests"], summed["errors"], summed["conversations"], summed["unpriced"]) == (4, 1, 2, 1)
    assert summed["models"]["claude-sonnet-4-6"]["requests"] == 3
    assert shown.lines[0].split() == ["model", "requests", "errors", "in", "cached", "out", "cost", "time"]
    assert "1 request without a known price" in shown.err


def test_why_a_request_was_not_read_from_the_cache(weft: Weft, tmp_path: Path) -> None:
    """Requirement: the first difference, the tokens sent again, and the money."""
    system = "You are a sailor. It is 08:0{}. " + "Keep a log. " * 200
    records = []
    for n in (1, 2):
        messages = [USER] if n == 1 else [USER, {"role": "assistant", "content": "Six."}, USER]
        record = claude_record(n, messages, [{"type": "text", "text": "Six."}], request={"system": system.format(n)})
        usage = {
            "input_tokens": 5,
            "output_tokens": 5,
            "cache_creation_input_tokens": 100_000,
            "cache_read_input_tokens": 0,
        }
        records.append({**record, "response": {**record["response"], "usage": usage}})
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(as_lines(records)))

    # The system text differs, so the requests share too little to be parent and child by the rule of the forest.
    found = weft("trace", "cache-miss", "c2", "-f", str(tmp_path / "t.jsonl"), "--json").json
    shown = weft("trace", "cache-miss", "c2", "-f", str(tmp_path / "t.jsonl"))

    assert (found["parent_id"], found["place"], found["lost"]) == ("c1", "system 0", 100_005)
    assert "08:01" in found["before"]
    assert "08:02" in found["after"]
    assert found["cost_lost"] == pytest.approx(100_000 * (3.75 - 0.3) / 1e6, rel=0.01)
    assert "first difference: system 0" in shown.out
    assert "100,005 tokens sent again, $0.345" in shown.out
    root = weft("trace", "cache-miss", "c1", "-f", str(tmp_path / "t.jsonl"))
    assert "continues no earlier request" in root.out


def test_sessions_of_the_store_are_looked_into_and_removed(weft: Weft, recorded: Path) -> None:
    session = weft("import", str(recorded), "--json").json["session"]

    assert len(weft("trace", "ls", "--json").json) == len(weft("trace", "ls", session[:12], "--json").json) == 4
    assert weft("trace", "show", "aaaa1111", "--json").json["id"] == "aaaa1111-1"
    assert session in weft("trace", "sessions").out
    assert "4 requests removed" in weft("trace", "rm", session[:12], "-y").err
    assert "nothing is recorded" in weft("trace", "sessions").err
    assert weft("log", "aaaa1111-1", "--json").json[0]["gist"] == "Six."


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        (["trace", "show", "nothing"], 5, "no recorded request is called 'nothing'"),
        (["trace", "ls"], 5, "nothing is recorded in this store"),
        (["trace", "ls", "missing.jsonl"], 1, "no such file"),
        (["trace", "stats", "nosuchsession"], 5, "nothing is recorded"),
        (["tail", "nosuchsession", "--no-follow"], 5, "nothing is recorded"),
        (["tail", "/nowhere/t.jsonl"], 2, "there is no folder"),
        (["tail", "./nothing-here.jsonl", "--no-follow"], 1, "no such file: ./nothing-here.jsonl"),
        (["replay", "nothing"], 5, "no recorded request"),
        (["serve-replay", "missing.jsonl"], 1, "no such file"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(weft: Weft, line: list[str], status: int, said: str) -> None:
    ran = weft(*line, ok=False)

    assert (ran.status, said in ran.err) == (status, True)


# -- tail --------------------------------------------------------------------------------------------------------------


def test_tail_shows_the_last_requests(weft: Weft, recorded: Path) -> None:
    weft("import", str(recorded))

    lines = weft("tail", "--no-follow", "-n", "2").lines
    records = [json.loads(line) for line in weft("tail", str(recorded), "--no-follow", "--json").lines]

    assert [line.split()[0] for line in lines] == ["cccc3333", "dddd4444"]
    assert [record["id"] for record in records] == ["aaaa1111-1", "bbbb2222-2", "cccc3333-3", "dddd4444-4"]


@pytest.mark.parametrize("kind", ["file", "store"])
def test_tail_follows_what_another_process_writes_until_ctrl_c(tmp_path: Path, kind: str) -> None:
    """Requirement: one line a request as it ends, while another process writes; ctrl-c ends it cleanly."""
    lines = as_lines(agent_trace(4))
    path, home = tmp_path / "t.jsonl", tmp_path / "home"
    source = [str(path)] if kind == "file" else []
    command = [sys.executable, "-m", "weft.cli", "tail", *source, "--json"]
    env = {**os.environ, "WEFT_HOME": str(home)}
    running = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    heard: list[bytes] = []
    listening = threading.Thread(target=lambda: heard.extend(iter(running.stdout.readline, b"")))  # type: ignore[union-attr]
    listening.start()

    import weft as library

    with library.open_store(home) as store:
        for line in lines:
            if kind == "file":
                with path.open("ab") as file:
                    file.write(line + b"\n")
            else:
                keep_lines(store.frames, [line], {"kind": "proxy"})
            time.sleep(0.1)
    deadline = time.monotonic() + 30
    while len(heard) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    status = running.wait(10)
    listening.join()

    assert [json.loads(line)["id"] for line in heard] == ["c0", "c1", "c2", "c3"]
    assert (status, running.stderr.read() if running.stderr else b"") == (0, b"")
    for pipe in (running.stdout, running.stderr):
        if pipe is not None:
            pipe.close()


def test_tail_shows_what_is_under_way_on_a_terminal(tmp_path: Path) -> None:
    """Requirement: a stream is seen while it comes; its line is there when it ends."""
    from weft.trace import Meta, Recorder, masker_for, open_sink

    path = tmp_path / "t.jsonl"
    path.write_bytes(b"no record\n")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "weft.cli", "tail", str(path)]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "WEFT_HOME": str(tmp_path / "home")}
    running = subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""

    def wait_for(text: bytes) -> None:
        nonlocal shown
        deadline = time.monotonic() + 60
        while text not in shown and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.2)[0]:
                shown += os.read(ours, 65536)
        assert text in shown

    recorder = Recorder(open_sink(str(path)), tick_seconds=0.05)
    try:
        wait_for(b"a line is no record")
        capture = recorder.begin(Meta(id="k1", request_type="application/json", path="/v1/messages"), masker_for(()))
        capture.request_data(b'{"model":"claude-sonnet-4-6","max_tokens":1,"stream":true,"messages":[]}')
        capture.response_head(200, "text/event-stream", "")
        capture.response_data(b'data: {"type":"ping"}\n\n')
        wait_for("… claude-sonnet-4-6 under way".encode())
        capture.end()
        recorder.flush()
        wait_for(b"k1  ")
    finally:
        recorder.close()
        running.send_signal(signal.SIGINT)
        status = running.wait(20)
        os.close(ours)

    assert status == 0


# -- replay ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sim")
def test_a_captured_request_is_sent_again(weft: Weft, recorded: Path, sim: Simulator) -> None:
    """Requirement: to the same or other models; nothing is stored unless asked."""
    before = weft("stats", "--json").json["turns"]

    ran = weft("replay", "bbbb", "-f", str(recorded), "-m", CLAUDE, "-m", GPT, "--json").json
    own = weft("replay", "aaaa", "-f", str(recorded))

    answers = ran["answers"]
    assert [answer["model"] for answer in answers] == ["recorded: claude-sonnet-4-6", CLAUDE, GPT]
    assert [answer["text"] for answer in answers] == ["Nine.", "You said: And there?", "You said: And there?"]
    bodies = [seen.body for seen in sim.seen]
    claude = next(body for body in bodies if "system" in body)
    assert claude == {**json.loads(recorded.read_bytes().splitlines()[1])["request"], "model": CLAUDE.partition("/")[2]}
    assert own.out.splitlines()[-1] == "You said: How deep?"
    assert weft("stats", "--json").json["turns"] == before


@pytest.mark.usefixtures("sim")
def test_answers_are_kept_as_branches_when_asked(weft: Weft, recorded: Path) -> None:
    weft("import", str(recorded))

    ran = weft("replay", "bbbb2222", "-m", GPT, "--keep", "--no-original", "--json").json

    kept = weft("log", ran["answers"][0]["turn_id"], "--json").json
    assert [entry["gist"] for entry in kept[:2]] == ["You said: And there?", "And there?"]
    assert weft("log", "bbbb2222-2", "--json").json[1]["id"] == kept[1]["id"]
    assert weft("ask", "-c", ran["answers"][0]["turn_id"], "more").out == "You said: more\n"


def test_a_refusal_is_an_answer_too(weft: Weft, recorded: Path) -> None:
    ran = weft("replay", "aaaa", "-f", str(recorded), "-m", "ollama/none", ok=False)

    assert ran.status == 4
    assert "ollama" in ran.out


@pytest.mark.usefixtures("sim")
def test_answers_stand_beside_each_other_on_a_terminal(recorded: Path, tmp_path: Path) -> None:
    env = {"WEFT_HOME": str(tmp_path / "home")}

    status, shown = in_terminal("replay", "bbbb", "-f", str(recorded), "-m", GPT, env=env, columns=100)

    assert status == 0, shown
    assert re.search(r"recorded: claude-sonnet-4-6 +│ openai/gpt-5.2", shown)
    assert re.search(r"Nine\. +│ You said: And there\?", shown)


def test_a_program_is_run_against_a_recording(recorded: Path, tmp_path: Path) -> None:
    """Requirement: an offline test needs no provider; its exit status is given."""
    script = tmp_path / "ask.py"
    script.write_text(
        "import os, httpx2\n"
        "body = {'model': 'claude-sonnet-4-6', 'max_tokens': 1000, 'temperature': 0.5, 'system': 'You are a sailor.',\n"
        "        'messages': [{'role': 'user', 'content': 'How deep?'}]}\n"
        "answer = httpx2.post(os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages', json=body)\n"
        "print(answer.json()['content'][0]['text'])\n"
        "raise SystemExit(7)\n"
    )

    ran = program("serve-replay", str(recorded), "--port", "0", "-q", "--", sys.executable, str(script))

    assert (ran.status, ran.out) == (7, "Six.\n")
