"""weft log, show, diff, threads and search: looking at what is kept."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import weft as library
from tests.support.cli import Weft, in_terminal, program
from weft.cli.render import size_text

if TYPE_CHECKING:
    from pathlib import Path

ID = r"[0-9a-z]{25}"
EVIL = "\x1b]0;owned\x07 \x1b[31mred \x9b31m \x08\r\x7f \x1b]52;c;aGk=\x1b\\ end"


@pytest.fixture
def harbour(weft: Weft) -> dict[str, str]:
    """A question, its answer, and two ways on from there, one of them asked with a tool."""
    ids = {"question": weft("add", "When is high water?", "-b", "tides", "--search").id}
    ids["answer"] = weft("add", "-c", "tides", "--role", "assistant", "At 06:10.").id
    ids["low"] = weft("add", "-c", "tides", "And low water?").id
    weft("branch", "neap", ids["answer"])
    call = '[{"type":"tool_use","id":"c1","name":"almanac","input":{"moon":"half"}}]'
    ids["call"] = weft("add", "-c", "neap", "--role", "assistant", "-j", call).id
    result = '[{"type":"tool_result","tool_use_id":"c1","name":"almanac","content":[{"type":"text","text":"2 m"}]}]'
    ids["result"] = weft("add", "-c", "neap", "-j", result, "--no-search").id
    return ids


def unpadded(text: str) -> list[str]:
    """Leave out ids and the space that lines things up."""
    return [" ".join(re.sub(r"\b03[0-9a-z]{8,}\b", "#", line).split()) for line in text.splitlines()]


# -- log ---------------------------------------------------------------------------------------------------------------


def test_log_lists_a_thread_newest_first_with_bookmarks(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    assert unpadded(weft("log", "tides").out) == [
        "# user (tides) And low water?",
        "# assistant At 06:10.",
        "# user When is high water?",
    ]


def test_log_without_a_name_is_that_of_the_newest_turn(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    assert unpadded(weft("log").out) == [
        "# user (neap) almanac answered: 2 m",
        "# assistant calls almanac(moon=half)",
        "# assistant At 06:10.",
        "# user When is high water?",
    ]


def test_log_all_is_everything_page_by_page(weft: Weft, harbour: dict[str, str]) -> None:
    first = weft("log", "--all", "-n", "2")
    command = first.err.partition("weft ")[2].partition(",")[0].split()
    second = weft(*command, "-n", "0")

    assert len(first.lines) == 2
    shown = [line.split()[0] for line in [*first.lines, *second.lines]]
    assert [full.startswith(short) for full, short in zip(reversed(harbour.values()), shown, strict=True)] == [True] * 5


def test_log_graph_draws_every_branch_of_the_tree(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    weft("add", "Something else altogether", "-b", "other")

    assert unpadded(weft("log", "--graph", "tides").out) == [
        "● # user (neap) almanac answered: 2 m",
        "● # assistant calls almanac(moon=half)",
        "│ ● # user (tides) And low water?",
        "├─╯",
        "● # assistant At 06:10.",
        "● # user When is high water?",
    ]
    assert unpadded(weft("log", "--graph").out) == ["● # user (other) Something else altogether"]
    assert len(weft("log", "--graph", "--all").lines) == 7


def test_log_graph_draws_joins_and_diamonds(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    weft("merge", "neap", "tides", "-b", "both")
    weft("add", "-c", "both", "Sum it up.")

    assert unpadded(weft("log", "--graph").out) == [
        "● # user (both) Sum it up.",
        "● # user [joins threads]",
        "├─╮",
        "● │ # user (neap) almanac answered: 2 m",
        "● │ # assistant calls almanac(moon=half)",
        "│ ● # user (tides) And low water?",
        "├─╯",
        "● # assistant At 06:10.",
        "● # user When is high water?",
    ]


def test_log_graph_says_how_much_is_left_out(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    ran = weft("log", "--graph", "-n", "2")

    assert len(ran.lines) == 2
    assert ran.err == "… 3 older turns: weft log --graph -n 20, or -n 0 for all\n"


def test_log_json_has_everything_a_program_needs(weft: Weft, harbour: dict[str, str]) -> None:
    for graph in ([], ["--graph"]):
        records = weft("log", "tides", "--json", "-n", "0", *graph).json
        record = next(one for one in records if one["id"] == harbour["low"])
        assert record.pop("time").endswith("+00:00")
        assert record == {
            "id": harbour["low"],
            "role": "user",
            "gist": "And low water?",
            "model": None,
            "bookmarks": ["tides"],
            "parents": [harbour["answer"]],
        }


def test_an_empty_store_has_an_empty_log_and_a_hint(weft: Weft) -> None:
    for command in (["log"], ["log", "--graph"], ["log", "--all"], ["threads"], ["show"]):
        ran = weft(*command)
        assert (ran.out, "there are no turns yet" in ran.err) == ("", True), command
        assert weft(*command, "--json").json == []
    assert weft("ctx", "resolve").json == {"messages": [], "options": {}}
    assert weft("fsck").out == "no problems in 0 turns\n"
    assert weft("stats", "--json").json["turns"] == 0
    assert "no bookmarks yet" in weft("bookmark").err


def test_log_refuses_options_that_do_not_go_together(weft: Weft) -> None:
    assert weft("log", "x", "--all", ok=False).status == 2
    assert weft("log", "--before", "x", ok=False).status == 2


def test_ids_as_printed_are_taken_by_the_next_command(weft: Weft, harbour: dict[str, str]) -> None:
    for line in weft("log", "--all", "-n", "0").lines:
        short = line.split()[0]
        assert len(short) < 25
        assert weft("show", short, "--json").json["id"] in harbour.values()
        assert weft("show", short.upper(), "--json").status == 0


def test_an_ambiguous_beginning_is_refused_with_what_it_may_mean(weft: Weft, harbour: dict[str, str]) -> None:
    ran = weft("show", harbour["low"][:4], ok=False)

    assert (ran.status, ran.out) == (5, "")
    assert "is the beginning of more than one turn id" in ran.err
    assert harbour["question"] in ran.err


@pytest.mark.parametrize("command", [["log"], ["show"], ["diff", "tides"], ["edit"], ["drop"], ["rm"], ["merge"]])
def test_a_name_that_is_not_there_is_exit_5_with_what_is_near(
    weft: Weft, harbour: dict[str, str], command: list[str]
) -> None:
    assert harbour
    ran = weft(*command, "tidess", ok=False)

    assert (ran.status, ran.out) == (5, "")
    assert ran.err == 'weft: no bookmark or turn called "tidess"\n  near it: tides\n  see all: weft bookmark\n'


def test_an_id_that_is_not_there_is_exit_5(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    assert weft("show", "0" * 25, ok=False).status == 5


def test_log_graph_of_10000_turns_is_quick(weft: Weft, tmp_path: Path) -> None:
    with library.open_store(tmp_path / "home") as store:
        said = [
            {"role": "user" if n % 2 == 0 else "assistant", "content": [{"type": "text", "text": f"number {n}"}]}
            for n in range(9_000)
        ]
        turns = store.import_messages(said, bookmark="main")
        for n in range(20):
            branch = [{**one, "content": [{"type": "text", "text": f"branch {n}"}]} for one in said[:50]]
            store.import_messages(branch, parent=turns[n * 400 + 100].id, bookmark=f"b{n}")

    begun = time.perf_counter()
    ran = weft("log", "--graph", "-n", "0")
    took = time.perf_counter() - begun

    assert sum("●" in line for line in ran.lines) == 10_000
    assert ran.lines[-1].startswith("● ")  # the trunk ends up on the left
    assert took < 5  # 0.6 s alone on the 2-core machine; others may be at work on it
    assert len(weft("log", "main", "-n", "0").lines) == 9_000


def test_a_turn_with_many_branches_takes_two_lanes(weft: Weft) -> None:
    root = weft("add", "Begin.").id
    for n in range(30):
        weft("add", "-c", root, f"branch {n}")

    drawings = {re.sub(r"03.*", "", line).strip() for line in weft("log", "--graph", "-n", "0").lines}

    assert drawings == {"●", "│ ●", "├─╯"}


def test_a_circle_in_imported_turns_is_drawn_once(weft: Weft, tmp_path: Path) -> None:
    one, two = "0" * 24 + "1", "0" * 24 + "2"
    with library.open_store(tmp_path / "home") as store:
        store.import_frames(
            [
                ({"topic": "gpt.turn", "id": one, "meta": {"role": "user", "continues": [two]}}, b"one"),
                ({"topic": "gpt.turn", "id": two, "meta": {"role": "user", "continues": [one]}}, b"two"),
            ]
        )

    assert len(weft("log", "--graph", "--all").lines) == 2
    assert weft("fsck", ok=False).status == 1


# -- show --------------------------------------------------------------------------------------------------------------


def test_show_gives_a_turn_in_readable_form(weft: Weft, harbour: dict[str, str]) -> None:
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "<time>", weft("show", "neap").out)

    assert text == (
        f"turn {harbour['result']} (neap)\n"
        "role          user\n"
        "time          <time>\n"
        f"continues     {harbour['call']}\n"
        "search        false\n"
        "\n"
        "    almanac answered  c1\n"
        "    2 m\n"
    )


def test_show_gives_calls_thinking_pictures_and_usage(weft: Weft, tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "One\n\n  two"},
        {"type": "tool_use", "id": "c1", "name": "almanac", "input": {"moon": "full"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 100}},
        {"type": "tool_result", "name": "x", "is_error": True, "content": [{"type": "text", "text": "no"}]},
        {"type": "new_kind", "x": 1},
    ]
    message = {"model": "kilo-1", "usage": {"input_tokens": 1200, "output_tokens": 3}, "stop_reason": "end_turn"}
    with library.open_store(tmp_path / "home") as store:
        payload = json.dumps(blocks).encode()
        store.add(library.threads.Addition(payload, role="assistant", extra={"message": message}))

    shown = weft("show").out

    for piece in (
        "role          assistant (kilo-1)\n",
        "usage         input tokens 1,200, output tokens 3\nstopped       end_turn\n",
        "    thinking\n    Hm.\n\n    One\n\n      two\n\n    calls almanac  c1\n",
        '      "moon": "full"\n',
        "    [image, image/png, 300 B]\n",
        "    x failed\n    no\n",
        '      "type": "new_kind",\n',
    ):
        assert piece in shown
    assert weft("log", "--json").json[0]["model"] == "kilo-1"
    assert "kilo-1" in weft("threads").out


def test_show_thread_is_a_conversation_to_be_read_from_its_beginning(weft: Weft, harbour: dict[str, str]) -> None:
    lines = weft("show", "--thread", "tides").lines

    roles = [line.split()[1] for line in lines if line.startswith("03")]
    assert roles == [record["role"] for record in reversed(weft("log", "tides", "-n", "0", "--json").json)]
    assert [record["id"] for record in weft("show", "--thread", "tides", "--json").json][-1] == harbour["low"]
    assert weft("show", "--thread", "--raw", "tides", ok=False).status == 2


def test_show_tells_when_something_was_said_that_was_brought_in_later(weft: Weft, tmp_path: Path) -> None:
    """The id of a turn has the time it was stored at; what was said in March was said in March."""
    said = {"role": "user", "parts": [{"type": "text", "text": "When?"}], "timestamp": "2026-03-01T12:00:00+00:00"}
    (tmp_path / "t.weft").write_text('{"weft":1}\n' + json.dumps({"id": "a", "message": said}) + '\n{"end":{}}\n')
    weft("import", str(tmp_path / "t.weft"))

    assert "said          2026-03-01 " in weft("show", "t").out
    assert "user  2026-03-01 " in weft("show", "t", "--thread").out
    assert "  2026-03-01 " in weft("threads").lines[1]


def test_show_json_is_the_turn_with_its_neighbours(weft: Weft, harbour: dict[str, str]) -> None:
    record = weft("show", harbour["answer"], "--json").json

    assert record["content"] == [{"type": "text", "text": "At 06:10."}]
    assert (record["parents"], record["children"]) == ([harbour["question"]], [harbour["low"], harbour["call"]])
    assert (record["role"], record["bookmarks"], record["options"], record["cache"]) == ("assistant", [], {}, False)
    assert record["meta"]["head"] == "tides"
    assert [one["id"] for one in weft("show", "tides", "neap", "--json").json] == [harbour["low"], harbour["result"]]
    assert weft("show", "tides", "neap").out.count("turn ") == 2


def test_show_raw_writes_the_bytes_as_they_are(weft: Weft, tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n\x00\x1b[31m"
    (tmp_path / "pier.png").write_bytes(data)
    weft("doc", str(tmp_path / "pier.png"), "-b", "pier")
    command = [sys.executable, "-m", "weft.cli", "show", "pier", "--raw"]

    assert subprocess.run(command, capture_output=True, check=True).stdout == data
    assert "\x1b[31m" not in in_terminal("show", "pier", "--raw")[1]
    assert "its bytes: weft show" in weft("show", "pier").out
    assert "document name pier.png" in re.sub(" +", " ", weft("show", "pier").out)
    assert weft("show", "pier", "--raw", "--json", ok=False).status == 2


# -- diff --------------------------------------------------------------------------------------------------------------


def test_diff_shows_messages_options_and_tools(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    assert unpadded(weft("diff", "tides", "neap").out) == [
        "2 turns the same",
        "- # user",
        "- And low water?",
        "+ # assistant",
        "+ calls almanac c1",
        "+ {",
        '+ "moon": "half"',
        "+ }",
        "+ # user",
        "+ almanac answered c1",
        "+ 2 m",
        "~ option search: true → false",
        "+ tool almanac",
    ]
    assert weft("diff", "tides", "neap", "--json").json["tools"] == {"almanac": "added"}


def test_diff_shows_the_lines_that_changed(weft: Weft) -> None:
    text = "\n".join(f"line {n}" for n in range(20))
    old = weft("add", text, "-b", "a").id
    weft("edit", old, "--text", text.replace("line 2\n", "LINE 2\n").replace("line 18", "LINE 18"), "-b", "b")

    assert unpadded(weft("diff", "a", "b").out)[1:] == [
        "line 0",
        "line 1",
        "- line 2",
        "+ LINE 2",
        "line 3",
        "line 4",
        "…",
        "line 16",
        "line 17",
        "- line 18",
        "+ LINE 18",
        "line 19",
    ]


def test_diff_of_the_same_says_so(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    ran = weft("diff", "tides", "tides")
    assert (ran.out, ran.err) == ("", "both say the same\n")


# -- threads -----------------------------------------------------------------------------------------------------------


def test_threads_lists_ends_with_title_turns_and_size(weft: Weft, harbour: dict[str, str]) -> None:
    weft("add", "--role", "system", "Be brief.", "-b", "brief")
    weft("add", "-c", "brief", "Is\nthe ferry late?")
    records = weft("threads", "--json").json

    assert [(one["title"], one["turns"], one["bookmarks"]) for one in records] == [
        ("Is the ferry late?", 2, ["brief"]),
        ("When is high water?", 4, ["neap"]),
        ("When is high water?", 3, ["tides"]),
    ]
    assert records[1]["id"] == harbour["result"]
    lines = weft("threads").lines
    assert lines[0].split() == ["end", "last", "turn", "title", "turns", "size", "models"]
    assert "(neap) When is high water?" in lines[2]


def test_threads_are_a_line_each_however_narrow_the_terminal(weft: Weft, harbour: dict[str, str]) -> None:
    """Names and titles are cut, sizes and models left out; a line that goes on below itself is no table any more."""
    assert harbour
    weft("add", "When is " + "high water? " * 20, "-b", "9f1c2a52-0000-4000-8000-000000000001")
    weft("bookmark", "set", "a-second-name-for-it", "9f1c2a52-0000-4000-8000-000000000001")
    for columns in (60, 80, 140):
        _, shown = in_terminal("threads", columns=columns)
        lines = shown.splitlines()
        assert (len(lines), max(map(len, lines)) <= columns) == (4, True)
        assert ("size" in lines[0]) == (columns == 140)
        names = in_terminal("bookmark", columns=columns)[1].splitlines()
        assert (len(names), "9f1c2a52-0000-4000-8000-000000000001" in "".join(names)) == (5, True)


def test_threads_come_in_pages(weft: Weft, harbour: dict[str, str]) -> None:
    first = weft("threads", "-n", "1")
    second = weft(*first.err.partition("weft ")[2].split())

    assert len(first.lines) == 2
    assert "(tides)" in second.out
    assert "no older threads" in weft("threads", "--before", harbour["question"]).err


# -- search ------------------------------------------------------------------------------------------------------------


def test_search_finds_text_arguments_and_results(weft: Weft, harbour: dict[str, str]) -> None:
    def found(*args: str) -> list[str]:
        return [hit["id"] for hit in weft("search", *args, "--json").json]

    assert found("water") == [harbour["low"], harbour["question"]]
    assert found("WATER", "high") == [harbour["question"]]
    assert found("high water") == found('"high water"') == [harbour["question"]]
    assert found("hal*") == [harbour["call"]]
    assert found("almanac", "--role", "user") == [harbour["result"]]
    assert found("--bookmark", "neap") == [harbour["result"], harbour["call"]]
    assert found("water", "-n", "1") == [harbour["low"]]
    assert found("water", "--before", harbour["low"]) == [harbour["question"]]
    assert found("water", "--since", "1h", "--until", "0m") == found("water")
    assert found("water", "--until", "2020-01-01") == []
    assert found("water", "--since", "2020-01-01T12:00", "-n", "0") == found("water")
    assert found("water", "--model", "kilo") == []


def test_search_prints_the_words_around_each_find(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    ran = weft("search", "water", "-n", "1")

    assert unpadded(ran.out) == ["# user tides: And low water?"]
    assert "there are older ones" in ran.err
    assert weft("search", "nothing-like-it").err == "nothing found\n"


@pytest.mark.parametrize("when", ["yesterday", "99999999w", "9999-12-31x", "0001-01-01"])
def test_search_refuses_what_is_no_time(weft: Weft, when: str) -> None:
    ran = weft("search", "x", "--since", when, ok=False)

    assert ran.status in (0, 1)
    assert "Traceback" not in ran.err
    assert "fault" not in ran.err


def test_search_for_nothing_is_refused(weft: Weft) -> None:
    assert weft("search", ok=False).status == 1


# -- terminals, pipes, locales -----------------------------------------------------------------------------------------


def test_colour_and_width_are_for_terminals(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    weft("add", "-c", "tides", "A very long question indeed, " * 20)
    weft("add", "-c", "tides", "漢字" * 100)
    plain = weft("log", "--graph", "tides").out
    _, shown = in_terminal("log", "--graph", "tides", env={"NO_COLOR": ""}, columns=60)
    _, calm = in_terminal("log", "--graph", "tides", columns=60)

    assert "\x1b" not in plain
    assert "\x1b[33m" in shown
    assert "\x1b" not in calm
    assert max(len(line) + line.count("漢") + line.count("字") for line in calm.splitlines()) <= 60
    assert "\x1b[33m" in program("log", env={"NO_COLOR": "", "FORCE_COLOR": "1"}).out


@pytest.mark.parametrize(
    "command",
    [
        ["log"],
        ["log", "--graph"],
        ["show"],
        ["threads"],
        ["bookmark"],
        ["search", "red"],
        ["diff", "a", "b"],
        ["ctx", "list"],
    ],
)
def test_c01_stored_text_cannot_steer_the_terminal(weft: Weft, command: list[str]) -> None:
    blocks = [
        {"type": "text", "text": EVIL},
        {"type": "tool_use", "id": EVIL, "name": EVIL, "input": {EVIL: EVIL}},
        {"type": "tool_result", "tool_use_id": EVIL, "name": EVIL, "content": [{"type": "text", "text": EVIL}]},
        {"type": EVIL, "source": {"type": "base64", "media_type": EVIL, "data": "AA=="}},
        {"type": "thinking", "thinking": EVIL},
    ]
    weft("add", "red", "-b", "a", "-p", EVIL, "--tool-mode", EVIL)
    weft("add", "-c", "a", "-b", "b", "-j", json.dumps(blocks), "--servers", EVIL)

    status, shown = in_terminal(*command)

    assert status == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


def test_c02_a_closed_pipe_ends_without_a_word(weft: Weft) -> None:
    root = weft("add", "Begin.", "-b", "t").id
    for _ in range(3):
        weft("add", "-c", root, "x " * 40_000)
    for command in ("log --graph", "log", "show", "ctx list", "threads"):
        line = f"'{sys.executable}' -m weft.cli {command} | true"
        result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert result.stderr == "", command


def test_c03_lines_are_drawn_in_letters_where_nothing_else_is_known(weft: Weft, harbour: dict[str, str]) -> None:
    assert harbour
    weft("add", "-c", "tides", "höher")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = program("log", "--graph", "tides", env={**os.environ, **env})

    assert (ran.status, ran.err) == (0, "")
    assert "|-'" in ran.out


def test_text_that_is_no_unicode_is_shown_somehow(weft: Weft) -> None:
    """A lone surrogate can be stored; no encoding can write it."""
    weft("add", "-j", '{"type":"text","text":"a\\ud800b"}')
    for command in (["log"], ["show"], ["threads"], ["ctx", "resolve"]):
        ran = program(*command)
        assert (ran.status, ran.err) == (0, ""), command


def test_a_store_that_is_not_there_is_not_made_by_looking(weft: Weft, tmp_path: Path) -> None:
    ran = weft("log", "--store", str(tmp_path / "typo"), ok=False)

    assert (ran.status, ran.err) == (1, f"weft: there is no store in {tmp_path / 'typo'}\n")
    assert not (tmp_path / "typo").exists()


def test_the_store_is_chosen_by_option_then_by_environment(
    weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft("add", "here", "--store", str(tmp_path / "one"))
    weft("add", "there", "--store", f"sqlite:///{tmp_path / 'two'}")
    monkeypatch.setenv("WEFT_STORE", str(tmp_path / "one"))

    assert "here" in weft("log").out
    assert "there" in weft("log", "--store", str(tmp_path / "two")).out
    assert weft("log", "--store", "mysql://x", ok=False).status == 1


ODD = ["", " ", "-", "\udcff\udcfe", "\x1b[31m", "0" * 25, "x" * 100_000, "%s%n", "'; DROP TABLE frames;--", "\u202e"]
COMMANDS = """
    log, show, diff a, edit --text x, drop, merge a, rm, purge --yes, bookmark set, bookmark move, bookmark delete,
    bookmark rename a, branch, search, search --since, search x --model, ctx walk, doc, fsck --store, add x -b,
    add x -c, add -j, add x -p, gc --unnamed-before, threads --before, log --all --before, purge --yes --text, edit a -f
"""


@pytest.mark.parametrize("command", [command.split() for command in COMMANDS.split(",")], ids=" ".join)
def test_c04_odd_arguments_are_refused_in_a_few_words_or_taken(
    weft: Weft, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    weft("add", "one", "-b", "a")
    for odd in ODD:
        ran = weft(*command, odd, ok=False)

        assert ran.status in (0, 1, 2, 5), (odd[:40], ran.err)
        assert len(ran.err) < 1000 + 2 * len(odd)
        assert ran.err.count("\n") <= 4
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)
    assert weft("fsck").status == 0


def test_what_is_nested_deeply_is_shown_or_refused(weft: Weft) -> None:
    weft("add", "-j", '{"type":"deep","v":' + "[" * 500 + "]" * 500 + "}")

    for command in (["log"], ["show"], ["ctx", "resolve"], ["show", "--json"]):
        ran = weft(*command, ok=False)
        assert ran.status in (0, 1), command


def test_a_turn_that_differs_in_what_is_not_shown_is_shown_as_json(weft: Weft) -> None:
    for name, signature in (("a", "b25l"), ("b", "dHdv")):
        weft("add", "-b", name, "-j", json.dumps({"type": "thinking", "thinking": "hm", "signature": signature}))

    assert '"signature": "b25l"' in weft("diff", "a", "b").out


def test_options_cache_and_nothing_at_all_are_shown(weft: Weft) -> None:
    weft("add", "one", "-b", "a", "--cache", "-p", "kilo", "--servers", "tides")
    weft("add", "two", "-b", "b")
    merged = weft("merge", "a", "b").id

    lines = [" ".join(line.split()) for line in weft("show", "a").lines]
    assert 'servers ["tides"]' in lines
    assert "provider_ptr kilo" in lines
    assert "cache flagged for the provider's cache" in lines
    assert "[no content]" in weft("show", merged).out


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2 * 10**12, "2.0 TB")])
def test_sizes_are_said_as_people_say_them(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_thread_is_walked_where_nothing_else_is_asked(weft: Weft, harbour: dict[str, str]) -> None:
    """T-40 and section 7: `ctx` alone is the raw walk, newest first, from the newest turn or from those named."""
    del harbour

    assert weft("ctx").json == weft("ctx", "walk").json == weft("ctx", "neap").json
    assert weft("ctx", "tides").json == weft("ctx", "walk", "tides").json != weft("ctx").json
    assert len(weft("ctx", "tides", "neap").json) == 5
    assert weft("ctx", "nowhere", ok=False).err.startswith('weft: no bookmark or turn called "nowhere"')
