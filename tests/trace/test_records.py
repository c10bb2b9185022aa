from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest

from tests.support.traces import as_lines, openai, write_trace
from weft.errors import UsageError
from weft.trace import Problem, read_records
from weft.trace.decoding import zstd_module

RECORDS = [openai({"role": "user", "content": f"größe {at}"}, at=at) for at in range(3)]
IDS = ["q0", "q1", "q2"]


def ids(*sources: Path | str) -> list[str]:
    return [json.loads(line)["id"] for _, line in read_records(list(sources))]


def test_one_json_value_or_lines(tmp_path: Path) -> None:
    """C-13: a list is a list of records, an object is one, anything else is lines."""
    (tmp_path / "list.json").write_text(json.dumps(RECORDS, indent=2))
    (tmp_path / "object.json").write_text(json.dumps(RECORDS[1], indent=2))
    (tmp_path / "short.json").write_text(json.dumps(RECORDS[1]))
    write_trace(tmp_path / "lines.jsonl", RECORDS)
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf[" + b",".join(as_lines(RECORDS)) + b"]")

    assert ids(tmp_path / "list.json") == ids(tmp_path / "lines.jsonl") == ids(tmp_path / "bom.jsonl") == IDS
    assert ids(tmp_path / "object.json") == ids(tmp_path / "short.json") == ["q1"]


def test_folders_compressed_files_and_pipes(tmp_path: Path) -> None:
    write_trace(tmp_path / "b.jsonl", RECORDS[1:2])
    (tmp_path / "a").mkdir()
    write_trace(tmp_path / "a" / "first.jsonl", RECORDS[:1])
    (tmp_path / "c.jsonl.zst").write_bytes(zstd_module().compress(b"".join(as_lines(RECORDS[2:]))))
    (tmp_path / "output.json").write_text(json.dumps({"messages": [], "tools": [], "requests": []}, indent=1))
    (tmp_path / "notes.txt").write_text("not a trace")

    assert ids(tmp_path) == IDS
    pipe = io.BytesIO(b"".join(as_lines(RECORDS)))
    assert [place.line for place, _ in read_records(pipe)] == [1, 2, 3]
    assert ids(str(tmp_path / "b.jsonl"), str(tmp_path / "a")) == ["q1", "q0"]


def test_blank_lines_before_all_others_cost_no_more_than_others(tmp_path: Path) -> None:
    """C-5, G-07: and only a line feed ends a line, with blank ones before it as without."""
    first, second, _ = as_lines(RECORDS)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n" * 200_000 + first.replace(b"{", b"{\r", 1) + second)
    began = time.process_time()

    assert ids(path) == ["q0", "q1"]
    assert time.process_time() - began < 2  # 30 s, if each is looked at with all before it


def test_blank_lines_are_skipped_and_places_told(tmp_path: Path) -> None:
    """C-5."""
    first, second, _ = as_lines(RECORDS)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n  \n" + first + b"\r\n" + second.rstrip())
    found = list(read_records(path))

    assert [place.line for place, _ in found] == [3, 5]
    assert [path.read_bytes()[place.offset : place.offset + place.size] for place, _ in found] == [
        line for _, line in found
    ]
    assert str(found[0][0]) == f"{path}:3"
    assert [json.loads(line)["id"] for _, line in read_records(path, offset=found[1][0].offset)] == ["q1"]


def test_a_torn_last_line_is_reported_and_the_others_read(tmp_path: Path) -> None:
    """C-5, J-08: plain, and inside zstd, whose last frame may be cut as well."""
    text = b"".join(as_lines(RECORDS))
    path = tmp_path / "t.jsonl"
    path.write_bytes(text[:-20])
    problems: list[Problem] = []

    assert len(list(read_records(path, problems.append))) == 2
    assert [(problem.place.line, problem.torn) for problem in problems] == [(3, True)]

    packed = zstd_module().compress(text)
    path.write_bytes(packed + packed[:-9])
    assert len(list(read_records(path, problems.append))) >= 3
    assert problems[-1].torn


def test_a_bad_first_line_does_not_cost_the_others(tmp_path: Path) -> None:
    """J-08: what looks like one large value and is none is read as lines."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"torn\n' + b"".join(as_lines(RECORDS)))

    assert [place.line for place, _ in read_records(path)] == [1, 2, 3, 4]


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        ids(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no traces in"):
        ids(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    assert ids(tmp_path / "empty.jsonl") == []


def test_a_mark_at_the_beginning_is_no_part_of_a_record(tmp_path: Path) -> None:
    """C-5: editors of one system write it; also where files with one were put together."""
    first, second, third = as_lines(RECORDS)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + first + second + b"\xef\xbb\xbf" + third.rstrip())
    found = list(read_records(path))

    assert [json.loads(line)["id"] for _, line in found] == IDS
    assert [path.read_bytes()[place.offset : place.offset + place.size] for place, _ in found] == [
        line for _, line in found
    ]


@pytest.mark.parametrize("damage", ["cut", "changed", "all of it"])
def test_damage_in_a_packed_file_costs_what_comes_after_it(damage: str, tmp_path: Path) -> None:
    """J-08: what came before it is read, and that there is more is said."""
    whole, rest = (zstd_module().compress(b"".join(as_lines(part))) for part in (RECORDS[:2], RECORDS[2:]))
    ends = {"cut": rest[: len(rest) // 2], "changed": b"\x00" + rest[1:], "all of it": rest[:4] + b"\xff" * 40}
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes((b"" if damage == "all of it" else whole) + ends[damage])
    problems: list[Problem] = []

    found = [json.loads(line)["id"] for _, line in read_records(path, problems.append)]

    assert found == ([] if damage == "all of it" else IDS[:2])
    assert [(problem.torn, problem.message.startswith("cut off: ")) for problem in problems] == [(True, True)]
