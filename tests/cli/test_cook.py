from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Weft, in_terminal, program
from tests.support.traces import agent_records, answer, as_lines, openai, write_trace

RECORDS = [openai({"role": "user", "content": f"größe {at}"}, at=at, response=answer("ok")) for at in range(3)]


def test_a_trace_is_cooked_and_counted(weft: Weft, tmp_path: Path) -> None:
    """C-14: indented, unescaped, folders made; the counts are told."""
    trace = write_trace(tmp_path / "t.jsonl", RECORDS)
    out = tmp_path / "new" / "folder" / "out.json"

    ran = weft("cook", str(trace), "-o", str(out))

    assert ran.out.startswith("cooked 3 records, 3 requests, 4 messages, 0 tools -> ")
    assert "3 requests without a parent" in ran.out
    assert "größe 0" in out.read_text()
    assert list(json.loads(out.read_text())) == ["messages", "tools", "requests"]
    assert list(out.parent.iterdir()) == [out]


def test_bad_lines_are_told_with_their_number_and_the_status_says_partial(weft: Weft, tmp_path: Path) -> None:
    """J-08, G-08, C-5: the other lines are cooked."""
    lines = as_lines(RECORDS)
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(lines[0] + b"{torn\n" + lines[1] + lines[2][:-9])

    ran = weft("cook", str(trace), "-o", str(tmp_path / "o.json"), ok=False)
    told = weft("cook", str(trace), "-o", str(tmp_path / "o.json"), "--json", ok=False)

    assert ran.status == told.status == 3
    assert f"{trace}:2: not JSON" in ran.err
    assert f"{trace}:4: the last line was cut off" in ran.err
    assert [(each["line"], each["torn"]) for each in told.json["problems"]] == [(2, False), (4, True)]
    assert (told.json["records"], told.json["requests"]) == (4, 2)


def test_many_problems_are_counted_not_all_shown(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"{}\n" * 30)

    ran = weft("cook", str(tmp_path / "t.jsonl"), "-o", str(tmp_path / "o.json"), ok=False)

    assert "and 20 more problems" in ran.err
    assert len(ran.err.splitlines()) == 12


def test_files_folders_and_formats_together(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_trace(tmp_path / "in" / "a.jsonl", RECORDS[:1])
    write_trace(tmp_path / "b.jsonl", RECORDS[1:])

    ran = weft("cook", str(tmp_path / "in"), str(tmp_path / "b.jsonl"), "-o", str(tmp_path / "o.json"), "--json")
    claude = weft("cook", str(tmp_path / "b.jsonl"), "--format", "claude", "-o", str(tmp_path / "o.json"), "--json")

    assert ran.json["requests"] == 3
    assert claude.json["messages"] == 3


def test_it_cooks_from_a_pipe_to_a_pipe() -> None:
    """The answer alone is on stdout; what is told about it is on stderr."""
    ran = program("cook", "-o", "-", stdin=b"".join(as_lines(RECORDS)))

    assert len(json.loads(ran.out)["requests"]) == 3
    assert ran.err.startswith("cooked 3 records")
    assert program("cook", "-", "-o", "-", stdin=b"").status == 0


def test_links_are_told_and_take_part(weft: Weft, tmp_path: Path) -> None:
    records = [
        {
            "id": f"q{at}",
            "timestamp": at,
            "request": {"input": str(at), **more},
            "response": {"id": f"r{at}", "output": []},
        }
        for at, more in enumerate([{}, {"previous_response_id": "r0"}])
    ]
    trace, out = write_trace(tmp_path / "t.jsonl", records), tmp_path / "o.json"

    assert "1 request with links of their own (see --links)" in weft("cook", str(trace), "-o", str(out)).out
    weft("cook", str(trace), "-o", str(out), "--links")
    assert json.loads(out.read_text())["requests"][1]["parent_id"] == "q0"


def test_errors_say_what_and_what_next(weft: Weft, tmp_path: Path) -> None:
    """C-15, among others."""
    out = tmp_path / "o.json"
    weft("cook", str(write_trace(tmp_path / "t.jsonl", RECORDS)), "-o", str(out))

    again = weft("cook", str(out), ok=False)
    missing = weft("cook", str(tmp_path / "nowhere.jsonl"), ok=False)

    assert (again.status, missing.status) == (1, 1)
    assert again.err == f"weft: {out} is cooked already\n  look at it: weft view {out}\n"
    assert missing.err.startswith("weft: no such file")
    assert weft("cook", "--format", "morse", str(out), ok=False).status == 2


def test_long_work_shows_a_bar_in_a_terminal(tmp_path: Path) -> None:
    lines = as_lines(agent_records(120, 3))
    filler = as_lines([openai({"role": "user", "content": "x" * 9_000_000}, at=9)])
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(b"".join(lines + filler))

    status, shown = in_terminal("cook", str(trace), "-o", str(tmp_path / "o.json"))

    assert status == 0
    assert "cooking  [" in shown
    assert "100%" in shown
    assert "cooked 121 records" in shown


@pytest.mark.parametrize("name", ["\x1b[31mred.jsonl"])
def test_names_with_control_characters_are_shown_safely(weft: Weft, tmp_path: Path, name: str) -> None:
    trace = tmp_path / name
    trace.write_bytes(b"{}\n")

    ran = weft("cook", str(trace), "-o", str(tmp_path / f"{name}.json"), ok=False)

    assert "\x1b" not in ran.out + ran.err
