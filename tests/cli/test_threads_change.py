"""weft add, doc, ctx, bookmark, branch, edit, drop and merge: writing turns and names."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Ran, Weft, in_terminal, program

if TYPE_CHECKING:
    from pathlib import Path


def texts(weft: Weft, *headishes: str) -> list[str]:
    """Give what each turn of a thread says first."""
    return [message["content"][0].get("text", "…") for message in weft("ctx", "resolve", *headishes).json["messages"]]


# -- add ---------------------------------------------------------------------------------------------------------------


def test_add_prints_the_id_and_nothing_else(weft: Weft) -> None:
    ran = weft("add", "When", "is", "high", "water?")

    assert (len(ran.id), ran.err) == (25, "")
    assert weft("show", ran.id, "--json").json["content"] == [{"type": "text", "text": "When is high water?"}]


def test_add_takes_every_parameter(weft: Weft) -> None:
    first = weft("add", "one", "-b", "a", "--servers", "tides, charts", "--search", "-p", "kilo").id
    other = weft("add", "two", "-b", "b").id
    options = ["--no-servers", "--no-search", "--tool-mode", "any", "--provider-ptr", "milli"]
    made = weft("add", "three", "-c", "b", "-c", first[:12], *options, "--cache", "--role", "system", "--json").json

    assert made["meta"] == {
        "role": "system",
        "content_type": "application/json",
        "options": {"servers": [], "search": False, "provider_ptr": "milli", "tool_mode": "any"},
        "head": "a",
        "continues": [other, first],
        "cache": True,
    }
    assert weft("ctx", "resolve", first).json["options"] == {
        "servers": ["tides", "charts"],
        "search": True,
        "provider_ptr": "kilo",
    }
    assert weft("add", "-r", "four", "--json").json["meta"]["continues"] == [made["id"]]


def test_add_refuses_what_does_not_fit(weft: Weft) -> None:
    weft("add", "one", "-b", "a")

    assert weft("add", "x", "--servers", "a", "--no-servers", ok=False).status == 2
    assert weft("add", "x", "--role", "tool", ok=False).status == 2
    assert weft("add", "-j", "{", ok=False).status == 1
    assert weft("add", "-j", '{"text":"no type"}', ok=False).err == "weft: invalid content: block 0 has no type\n"
    assert weft("add", "x", "-c", "nosuch", ok=False).status == 5
    assert weft("add", "x", "-b", "0" * 25, ok=False).status == 1
    assert "move_bookmark" in weft("add", "x", "-b", "a", ok=False).err
    assert weft("add", "x", "-b", "a", "--move-bookmark").status == 0
    assert len(weft("log", "--all").lines) == 2


def test_add_takes_piped_text_before_the_arguments(weft: Weft) -> None:
    piped = program("add", stdin=b"from a pipe\n")
    both = program("add", "and", "said", stdin="grüezi\n".encode())

    assert weft("show", piped.id, "--json").json["content"][0]["text"] == "from a pipe"
    assert weft("show", both.id, "--json").json["content"][0]["text"] == "grüezi\nand said"
    assert weft("add", "").status == 0


def test_add_of_nothing_and_of_bytes_is_refused(weft: Weft) -> None:
    nothing, noise = program("add"), program("add", stdin=b"\xff\xfe")

    assert (nothing.status, noise.status) == (1, 1)
    assert nothing.err.startswith("weft: there is nothing to add\n")
    assert "not UTF-8" in noise.err
    assert weft("log", "--all").out == ""
    assert in_terminal("add")[0] == 1


# -- doc and ctx -------------------------------------------------------------------------------------------------------


def test_doc_stores_a_file_and_names_a_guessed_type(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b")
    (tmp_path / "README").write_text("hello")
    made = weft("doc", str(tmp_path / "t.csv"), "-n", "Tides", "--cache", "-b", "table", "--json").json
    guessed = weft("doc", str(tmp_path / "README"))

    assert made["meta"] == {
        "role": "user",
        "type": "document",
        "content_type": "text/csv",
        "document_name": "Tides",
        "original_path": str(tmp_path / "t.csv"),
        "file_size": 3,
        "head": "table",
        "cache": True,
    }
    assert (len(guessed.id), guessed.err) == (25, "README: type detected from its content: text/plain\n")
    assert "[document Tides, text/csv]" in weft("log", "table").out
    assert weft("ctx", "list", "table").json[0]["content"][0]["source"]["data"] == "YSxi"


def test_doc_of_no_file_is_refused(weft: Weft, tmp_path: Path) -> None:
    assert weft("doc", str(tmp_path / "nosuch"), ok=False).status == 1
    assert weft("doc", str(tmp_path), ok=False).status == 1


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_ctx_walks_lists_and_resolves(weft: Weft, name: str) -> None:
    root = weft("add", "R", "-p", "milli", "--servers", "tides").id
    a = weft("add", "A", "-c", root, "--search").id
    b = weft("add", "B", "-c", root, "--servers", "charts,fish").id
    x = weft("add", "X", "-c", b, "-c", a, "-p", "kilo").id

    assert [frame["id"] for frame in weft(name, "walk", x).json] == [x, b, a, root]
    assert set(weft(name, "walk").json[0]) == {"topic", "id", "hash", "meta"}
    assert [record["id"] for record in weft(name, "list").json] == [root, a, b, x]
    assert [record["id"] for record in weft(name, "list", "--order", "branch").json] == [root, b, a, x]
    assert weft(name, "list").json[1]["options"] == {"search": True}
    assert weft(name, "resolve", x).json["options"] == {
        "provider_ptr": "kilo",
        "servers": ["charts", "fish"],
        "search": True,
    }
    assert texts(weft, a, b) == ["R", "A", "B"]
    assert weft(name, "resolve", "nosuch", ok=False).status == 5


def test_json_of_stored_text_is_exact_and_safe(weft: Weft) -> None:
    said = "\x1b[31m \x7f \x9b \U0001f600 \ud800"
    weft("add", "-j", json.dumps({"type": "text", "text": said, "number": 10**30}))
    ran = weft("ctx", "resolve")

    assert ran.json["messages"][0]["content"] == [{"type": "text", "text": said, "number": 10**30}]
    assert not set(ran.out) & set("\x1b\x7f\x9b")


# -- bookmarks ---------------------------------------------------------------------------------------------------------


def test_bookmarks_are_set_moved_renamed_and_deleted(weft: Weft) -> None:
    one, two = weft("add", "one").id, weft("add", "two").id

    assert weft("bookmark", "set", "a", one).id == one
    assert weft("bookmark", "set", "b").id == two
    refused = weft("bookmark", "set", "a", two, ok=False)
    assert refused.status == 1
    assert f"take it along: weft bookmark move a {two}" in refused.err
    assert weft("bookmark", "move", "a", two).id == two
    assert weft("bookmark", "rename", "a", "c").id == two
    assert [row["name"] for row in weft("bookmark", "--json").json] == ["b", "c"]
    assert weft("bookmark", "list", "--json").json[0] == {"name": "b", "id": two, "turns": 1}
    assert weft("bookmark", "delete", "b", "c").lines == [two, two]
    assert weft("bookmark", "list").out == ""


def test_bookmarks_are_listed_with_what_was_said_last(weft: Weft) -> None:
    turn = weft("add", "Is the ferry late?", "-b", "ferry").id

    assert [line.split() for line in weft("bookmark").lines] == [
        ["bookmark", "turn", "turns", "last", "words"],
        ["ferry", turn[:10], "1", "Is", "the", "ferry", "late?"],
    ]


def test_bookmarks_refuse_what_cannot_be(weft: Weft) -> None:
    assert weft("bookmark", "set", "a", ok=False).status == 1  # nothing to put it on
    weft("add", "one")
    assert weft("bookmark", "set", " ", ok=False).status == 1
    assert weft("bookmark", "move", "nosuch", ok=False).status == 5
    assert weft("bookmark", "rename", "nosuch", "x", ok=False).status == 5
    assert weft("bookmark", "delete", "nosuch", ok=False).status == 5
    assert weft("bookmark", "--json", "list", ok=False).status == 2


def test_branch_starts_a_name_that_is_carried_on(weft: Weft) -> None:
    root = weft("add", "root", "-b", "main").id
    weft("add", "-c", "main", "on main")

    assert weft("branch", "side", root).id == root
    weft("add", "-c", "side", "on side")
    assert texts(weft, "side") == ["root", "on side"]
    assert texts(weft, "main") == ["root", "on main"]
    assert weft("branch", "here", "--json").json["name"] == "here"
    assert "side" in weft("branch").out
    assert weft("branch", "side", root, ok=False).status == 1


# -- edit, drop, merge -------------------------------------------------------------------------------------------------


@pytest.fixture
def thread(weft: Weft) -> dict[str, str]:
    ids = {"one": weft("add", "one", "-b", "t").id}
    for name in ("two", "three"):
        ids[name] = weft("add", "-c", "t", name).id
    return ids


def test_edit_in_the_middle_replays_what_comes_after(weft: Weft, thread: dict[str, str]) -> None:
    end = weft("edit", thread["two"][:14], "--text", "TWO").id

    assert texts(weft, "t") == texts(weft, end) == ["one", "TWO", "three"]
    assert texts(weft, thread["three"]) == ["one", "two", "three"]


def test_edit_can_give_the_new_chain_a_name_and_an_end(weft: Weft, thread: dict[str, str]) -> None:
    made = weft("edit", thread["one"], "--text", "ONE", "-b", "new", "--end", thread["two"], "--json").json

    assert made["meta"]["head"] == "new"
    assert texts(weft, "new") == ["ONE", "two"]
    assert texts(weft, "t") == ["one", "two", "three"]


def test_edit_takes_a_file_or_a_pipe(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "new.md").write_text("from a file\n")
    weft("edit", thread["one"], "-f", str(tmp_path / "new.md"))
    assert texts(weft, "t")[0] == "from a file"

    first = weft("ctx", "list", "t").json[0]["id"]
    assert program("edit", first, stdin=b"from a pipe\n").status == 0
    assert texts(weft, "t")[0] == "from a pipe"

    (tmp_path / "new.md").write_bytes(b"\xff")
    assert weft("edit", first, "-f", str(tmp_path / "new.md"), ok=False).status == 1
    assert weft("edit", first, "-f", str(tmp_path / "new.md"), "--text", "x", ok=False).status == 2


def edited(script: str, *args: str) -> Ran:
    """Run weft edit with an editor that does `script` to `text`, the file's content."""
    program_text = (
        "import sys, pathlib; path = pathlib.Path(sys.argv[-1]); text = path.read_text()\n"
        f"{script}\npath.write_text(text)"
    )
    editor = shlex.join([sys.executable, "-c", program_text])
    status, shown = in_terminal("edit", *args, env={"EDITOR": editor, "VISUAL": editor})
    return Ran(status, shown, "")


def test_edit_opens_the_editor_on_the_text(weft: Weft, thread: dict[str, str]) -> None:
    ran = edited("text = text.replace('two', 'edited')", thread["two"])

    assert ran.status == 0
    assert texts(weft, "t") == ["one", "edited", "three"]
    assert "what differs: weft diff" in ran.out


def test_edit_opens_the_editor_on_markdown_where_there_is_more_than_text(weft: Weft) -> None:
    blocks = [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "c1", "name": "see", "input": {"x": 1}}]
    turn = weft("add", "--role", "assistant", "-b", "t", "-j", json.dumps(blocks)).id
    result = {"type": "tool_result", "tool_use_id": "c1", "name": "see", "content": [{"type": "text", "text": "ok"}]}
    weft("add", "-c", "t", "-j", json.dumps(result))

    ran = edited(
        """assert '```weft tool_call' in text; text = text.replace('"x": 1', '"x": 2').replace("c1", "c2")""", turn
    )

    assert ran.status == 0, ran.out
    messages = weft("ctx", "resolve", "t").json["messages"]
    assert messages[0]["content"][1] == {"type": "tool_use", "id": "c2", "name": "see", "input": {"x": 2}}
    assert messages[1]["content"][0]["tool_use_id"] == "c2"  # pairs stay valid


def test_edit_of_the_text_keeps_calls(weft: Weft) -> None:
    blocks = [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "c1", "name": "see", "input": {}}]
    turn = weft("add", "--role", "assistant", "-b", "t", "-j", json.dumps(blocks)).id
    weft("edit", turn, "--text", "LOOK")

    assert weft("ctx", "resolve", "t").json["messages"][0]["content"] == [{"type": "text", "text": "LOOK"}, blocks[1]]


def test_edit_that_changes_nothing_writes_nothing(weft: Weft, thread: dict[str, str]) -> None:
    ran = weft("edit", thread["two"], "--text", "two")

    assert (ran.out, ran.err) == ("", "nothing changed\n")
    assert "nothing changed" in edited("pass", thread["two"]).out
    assert "nothing changed" in edited("sys.exit(0)", thread["two"]).out
    assert len(weft("log", "--all").lines) == 3


def test_edit_refuses_what_would_break_the_thread(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    assert weft("edit", thread["two"], "-j", "--text", "{", ok=False).status == 1
    assert weft("edit", thread["two"], "--text", "x", "--end", thread["one"], ok=False).status == 1
    assert edited("sys.exit(3)", thread["two"]).status == 1
    assert "no terminal for an editor" in weft("edit", thread["two"], ok=False).err
    two = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    many = weft("add", "-j", json.dumps(two)).id
    assert "2 texts" in weft("edit", many, "--text", "x", ok=False).err
    assert weft("edit", many, "-j", "--text", '{"type":"text","text":"one"}').status == 0
    (tmp_path / "a.txt").write_text("file")
    document = weft("doc", str(tmp_path / "a.txt")).id
    assert "is a file" in edited("", document).out
    assert weft("edit", document, "--text", "instead").status == 0
    empty = weft("merge", "t", document).id
    assert weft("edit", empty, "--text", "both").status == 0


def test_drop_leaves_a_turn_out(weft: Weft, thread: dict[str, str]) -> None:
    weft("drop", thread["two"])

    assert texts(weft, "t") == ["one", "three"]
    assert texts(weft, thread["three"]) == ["one", "two", "three"]
    weft("drop", thread["two"], "--end", thread["three"], "-b", "short")
    assert texts(weft, "short") == ["one", "three"]


def test_merge_joins_threads(weft: Weft, thread: dict[str, str]) -> None:
    assert thread
    weft("add", "other", "-b", "o")
    made = weft("merge", "t", "o", "-b", "both", "--json").json
    weft("merge", "o", "t", "--text", "so?", "-b", "said")

    assert made["meta"]["continues"] == [thread["three"], weft("show", "o", "--json").json["id"]]
    assert texts(weft, "both") == ["one", "two", "three", "other"]
    assert texts(weft, "said")[-1] == "so?"
    assert weft("merge", "t", ok=False).status == 1
    assert weft("merge", "t", "o", "-b", "said", ok=False).status == 1
    assert weft("merge", "t", "o", "-b", "said", "--move-bookmark").status == 0
