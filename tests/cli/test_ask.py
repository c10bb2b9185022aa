"""`weft ask`, `weft "prompt"` and `weft call`, over the real simulator."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.asking import CLAUDE, GEMINI, GPT
from tests.support.cli import Weft, in_terminal, program
from weft.sim import Simulator

pytestmark = pytest.mark.usefixtures("sim")


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(weft: Weft) -> None:
    ran = weft("ask", "-m", CLAUDE, "[[think Hm.]] How deep?")

    assert (ran.out, ran.err) == ("You said: How deep?\n", "thinking: Hm.\n")


@pytest.mark.parametrize(
    "line",
    [
        ["How deep?", "-m", CLAUDE],
        ["-m", CLAUDE, "How deep?"],
        ["--debug", "-m", CLAUDE, "How", "deep?"],
        ["ask", "-m", CLAUDE, "--", "How deep?"],
    ],
)
def test_what_names_no_command_is_a_question(weft: Weft, line: list[str]) -> None:
    assert weft(*line).out == "You said: How deep?\n"


def test_a_slip_in_a_commands_name_asks_nobody(weft: Weft, sim: Simulator) -> None:
    ran = weft("lgo", ok=False)

    assert ran.status == 2
    assert "No such command 'lgo'" in ran.err
    assert "weft ask" in ran.err
    assert not sim.seen


def test_a_thread_is_gone_on_with_branched_and_moved(weft: Weft) -> None:
    """-c, -r, -b, -m; the model of a thread is inherited."""
    weft("-m", CLAUDE, "-b", "tides", "one")
    first = weft("log", "tides", "--json").json[0]["id"]
    weft("-c", "tides", "two")
    weft("-r", "-m", GPT, "three")
    weft("-c", first[:14], "-b", "side", "-m", GEMINI, "other")

    texts = [entry["gist"] for entry in reversed(weft("log", "tides", "--json").json)]
    assert texts == ["one", "You said: one", "two", "You said: two", "three", "You said: three"]
    models = [entry["model"] for entry in reversed(weft("log", "tides", "--json").json) if entry["role"] == "assistant"]
    assert models == ["claude-sonnet-4-6", "claude-sonnet-4-6", "gpt-5.2"]
    assert [entry["gist"] for entry in weft("log", "side", "--json").json][:2] == ["You said: other", "other"]


def test_a_pointer_answers(weft: Weft, sim: Simulator) -> None:
    weft("alias", "set", "kilo", GPT)

    weft("-p", "kilo", "Hm?")

    assert sim.seen[-1].body["model"] == "gpt-5.2"


def test_two_threads_may_be_continued_at_once(weft: Weft, sim: Simulator) -> None:
    weft("-m", CLAUDE, "-b", "a", "one")
    weft("-m", CLAUDE, "-b", "b", "two")

    weft("-c", "a", "-c", "b", "three")

    said = [message["content"][0]["text"] for message in sim.seen[-1].body["messages"]]
    assert said == ["one", "You said: one", "two", "You said: two", "three"]


def test_what_is_piped_in_comes_before_the_prompt(sim: Simulator) -> None:
    ran = program("-m", CLAUDE, "What is it?", stdin=b"# Tides\n")

    assert ran.status == 0
    assert sim.seen[-1].body["messages"][0]["content"] == [{"type": "text", "text": "# Tides\nWhat is it?"}]


def test_the_prompt_may_be_piped_in_alone() -> None:
    assert program("ask", "-m", CLAUDE, stdin=b"Hm?\n").out == "You said: Hm?\n"
    assert program(stdin=b"Hm?\n", env={"WEFT_MODEL": CLAUDE}).out == "You said: Hm?\n"


def test_at_a_terminal_the_prompt_is_asked_for() -> None:
    status, shown = in_terminal("ask", "-m", CLAUDE, typed=[("ask:", "Hm?")])

    assert (status, "You said: Hm?" in shown) == (0, True)


def test_nothing_to_ask_is_said(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))

    ran = weft("ask", "-m", CLAUDE, ok=False)

    assert ran.status == 1
    assert ran.err.startswith("weft: there is nothing to ask")


def test_a_system_prompt_stands_before_the_question(weft: Weft, sim: Simulator) -> None:
    weft("-m", CLAUDE, "-s", "Be brief.", "-b", "tides", "Hm?")

    assert sim.seen[-1].body["system"] == "Be brief."
    assert [turn["role"] for turn in weft("ctx", "list", "tides").json] == ["system", "user", "assistant"]


def test_files_go_with_the_question(weft: Weft, sim: Simulator, tmp_path: Path) -> None:
    note, picture = tmp_path / "note.txt", tmp_path / "dot.png"
    note.write_text("6.2 m")
    picture.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"))
    weft("-m", CLAUDE, "-b", "tides", "Hm?")

    weft("-c", "tides", "-a", str(note), "-a", str(picture), "And this?")

    blocks = [block for message in sim.seen[-1].body["messages"] for block in message["content"]]
    assert [block["type"] for block in blocks] == ["text", "text", "text", "image", "text"]
    assert blocks[2]["text"] == "6.2 m"
    assert weft("bookmark", "--json").json[0]["name"] == "tides"


def test_a_file_may_be_piped_in(sim: Simulator) -> None:
    ran = program("-m", CLAUDE, "-a", "-", "What is it?", stdin=b"%PDF-1.7 ...")

    assert (ran.status, ran.out) == (0, "You said: What is it?\n")
    (document, question) = (message["content"][0] for message in sim.seen[-1].body["messages"])
    assert (document["type"], document["source"]["media_type"], question["text"]) == (
        "document",
        "application/pdf",
        "What is it?",
    )


def test_a_file_that_is_not_there_stores_nothing(weft: Weft) -> None:
    ran = weft("-m", CLAUDE, "-a", "nosuch.pdf", "Hm?", ok=False)

    assert (ran.status, "nosuch.pdf" in ran.err) == (1, True)
    assert weft("log", "--all", "--json").json == []


def test_the_answers_turn_as_json(weft: Weft) -> None:
    ran = weft("ask", "-m", CLAUDE, "--json", "Hm?")

    assert ran.json["text"] == "You said: Hm?"
    assert ran.json["meta"]["message"]["provider"] == "anthropic"
    assert ran.json["content"] == [{"type": "text", "text": "You said: Hm?"}]


def test_blocks_may_be_given_as_json(weft: Weft, sim: Simulator) -> None:
    weft("ask", "-m", CLAUDE, "-j", '[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]')

    assert [block["text"] for block in sim.seen[-1].body["messages"][0]["content"]] == ["a", "b"]


def test_quiet_shows_the_answer_alone(weft: Weft) -> None:
    assert weft("-q", "-m", CLAUDE, "[[think Hm.]] How deep?").err == ""


def test_the_answer_may_be_waited_for_whole(weft: Weft, sim: Simulator) -> None:
    assert weft("--no-stream", "-m", CLAUDE, "Hm?").out == "You said: Hm?\n"
    assert "stream" not in sim.seen[-1].body


def test_an_answer_in_a_form(weft: Weft, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"depth": {"type": "number"}}, "required": ["depth"]}')

    ran = weft("-m", GPT, "--schema", str(schema), "How deep?")

    assert set(ran.json) == {"depth"}


@pytest.mark.parametrize(("text", "said"), [("{", "is not JSON"), ("[]", "holds no JSON Schema")])
def test_a_bad_schema_is_said_before_anything_is_stored(weft: Weft, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "schema.json").write_text(text)

    ran = weft("-m", GPT, "--schema", str(tmp_path / "schema.json"), "How deep?", ok=False)

    assert (ran.status, said in ran.err) == (1, True)
    assert weft("log", "--all", "--json").json == []


def test_an_answer_that_is_not_json_although_it_should_be_is_warned_of(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "object"}')

    ran = weft("-m", GPT, "--schema", str(tmp_path / "schema.json"), "[[say No.]] How deep?")

    assert "warning: the answer is not JSON" in ran.err


def test_an_answer_that_ran_out_of_tokens_says_so(weft: Weft) -> None:
    assert "it reached the most tokens" in weft("-m", CLAUDE, "[[finish length]] Hm?").err


# -- without calling --------------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_request_and_what_is_lost_and_calls_nobody(
    weft: Weft, sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    (tmp_path / "note.txt").write_text("6.2 m")
    weft("-m", CLAUDE, "-b", "tides", "[[think Hm.]] How deep?")
    turns, asked = weft("log", "--all", "--json").json, len(sim.seen)
    line = ["-c", "tides", "-m", GPT, "-a", str(tmp_path / "note.txt"), "-s", "Be brief.", "--cache", "And wide?"]

    ran = weft("--dry-run", *line)

    assert ran.json["url"] == f"{sim.url}/v1/chat/completions"
    assert ran.json["excluded"] == [
        {
            "description": "context.messages[1].parts[0]",
            "reason": "thinking of anthropic has no place in chat.completions",
        }
    ]
    assert "sk-canary" not in ran.out + ran.err
    assert (weft("log", "--all", "--json").json, len(sim.seen)) == (turns, asked)
    assert weft("--dry-run", "--strict", *line, ok=False).status == 3

    weft(*line)
    assert sim.seen[-1].body == ran.json["body"]


def test_strict_asks_nobody_if_something_would_be_lost(weft: Weft, sim: Simulator) -> None:
    weft("-m", CLAUDE, "-b", "tides", "[[think Hm.]] How deep?")
    asked = len(sim.seen)

    ran = weft("-c", "tides", "-m", GPT, "--strict", "And wide?", ok=False)

    assert (ran.status, len(sim.seen)) == (3, asked)
    assert "something would be left out" in ran.err


def test_a_turn_can_be_called_again_and_by_another(weft: Weft, sim: Simulator) -> None:
    question = weft("add", "Hm?", "-p", CLAUDE).id

    first, second = weft("call", question[:14]), weft("call", question, "-m", GPT)

    assert first.out == second.out == "You said: Hm?\n"
    assert [entry.provider for entry in sim.seen] == ["anthropic", "openai"]
    assert len(weft("log", "--graph", "--json", question).json) == 3
    assert json.loads(weft("call", question, "--dry-run").out)["provider"] == "anthropic"


def test_call_takes_the_newest_turn(weft: Weft) -> None:
    assert weft("call", ok=False).status == 1
    weft("add", "Hm?", "-p", CLAUDE)

    assert weft("call").out == "You said: Hm?\n"


def test_a_default_model_comes_from_the_environment_or_the_settings(
    weft: Weft, sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(f'model = "{GPT}"\n')
    weft("Hm?")
    monkeypatch.setenv("WEFT_MODEL", CLAUDE)
    weft("Hm?")
    weft("add", "Nobody is named here.", "-b", "open")
    weft("-c", "open", "Hm?")

    assert [entry.provider for entry in sim.seen] == ["openai", "anthropic", "anthropic"]
    monkeypatch.delenv("WEFT_MODEL")
    (tmp_path / "home" / "config.toml").write_text("model = 3\n")
    assert weft("Hm?", ok=False).status == 1


@pytest.mark.parametrize("line", [["-m", "a/b", "-p", "c"], ["--servers", "a", "--no-servers"]])
def test_options_that_contradict_each_other_are_misuse(weft: Weft, line: list[str]) -> None:
    assert weft("ask", *line, "Hm?", ok=False).status == 2


def test_responding_to_nothing_is_said(weft: Weft) -> None:
    assert "nothing to respond to" in weft("-r", "-m", CLAUDE, "Hm?", ok=False).err


# -- tools ------------------------------------------------------------------------------------------------------

DEPTH = '[[tool harbour___depth {"pier": 4}]] How deep?'


@pytest.fixture
def harbour(weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weft("mcp", "register", "harbour", "--no-start", "--", sys.executable, "-m", "weft.cli.demo_tools")


def test_m08_a_long_result_is_kept_whole_and_cut_for_the_model(
    weft: Weft, sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-08: the turn and the model have its beginning and the name of the blob; `weft blob` has all of it."""
    monkeypatch.chdir(tmp_path)
    code = (
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('log')\n"
        "@server.tool()\n"
        "def read() -> str:\n"
        "    'Read all of the log.'\n"
        "    return 'high water\\n' * 60_000\n"
        "server.run('stdio')\n"
    )
    weft("mcp", "register", "log", "--no-start", "--", sys.executable, "-c", code)

    weft("-m", CLAUDE, "--servers", "log", "--yolo", "-b", "tides", "[[tool log___read {}]] Read it.")

    [result] = weft("ctx", "list", "tides").json[2]["content"]
    text = result["content"][0]["text"]
    assert text.startswith("high water\n" * 20_000)
    assert len(text) < 300_000
    blob = text.rpartition("the whole is kept as blob ")[2].removesuffix("]")
    assert "kept as blob" in str(sim.seen[-1].body["messages"][-1])
    weft("blob", blob[:10], "-o", "whole.txt")
    assert Path("whole.txt").read_text() == "high water\n" * 60_000
    assert weft("blob", "0123", ok=False).err == "weft: blob not found: 0123\n"


@pytest.mark.usefixtures("harbour")
def test_m13_tools_do_not_run_unasked(weft: Weft) -> None:
    """M-13, T-65: refused, recorded, exit status 1; approved afterwards, the same answer goes on."""
    ran = weft("-m", CLAUDE, "--servers", "harbour", "-b", "tides", DEPTH, ok=False)

    assert ran.status == 1
    assert "not run, as nobody approved it: harbour___depth" in ran.err
    answer = ran.err.partition("weft call ")[2].partition(";")[0]
    assert "was not run" in weft("log", "tides", "--json").json[0]["gist"]

    assert "6.2 m at pier 4" in weft("call", answer, "--yolo").out


@pytest.mark.usefixtures("harbour")
def test_t62_yolo_comes_from_the_environment_and_is_said(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-62, M-12: said on stderr at every run, whether a tool is called or not."""
    monkeypatch.setenv("WEFT_YOLO", "1")

    plain, called = weft("-m", CLAUDE, "Hm?"), weft("-m", CLAUDE, "--servers", "harbour", DEPTH)

    assert plain.err == "yolo: every tool call runs without being asked about\n"
    assert "6.2 m at pier 4" in called.out
    assert 'tool_use(harbour___depth): {"pier":4}' in called.err


@pytest.mark.usefixtures("harbour")
def test_a_person_is_asked_about_each_call() -> None:
    """Section 11: name and input are shown; the four choices."""
    line = ["-m", CLAUDE, "--servers", "harbour", DEPTH]

    status, shown = in_terminal(*line, typed=[("run it?", "1")])
    assert (status, "6.2 m at pier 4" in shown) == (0, True)
    for choice in ("yes", "no: do something different", "no", "activate: yolo"):
        assert choice in shown

    status, shown = in_terminal(*line, typed=[("run it?", "no")])
    assert (status, "stopped: a tool was not approved" in shown) == (0, True)


# -- terminals, pipes and completion ----------------------------------------------------------------------------

HARMFUL = "red \x1b[31m title \x1b]0;x\x07 c1 \x9b1m bell \x07 back\b cr\r osc \x1b]8;;unended"


def test_c01_control_sequences_never_reach_a_terminal() -> None:
    """C-01: also in thinking, split over chunks, and with --raw."""
    for extra in ([], ["--raw"]):
        _, shown = in_terminal("-m", CLAUDE, *extra, f"[[think {HARMFUL}]] {HARMFUL}", env={"NO_COLOR": "1"})
        assert [character for character in shown if character < " " and character not in "\n\t"] == []
        assert not any("\x7f" <= character <= "\x9f" for character in shown)
        assert "␛[31m" in shown


def test_c01_a_pipe_gets_marks_unless_it_wants_it_raw() -> None:
    """C-01: `--raw` to a pipe is exact: not even the last newline is added."""
    raw = subprocess.run(
        [sys.executable, "-m", "weft.cli", "--raw", "-m", CLAUDE, f"[[say {HARMFUL}]]"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    marked = program("-m", CLAUDE, f"[[say {HARMFUL}]]")

    assert raw.stdout == HARMFUL.encode()
    assert "\x1b" not in marked.out


def test_c02_the_answer_is_kept_when_its_reader_goes_away(weft: Weft) -> None:
    """C-02: no traceback, and the whole answer is in the store."""
    command = f"'{sys.executable}' -m weft.cli -m {CLAUDE} '[[long 3000]] Tell me.' | head -c 10"
    result = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=True, env=dict(os.environ)
    )

    assert (result.stdout, result.stderr) == (b"The tide c", b"")
    turn = weft("ctx", "list").json[-1]
    assert turn["role"] == "assistant"
    assert len(turn["content"][0]["text"]) > 2000
    assert weft("show").out.count("unfinished") == 0


def test_c03_a_poor_locale_is_survived() -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}

    assert program("-m", CLAUDE, "Tiefe: 6 ≈ sechs", env=env).status == 0


@pytest.mark.parametrize(
    ("words", "at", "wanted"),
    [
        ("weft a", 1, "ask"),
        ("weft ask --conti", 2, "--continues"),
        ("weft -m x --conti", 3, "--continues"),
        ("weft why? --dry", 2, "--dry-run"),
        ("weft mcp reg", 2, "register"),
    ],
)
def test_the_shell_completes_commands_and_the_options_of_a_bare_question(words: str, at: int, wanted: str) -> None:
    """Click's own completion, which default groups are known to break."""
    env = {"_WEFT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    program_name = Path(sys.executable).with_name("weft")
    result = subprocess.run([str(program_name)], env={**os.environ, **env}, capture_output=True, text=True, check=False)

    assert f"plain,{wanted}" in result.stdout.splitlines()


@pytest.mark.usefixtures("harbour")
def test_two_answers_of_one_question_stand_apart(weft: Weft) -> None:
    """T-59: a blank line where the block changes."""
    prompt = f"[[say Let me see.]]{DEPTH.partition(' How')[0]}[[then]][[say There.]] Hm?"

    ran = weft("-m", CLAUDE, "--servers", "harbour", "--yolo", prompt)

    assert ran.out == "Let me see.\n\nThere.\n"
