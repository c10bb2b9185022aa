"""`weft convert`, `formats`, `import` and `export`, as a person types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import in_terminal, program

if TYPE_CHECKING:
    from tests.support.cli import Weft

KEY = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 9 + "xyAA"
STF = ";meta\n{title: 'Harbour'}\n;end\n;user name=Ada\nWhen?\n;ai\n06:10\n"
TREE = """\
{"weft":1,"session":{"title":"tree"}}
{"id":"a","message":{"role":"user","parts":[{"type":"text","text":"one"}],"timestamp":"2026-03-01T09:00:00+00:00"}}
{"id":"b","parent_ids":["a"],"message":{"role":"assistant","parts":[{"type":"text","text":"two"}]},"model":"mint-1",\
"usage":{"input_tokens":3,"output_tokens":4}}
{"id":"c","parent_ids":["a"],"message":{"role":"assistant","parts":[{"type":"text","text":"three"}]}}
{"end":{"current":"b","heads":{"alt":"c"}}}"""


@pytest.fixture
def stf(tmp_path: Path) -> str:
    (tmp_path / "h.stf").write_text(STF)
    return str(tmp_path / "h.stf")


@pytest.fixture
def tree(tmp_path: Path) -> str:
    (tmp_path / "t.weft").write_text(TREE)
    return str(tmp_path / "t.weft")


def test_formats_are_guessed_from_content_and_from_the_name_of_the_output(weft: Weft, stf: str, tmp_path: Path) -> None:
    out = tmp_path / "h.json"

    assert weft("convert", stf, "-o", str(out)).err == ""

    assert json.loads(out.read_text())["metadata"] == {"title": "Harbour"}
    assert weft("convert", str(out), "--to", "stf").out == STF.replace("{title: 'Harbour'}", '{"title":"Harbour"}')
    assert out.stat().st_mode & 0o777 == 0o600
    assert weft("convert", stf, "--from", "stf", "--to", "md").out.startswith("# Harbour\n\n## user\n")


def test_a_pipe_is_read_as_a_file_by_its_name(stf: str, tmp_path: Path) -> None:
    """Issue 8, 4: what the shell gives for `<(...)` has a name, but no place to go back to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", stf, str(pipe)]) as filling:  # `cp` waits for its reader
        read = program("convert", str(pipe), "--to", "ndjson")

    assert (read.status, filling.returncode) == (0, 0), read.err
    assert read.out == program("convert", stf, "--to", "ndjson").out


def test_a_recording_is_imported_whole_from_a_pipe(tmp_path: Path) -> None:
    """Issue 8, 4: what was looked at to know the format is a part of what is imported."""
    asked = [{"role": "user", "content": "When? " + "x" * 50_000}]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Six."}], "model": "c"}
    request = {"model": "c", "max_tokens": 9, "messages": asked}
    call = {"timestamp": 1, "duration_ms": 1, "url": "https://api.anthropic.com/v1/messages", "request": request}
    lines = [json.dumps({"id": f"r{n}", **call, "response": {"id": f"m{n}", **answer}}) for n in range(4)]
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with subprocess.Popen(["cp", str(tmp_path / "calls.jsonl"), str(pipe)]):
        taken = program("import", str(pipe), "--store", str(tmp_path / "store"))

    assert taken.status == 0, taken.err
    assert taken.out.startswith("4 requests")


def test_files_come_and_go_through_pipes(stf: str) -> None:
    piped = program("convert", "--to", "ndjson", stdin=Path(stf).read_bytes())

    assert piped.status == 0
    assert json.loads(piped.out.splitlines()[1]) == {"role": "user", "name": "Ada", "content": "When?"}
    assert program("convert", "-", "--to", "toml", stdin=piped.out.encode()).out.startswith("[metadata]\n")


def test_the_report_tells_what_was_kept_changed_and_lost(weft: Weft, tree: str, tmp_path: Path) -> None:
    out = str(tmp_path / "t.json")
    told = weft("convert", tree, "-o", out, "--report")
    assert told.lines[0] == "kept: 2 messages, 1 conversation"
    assert "an entry" in told.out
    assert "entries[2]" in told.out
    report = weft("convert", tree, "-o", out, "--report", "--json").json
    assert (report["from"], report["to"], report["kept"]) == ("weft", "json", {"message": 2, "conversation": 1})
    losses = {loss["what"]: loss["places"] for loss in report["losses"]}
    assert losses["usage"] == ["entries[1].usage"]
    assert losses["timestamp"] == ["entries[0].message.timestamp"]
    assert losses["a bookmark"] == ["heads['alt']"]
    quiet = weft("convert", tree, "--to", "json")
    assert "see: --report" in quiet.err
    assert json.loads(quiet.out)["messages"][1]["content"] == "two"


def test_a_note_tells_what_was_lost_from_what_was_changed_and_json_is_a_report(
    weft: Weft, tree: str, tmp_path: Path
) -> None:
    """Issue 8: most of what is told is said another way, and little of it lost; `--json` needs no `--report`."""
    out = str(tmp_path / "t.md")

    noted = weft("convert", tree, "--to", "stf", "-o", out).err
    report = weft("convert", tree, "--to", "stf", "-o", out, "--json").json

    lost = sum(loss["count"] for loss in report["losses"] if loss["fate"] == "lost")
    assert noted.startswith(f"weft to stf: {lost} lost")
    assert noted.endswith("; see: --report\n")


def test_strict_writes_nothing_and_exits_3(weft: Weft, tree: str, stf: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    out.write_text("before")

    lossy = weft("convert", tree, "-o", str(out), "--strict", ok=False)

    assert (lossy.status, out.read_text()) == (3, "before")
    assert "nothing was written" in lossy.err
    assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith(".")) == []
    to_stdout = weft("convert", tree, "--to", "json", "--strict", ok=False)
    assert (to_stdout.status, to_stdout.out) == (3, "")
    assert weft("convert", stf, "--to", "json", "--strict").out


def test_a_folder_gets_a_file_for_each_conversation(weft: Weft, tree: str, tmp_path: Path) -> None:
    many = tmp_path / "many.weft"
    many.write_text(f"{TREE}\n{TREE}")

    weft("convert", str(many), "-o", f"{tmp_path}/out/", "--to", "json")

    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["tree-2.json", "tree.json"]
    assert "-o folder/" in weft("convert", str(many), "--to", "json", ok=False).err
    assert weft("convert", str(many), "--to", "weft").out.count('{"weft":1') == 2
    assert tree


def test_what_cannot_be_done_is_said(weft: Weft, stf: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    for args, words in (
        ((str(tmp_path / "x.bin"), "--to", "json"), "looks like no format"),
        ((stf,), "say what to write"),
        ((stf, "-o", str(tmp_path / "x.unknown")), "say what to write"),
        ((stf, "--to", "nothing"), "no format is called"),
        ((stf, "--to", "claud-code"), "near it: claude-code"),
        ((stf, "out.md"), f"to write into it: weft convert {stf} -o out.md\n"),
        ((str(tmp_path), "--to", "json"), "is a folder"),
        ((str(tmp_path / "gone"), "--to", "json"), "No such file"),
        ((stf, "-o", str(tmp_path / "gone" / "x.md")), f"directory: {tmp_path / 'gone' / 'x.md'}\n"),
        ((stf, "--from", "json", "--to", "json"), "holds a list or an object"),
    ):
        assert words in weft("convert", *args, ok=False).err
    out = tmp_path / "kept.json"
    out.write_text("before")
    (tmp_path / "torn.ndjson").write_text('{"role":"user","content":"a"}\n{"role":')
    assert "line 2" in weft("convert", str(tmp_path / "torn.ndjson"), "-o", str(out), ok=False).err
    assert out.read_text() == "before"


def test_an_error_in_a_file_names_it_and_what_it_was_taken_for(weft: Weft, tmp_path: Path) -> None:
    """Issue 8: an error with a line or path; of a format that was guessed, the guess may be the error."""
    file = tmp_path / "odd.jsonl"
    file.write_text('{"a":1}\n{"b":2}\n')

    guessed = weft("convert", str(file), "--to", "weft", ok=False).err
    told = weft("convert", str(file), "--from", "ndjson", "--to", "weft", ok=False).err

    assert guessed.startswith("weft: odd.jsonl: line 1.role: missing\n  it was taken for ndjson; if it is something")
    assert told == "weft: odd.jsonl: line 1.role: missing\n"


def test_formats_lists_what_there_is(weft: Weft) -> None:
    assert "markdown" in weft("formats").out
    listed = {each["name"]: each for each in weft("formats", "--json").json}
    assert listed["weft"]["lossless"] is True
    assert listed["stf"]["carries"]["branches"] == "no"
    assert weft("formats", "md", "--json").json["name"] == "markdown"
    assert "several conversations" in weft("formats", "stf").out


def test_a_table_wider_than_the_terminal_goes_on_below_its_last_column(weft: Weft) -> None:
    """Nothing is cut, nothing begins in the first column that is no row, and no line is too long."""
    _, shown = in_terminal("formats", columns=80)
    plain, narrow = weft("formats").lines, shown.splitlines()

    assert max(map(len, narrow)) <= 80
    assert [line.split()[0] for line in narrow if line[0] != " "] == [line.split()[0] for line in plain]
    assert " ".join(shown.split()) == " ".join(" ".join(plain).split())


# -- import ------------------------------------------------------------------------------------------------------------


def test_a_file_is_imported_with_all_its_branches_once(weft: Weft, tree: str) -> None:
    first = weft("import", tree)
    again = weft("import", tree, "--json").json

    assert "3 new turns: tree, tree/alt" in first.out
    assert (again[0]["new_turns"], again[0]["conversations"]) == (0, 1)
    assert weft("log", "--json", "--all").json
    texts = [turn["content"][0]["text"] for turn in weft("ctx", "list", "tree/alt").json]
    assert texts == ["one", "three"]
    assert [turn["content"][0]["text"] for turn in weft("ctx", "list", "tree").json] == ["one", "two"]


def test_of_many_conversations_the_first_names_are_told_and_those_before_a_broken_one_kept(
    weft: Weft, tmp_path: Path
) -> None:
    """An export has thousands: the rest are a number, and nothing that was read is lost."""
    file = tmp_path / "talks.weft"
    talk = '{{"weft":1,"session":{{"title":"talk {n}"}}}}\n{entry}\n{{"end":{{"current":"1"}}}}\n'
    entry = '{{"id":"1","message":{{"role":"user","parts":[{{"type":"text","text":"tide {n}?"}}]}}}}'
    talks = [talk.format(n=n, entry=entry.format(n=n)) for n in range(14)]
    file.write_text("".join(talks) + '{"weft":1}\n{"id":"1","message":7}\n', "utf-8")

    ran = weft("import", str(file), ok=False)

    assert ran.status == 3
    assert "line 44" in ran.err
    assert "14 conversations, 14 new turns: talk 0, " in ran.out
    assert ran.out.rstrip().endswith("talk 9 and 4 more")


def test_what_is_imported_again_is_found_whatever_it_says(weft: Weft, stf: str) -> None:
    """A name is kept beside the content; it does not make of the same turn another one."""
    weft("import", stf)

    assert weft("import", stf, "--json").json[0]["new_turns"] == 0
    assert json.loads(weft("export", "Harbour", "--to", "json").out)["messages"][0]["name"] == "Ada"


def test_a_bookmark_moves_along_with_its_file_and_is_left_to_whoever_took_it(weft: Weft, tmp_path: Path) -> None:
    file = tmp_path / "talk.ndjson"
    file.write_text('{"role":"user","content":"a"}\n')
    weft("import", str(file))
    weft("add", "-c", "talk", "continued here")

    file.write_text('{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n')
    grown = weft("import", str(file), "--json").json[0]

    assert grown["bookmarks"].keys() == {"talk-2"}
    assert weft("ctx", "list", "talk").json[-1]["content"][0]["text"] == "continued here"
    file.write_text(file.read_text() + '{"role":"user","content":"c"}\n')
    assert weft("import", str(file), "--json").json[0]["bookmarks"].keys() == {"talk-2"}
    assert weft("import", str(file), "--no-bookmarks", "--json").json[0]["bookmarks"] == {}
    assert weft("import", str(file), "-b", "mine", "--json").json[0]["bookmarks"].keys() == {"mine"}


def test_torn_lines_are_told_and_passed_over(weft: Weft, tmp_path: Path) -> None:
    """J-08: the others load, the bad ones are named by line, and the status says that it is not all."""
    file = tmp_path / "torn.ndjson"
    file.write_text('{"role":"user","content":"a"}\n{"role":\n{"role":"assistant","content":"b"}\n{"ro')

    ran = weft("import", str(file), ok=False)

    assert ran.status == 3
    assert "line 2" in ran.err
    assert "line 4" in ran.err
    assert [turn["content"][0]["text"] for turn in weft("ctx", "list", "torn").json] == ["a", "b"]


def test_a_folder_is_imported_file_by_file(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.stf").write_text(STF)
    (tmp_path / "in" / "deep" / "b.ndjson").write_text('{"role":"user","content":"x"}\n')
    (tmp_path / "in" / ".hidden.stf").write_text(STF)
    (tmp_path / "in" / "notes.txt").write_text("just notes")

    ran = weft("import", str(tmp_path / "in"))

    assert ran.err == "passed over 1 file, no conversation by the look: notes.txt\n"
    assert len(ran.lines) == 3
    assert ran.lines[2] == "in all: 2 files, 2 conversations, 3 new turns"
    assert "looks like no format" in weft("import", str(tmp_path / "in" / "notes.txt"), ok=False).err
    assert weft("import", ok=False).status == 2


def test_what_lies_beside_sessions_is_passed_over_and_a_broken_session_is_not(weft: Weft, tmp_path: Path) -> None:
    """J-08: notes, indexes and pictures in a tool's folder are no fault; a session that cannot be read is one."""
    folder = tmp_path / "projects"
    folder.mkdir()
    (folder / "index.json").write_text('{"version":1,"entries":[]}')
    (folder / "MEMORY.md").write_text("# Memory\n\n- likes tides\n")
    (folder / "empty.jsonl").write_text("")
    (folder / "talk.ndjson").write_text('{"role":"user","content":"a"}\n')

    assert weft("import", str(folder)).err.startswith("passed over 3 files, ")
    (folder / "torn.ndjson").write_text('{"role":"user","content":"a"}\n{"role":\n')
    ran = weft("import", str(folder), ok=False)
    assert (ran.status, "torn.ndjson: line 2" in ran.err) == (3, True)


def test_a_file_that_is_not_there_is_told_before_any_other_is_taken_in(weft: Weft, stf: str, tmp_path: Path) -> None:
    """J-08: a slip in the second name does not leave half of it done."""
    ran = weft("import", stf, str(tmp_path / "gone"), ok=False)

    assert (ran.status, ran.out) == (1, "")
    assert "No such file" in ran.err
    assert weft("threads", "--json").json == []


def test_recordings_are_imported_by_those_who_know_them(weft: Weft, tmp_path: Path) -> None:
    record = {
        "id": "r1",
        "timestamp": "2026-03-01T09:00:00+00:00",
        "duration_ms": 5,
        "request": {"model": "mint-1", "messages": [{"role": "user", "content": "Depth?"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "6.2 m"}, "finish_reason": "stop"}]},
        "error": None,
    }
    (tmp_path / "run.jsonl").write_text(json.dumps(record) + "\n")

    ran = weft("import", str(tmp_path / "run.jsonl"))

    assert "1 request, 2 new turns" in ran.out
    piped = program("import", "-", "--json", stdin=(tmp_path / "run.jsonl").read_bytes())
    assert [one["new_turns"] for one in json.loads(piped.out)["requests"]] == [0]
    assert json.loads(program("import", "-", "--json", stdin=STF.encode()).out)[0]["bookmarks"].keys() == {"Harbour"}
    converted = weft("convert", str(tmp_path / "run.jsonl"), "--to", "json")
    assert [message["content"] for message in json.loads(converted.out)["messages"]] == ["Depth?", "6.2 m"]


def test_watching_keeps_up_and_survives_deletion(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    file = folder / "talk.ndjson"
    file.write_text('{"role":"user","content":"a"}\n')
    env = {**os.environ, "WEFT_HOME": str(tmp_path / "home")}
    watching = subprocess.Popen(
        [sys.executable, "-u", "-m", "weft.cli", "import", "--watch", str(folder)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _until(lambda: _said(env, "talk") == ["a"])
        with file.open("a") as growing:
            growing.write('{"role":"assistant","content":"b"}\n{"role":"user","con')
        _until(lambda: _said(env, "talk") == ["a", "b"])
        file.unlink()
        folder.rmdir()
        time.sleep(0.2)
        folder.mkdir()
        (folder / "other.ndjson").write_text('{"role":"user","content":"c"}\n')
        _until(lambda: _said(env, "other") == ["c"])
        assert _said(env, "talk") == ["a", "b"]
    finally:
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=30)
    assert watching.returncode == 130, err
    assert "1 new turn" in out


def _said(env: dict[str, str], name: str) -> list[str]:
    """Ask another process, as another terminal would."""
    from weft.errors import WeftError
    from weft.threads import open_store

    place = Path(env["WEFT_HOME"])
    if not place.exists():
        return []
    for found in place.rglob("*.db"):
        try:
            with open_store(found.parent, read_only=True) as store:
                return [turn["content"][0]["text"] for turn in store.list(name)]
        except (WeftError, OSError):
            return []
    return []


def _until(done: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


# -- export ------------------------------------------------------------------------------------------------------------


def test_a_thread_is_exported_without_its_secrets(weft: Weft, tmp_path: Path) -> None:
    weft("add", f"my key is {KEY}", "-b", "t")

    hidden = weft("export", "t", "--to", "json")

    assert KEY not in hidden.out
    assert "1 secret taken out" in hidden.err
    assert "entries[0].message.parts[0].text" in hidden.err
    assert KEY not in hidden.err
    assert KEY in weft("export", "t", "--to", "json", "--no-redact").out
    weft("export", "t", "-o", str(tmp_path / "t.md"))
    assert "[redacted:anthropic]" in (tmp_path / "t.md").read_text()


def test_what_was_exported_is_imported_as_it_was(weft: Weft, tree: str, tmp_path: Path) -> None:
    weft("import", tree)
    out = str(tmp_path / "out.weft")
    weft("export", "tree", "tree/alt", "-o", out)

    lines = [json.loads(line) for line in Path(out).read_text().splitlines()]

    assert lines[0]["session"]["title"] == "tree"
    assert [line["message"]["parts"][0]["text"] for line in lines[1:-1]] == ["one", "two", "three"]
    assert lines[1]["message"]["timestamp"] == "2026-03-01T09:00:00+00:00"
    assert (lines[2]["model"], lines[2]["usage"]["output_tokens"]) == ("mint-1", 4)
    assert weft("import", out, "--json").json[0]["new_turns"] == 0
    assert weft("export", "nothing", "--to", "json", ok=False).status == 5
    assert weft("export", "tree", "tree/alt", "--to", "json", "--strict", ok=False).status == 3


def test_an_export_is_imported_from_its_zip_file(weft: Weft, tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["When?"]}, "recipient": "all"}
    chat = {"title": "Tides", "current_node": "n", "mapping": {"n": {"id": "n", "parent": None, "message": said}}}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("conversations.json", json.dumps([chat]))

    assert weft("import", str(path)).lines == [f"{path} (chatgpt): 1 conversation, 1 new turn: Tides"]
    assert "When?" in weft("show", "Tides").out
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "{}")
    refused = weft("import", str(path), ok=False)
    assert refused.status == 3
    assert "it holds user.json" in refused.err


def test_a_device_or_a_pipe_is_written_and_never_replaced(weft: Weft, stf: str, tmp_path: Path) -> None:
    """`-o /dev/null` is what people type to see the report alone; a file in its place would harm the whole machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "target.json")

    weft("convert", stf, "--to", "json", "-o", str(pipe))
    weft("convert", stf, "--to", "json", "-o", str(link))

    assert json.loads(reader.communicate(timeout=30)[0])
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert json.loads((tmp_path / "target.json").read_text("utf-8"))


def test_a_large_file_shows_how_far_it_was_read_in_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "long.ndjson"
    file.write_text("\n".join([json.dumps({"role": "user", "content": "x" * 100_000})] * 90), "utf-8")

    status, shown = in_terminal("convert", str(file), "--to", "stf", "-o", str(tmp_path / "long.stf"))
    piped = program("convert", str(file), "--to", "json", "-o", str(tmp_path / "long.json"))

    assert (status, piped.status) == (0, 0)
    assert "reading  [" in shown
    assert "100%" in shown
    assert (piped.out, piped.err) == ("", "")


def test_a_session_whose_file_is_but_a_number_is_called_by_its_first_words(weft: Weft, tmp_path: Path) -> None:
    """Claude Code and Codex name files by UUIDs, which say nothing in a list of bookmarks."""
    name = "0d3f7b52-6c1e-4a53-9a0e-3f1c5d2b7a90"
    said = [
        "<environment_context>sh</environment_context>",
        "Where can we moor, and for how long, with a draught of 5 m?",
    ]
    lines = [json.dumps({"role": "user", "content": text}) for text in said]
    (tmp_path / f"{name}.ndjson").write_text("\n".join(lines), "utf-8")
    (tmp_path / f"rollout-2026-01-01-{name}.ndjson").write_text(lines[0], "utf-8")

    names = [*weft("import", str(tmp_path / f"{name}.ndjson"), "--json").json[0]["bookmarks"]]
    names += weft("import", str(tmp_path / f"rollout-2026-01-01-{name}.ndjson"), "--json").json[0]["bookmarks"]

    assert names == ["Where can we moor, and for how long, with a…", f"rollout-2026-01-01-{name}"]
