"""Recordings to look into: files and sessions, cooked and kept up to date while they grow; and what they tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.agents import agent_trace, as_lines, claude_record, openai_record, sse
from weft.errors import TraceFormatError, UnknownBookmarkError
from weft.store import Exchanges
from weft.trace import (
    FileFollower,
    Recording,
    StoreFollower,
    TraceFile,
    cache_miss,
    cook,
    facts_of,
    find_recording,
    find_session,
    keep_lines,
    recording_of,
    recordings,
    total_of,
)
from weft.trace.decoding import zstd_module
from weft.trace.keeping import fields_of, new_exchange

LONG = "x" * 100_000
USER: dict[str, Any] = {"role": "user", "content": "How deep is it?"}


@pytest.fixture(params=["file", "session"])
def growing(request: pytest.FixtureRequest, tmp_path: Path, sqlite_store: weft.Store) -> Any:
    """A recording with six requests, and a way to let it grow."""
    lines = as_lines(agent_trace(10))
    path = tmp_path / "trace.jsonl"

    def grow(part: list[bytes]) -> None:
        if request.param == "file":
            with path.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in part))
        else:
            keep_lines(sqlite_store.frames, part, {"kind": "proxy"}, session_id="s1")

    grow(lines[:6])
    recording: Recording = TraceFile(path) if request.param == "file" else find_recording(sqlite_store, "s1")
    return recording, lambda: grow(lines[6:]), lines


def test_a_recording_is_cooked_as_its_lines_are(growing: Any) -> None:
    """C-22: from a file or from the store, the same requests, messages and parents."""
    recording, _, lines = growing

    assert recording.refresh() == 6
    assert recording.cooked().to_dict() == cook(lines[:6]).to_dict()


def test_what_is_new_is_cooked_and_nothing_else(growing: Any) -> None:
    """Requirement: the cooked form is kept up to date while the recording grows."""
    recording, grow, lines = growing
    recording.refresh()
    before = recording.cooked()

    assert recording.refresh() == 0
    assert recording.cooked() is before
    grow()

    assert recording.refresh() == 4
    assert recording.cooked().to_dict() == cook(lines).to_dict()


def test_requests_are_found_by_the_beginning_of_their_id(growing: Any) -> None:
    recording, _, lines = growing
    recording.refresh()
    request = recording.request("c3")

    assert recording.record(request) == json.loads(lines[3])
    with pytest.raises(UnknownBookmarkError, match="no request of"):
        recording.request("nothing")


def test_ids_that_begin_alike_are_listed(tmp_path: Path) -> None:
    records = [{**claude_record(n, [USER], []), "id": f"abc{n}"} for n in range(3)]
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(as_lines(records)))
    recording = TraceFile(tmp_path / "t.jsonl")
    recording.refresh()

    with pytest.raises(UnknownBookmarkError, match="more than one request: abc0, abc1"):
        recording.request("abc")


def test_a_torn_last_line_is_waited_for(tmp_path: Path) -> None:
    """C-5: a line that is being written is no problem; when it is whole, it is there."""
    path = tmp_path / "t.jsonl"
    first, second = as_lines(agent_trace(2))
    path.write_bytes(first + b"\n" + second[:50])
    recording = TraceFile(path)

    assert (recording.refresh(), recording.torn is not None) == (1, True)
    with path.open("ab") as file:
        file.write(second[50:] + b"\n")

    assert (recording.refresh(), recording.torn, recording.problems) == (1, None, [])


def test_packed_traces_are_read_and_followed(tmp_path: Path) -> None:
    zstd = zstd_module()
    path = tmp_path / "t.jsonl.zst"
    lines = as_lines(agent_trace(4))
    path.write_bytes(zstd.compress(b"\n".join(lines[:2]) + b"\n"))
    recording = TraceFile(path)

    assert recording.refresh() == 2
    with path.open("ab") as file:
        packed = zstd.compress(b"\n".join(lines[2:]) + b"\n")
        file.write(packed[:20])
        file.flush()
        assert recording.refresh() == 0
        file.write(packed[20:])

    assert recording.refresh() == 2
    assert recording.record(recording.request("c3")) == json.loads(lines[3])


@pytest.mark.parametrize("form", ["packed under another name", "one value with a mark before it"])
def test_a_record_is_read_again_whatever_the_file_is_called_and_begins_with(tmp_path: Path, form: str) -> None:
    """C-13, C-5: what a file is, its first bytes tell; a request of it is looked at as of any other."""
    record = agent_trace(1)[0]
    path = tmp_path / "t.json"
    if form.startswith("packed"):
        path.write_bytes(zstd_module().compress(json.dumps(record).encode() + b"\n"))
    else:
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(record, indent=1).encode())
    trace = TraceFile(path)

    assert (trace.refresh(), trace.refresh()) == (1, 0)
    assert trace.record(trace.cooked().requests[0]) == record


@pytest.mark.parametrize("form", ["zstd", "zstd, one frame", "list"])
def test_a_record_is_read_again_without_reading_all_before_it(form: str, tmp_path: Path) -> None:
    """C-13: of a packed file or a JSON list as of plain lines; and neither is taken for grown when asked again."""
    lines = as_lines(agent_trace(30))
    path = tmp_path / ("t.json" if form == "list" else "t.jsonl.zst")
    pack = zstd_module().compress
    if form == "list":
        path.write_bytes(b"[" + b",".join(lines) + b"]")
    elif form == "zstd":
        path.write_bytes(b"".join(pack(line + b"\n") for line in lines))
    else:
        path.write_bytes(pack(b"".join(line + b"\n" for line in lines)))
    recording = TraceFile(path)
    counts = [recording.refresh(), recording.refresh()]
    found = {request.id: request for request in recording.cooked().requests}
    path.unlink()  # what is read again is not read from here

    assert counts == [30, 0]
    for line in lines[::-1]:
        record = json.loads(line)
        assert recording.record(found[record["id"]]) == record


def test_a_long_packed_file_is_unpacked_once(tmp_path: Path) -> None:
    """G-07: one frame of many megabytes, as `zstd` writes it, costs what it holds; cut off, it gives what is whole."""
    lines = as_lines([openai_record(n, [{"role": "user", "content": f"{n} {LONG}"}], "ok") for n in range(200)])
    packed = zstd_module().compress(b"".join(line + b"\n" for line in lines), 1)
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    recording = TraceFile(path)
    begun = recording.refresh()

    assert 0 < begun < 200
    assert "cut off" in str(recording.torn)
    path.write_bytes(packed)
    assert begun + recording.refresh() == 200
    assert recording.torn is None


def test_damage_in_a_packed_file_is_told(tmp_path: Path) -> None:
    """J-08: with its file, and as no fault of ours."""
    line = as_lines(agent_trace(1))[0] + b"\n"
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(zstd_module().compress(line) + b"no zstd")
    recording = TraceFile(path)

    assert (recording.refresh(), recording.refresh()) == (1, 0)
    assert str(recording.torn).startswith(f"{path}:2: damaged: ")


def test_sessions_are_found_by_the_beginning_of_their_id(store: weft.Store) -> None:
    with pytest.raises(UnknownBookmarkError, match="nothing is recorded"):
        find_session(Exchanges(store.frames))
    lines = as_lines(agent_trace(3))
    first, _, _ = keep_lines(store.frames, lines[:1], {"kind": "proxy"})
    second, _, _ = keep_lines(store.frames, lines[1:], {"kind": "record"})

    exchanges = Exchanges(store.frames)
    assert [find_session(exchanges, text).id for text in (first, second, None)] == [first, second, second]
    assert [each.name for each in recordings(store)] == [first, second]
    found = recording_of(store, "c0")
    assert found is not None
    assert found.name == first
    assert recording_of(store, "zzzz") is None
    with pytest.raises(UnknownBookmarkError, match="no session"):
        find_session(exchanges, "nope")
    with pytest.raises(UnknownBookmarkError, match="more than one session"):
        find_session(exchanges, "03")


def test_a_record_that_is_none_is_refused_with_its_line(store: weft.Store) -> None:
    for bad in (b"[]", b'{"a":1', b'{"a" 1}', b'{"a":1} x', b"\xff{}", b'{"a":1,}', b"{1:2}"):
        with pytest.raises(TraceFormatError) as caught:
            keep_lines(store.frames, [*as_lines(agent_trace(1)), bad], {})
        assert caught.value.line == 2
    assert Exchanges(store.frames).counts()["exchanges"] == 0
    assert new_exchange(b"{}").request == b"null"


def test_fields_are_cut_out_as_they_are_written() -> None:
    """Names inside a body that are also names of a record do not mislead, in any order of fields."""
    request = b'{"messages":[{"response" : 1, "error":{"request":null}}], "response":[{}],"error": 2}'
    response = b'{"error": {"message":"x","request":"y"} ,"response":{"error":[]}}'
    for line in (
        b'{"id":"a","request":' + request + b',"response":' + response + b',"error":null,"path":"/x"}',
        b'{ "request" : ' + request + b' , "response" : ' + response + b' , "error" : "e", "id":"a"}',
        b'{"error":null,"response":' + response + b',"request":' + request + b"}",
    ):
        fields = fields_of(line)
        assert (fields["request"], fields["response"]) == (request, response)


# -- following ---------------------------------------------------------------------------------------------------------


def test_a_file_is_followed_line_by_line(tmp_path: Path) -> None:
    """Requirement: works while another process writes; half a line is waited for, a new file is begun anew."""
    path = tmp_path / "t.jsonl"
    follower = FileFollower(path)
    assert (follower.last(3), follower.poll()) == ([], [])
    path.write_bytes(b"".join(b"%d\n" % n for n in range(100)))

    assert follower.last(3) == [b"97", b"98", b"99"]
    with path.open("ab") as file:
        file.write(b"100\n10")
    assert follower.poll() == [b"100"]
    with path.open("ab") as file:
        file.write(b"1\n\n")
    assert follower.poll() == [b"101"]
    path.unlink()
    path.write_bytes(b"new\n")
    assert follower.poll() == [b"new"]
    assert follower.under_way() == []


def test_a_long_file_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(b"%d %s\n" % (n, b"x" * 1000) for n in range(3000)))

    last = FileFollower(path).last(2)

    assert [line.split()[0] for line in last] == [b"2998", b"2999"]
    assert FileFollower(path).last(0) == []


def test_a_session_is_followed_from_another_connection(store_url: str, store: weft.Store) -> None:
    lines = as_lines(agent_trace(5))
    keep_lines(store.frames, lines[:3], {}, session_id="s1")
    follower = StoreFollower(store.frames)

    assert [json.loads(line)["id"] for line in follower.last(2)] == ["c1", "c2"]
    assert follower.poll() == []
    with weft.open_store(store_url) as writer:
        keep_lines(writer.frames, lines[3:], {}, session_id="s1")

    assert [json.loads(line)["id"] for line in follower.poll()] == ["c3", "c4"]
    assert StoreFollower(store.frames, 99).last(5) == []


# -- what is told ------------------------------------------------------------------------------------------------------


def test_a_request_is_told_at_a_glance() -> None:
    facts = facts_of(
        claude_record(3, [USER, {"role": "user", "content": [{"type": "tool_result", "content": "six\n metres"}]}], [])
    )

    assert facts.to_dict() == {
        "id": "c3",
        "timestamp": 1767600003000,
        "duration_ms": 800,
        "model": "claude-sonnet-4-6",
        "provider": "anthropic",
        "dialect": "anthropic",
        "messages": 2,
        "tools": 0,
        "input_tokens": 310,
        "cached_tokens": 300,
        "cache_write_tokens": None,
        "output_tokens": 5,
        "reasoning_tokens": None,
        "stop_reason": "end_turn",
        "error": None,
        "stream": False,
        "gist": "six metres",
    }


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"error": "timed out"}, "timed out"),
        ({"response": {"error": {"message": "overloaded"}}}, "overloaded"),
        ({"response": {"error": {"code": 7}}}, '{"code":7}'),
        ({"response": [{"error": {"message": "bad key"}}]}, "bad key"),
        ({"response": {}, "status": 503}, "status 503"),
        ({"response": {}, "state": "incomplete", "reason": "killed"}, "incomplete: killed"),
        ({"response": {}}, None),
    ],
)
def test_what_went_wrong_is_told(record: dict[str, Any], error: str | None) -> None:
    assert facts_of(record).error == error


def test_odd_records_are_no_trouble() -> None:
    """C-16: missing and broken fields get their defaults."""
    odd: list[dict[str, Any]] = [
        {},
        {"id": 7, "timestamp": "yesterday", "duration_ms": "long", "request": [], "response": 3},
        {"timestamp": 1767600000, "request": {"input": "hi", "tools": [{"functionDeclarations": [1, 2]}, 3]}},
        {
            "timestamp": "2026-01-05T08:00:00",
            "path": "/v1beta/models/gemini-9:generateContent",
            "request": {"contents": []},
        },
    ]

    facts = [facts_of(record, n) for n, record in enumerate(odd)]

    assert [one.id for one in facts] == ["r0", "r1", "r2", "r3"]
    assert [one.timestamp_ms for one in facts] == [0, 0, 1767600000000, 1767600000000]
    assert [one.tools for one in facts] == [0, 0, 3, 0]
    assert (facts[2].gist, facts[3].model) == ("hi", "gemini-9")


@pytest.mark.parametrize("timestamp", [1e300, -5, 10**18, True, "9999-12-31T23:59:59-23:00", "0001-01-01", None])
def test_a_time_that_no_calendar_has_is_no_trouble(timestamp: Any) -> None:
    """C-16: the same reading as the cook's, and something to show."""
    record = {"timestamp": timestamp, "duration_ms": 12.7, "request": {"messages": []}, "response": None}
    facts = facts_of(record)

    assert facts.timestamp_ms == cook([record]).requests[0].timestamp
    assert facts.duration_ms == 12
    assert facts.time.astimezone().year >= 1969


def test_a_gist_has_all_that_was_answered_last() -> None:
    """Results of parallel calls stand in one message; Gemini's are objects."""
    results = [{"type": "tool_result", "tool_use_id": str(n), "content": f"{n} m"} for n in (6, 9)]
    parts = [{"functionResponse": {"name": "depth", "response": {"result": f"{n} m"}}} for n in (6, 9)]

    assert facts_of(claude_record(1, [USER, {"role": "user", "content": results}], [])).gist == "6 m 9 m"
    gemini = {"path": "/v1beta/models/g:generateContent", "request": {"contents": [{"role": "user", "parts": parts}]}}
    assert facts_of(gemini).gist == "6 m 9 m"


def test_requests_are_summed_up() -> None:
    facts = [facts_of(claude_record(n, [USER], [])) for n in range(3)]

    total = total_of([(facts[0], 0.5), (facts[1], None), (facts[2], 0.25)]).to_dict()

    assert (total["requests"], total["cost"], total["unpriced"], total["input_tokens"]) == (3, 0.75, 1, 330)
    assert total["cache_hit_rate"] == pytest.approx(300 / 330)
    assert total_of([]).to_dict()["cost"] is None


# -- why no cache ------------------------------------------------------------------------------------------------------

TOOLS = [{"name": f"t{n}", "description": "d", "input_schema": {}} for n in range(3)]
SYSTEM = [{"type": "text", "text": "You are a sailor. It is 08:00."}, {"type": "text", "text": "Be brief."}]
PARENT = claude_record(
    1, [USER, {"role": "assistant", "content": "Six."}], [], request={"tools": TOOLS, "system": SYSTEM}
)


def changed(**request: Any) -> dict[str, Any]:
    record = claude_record(2, [*PARENT["request"]["messages"], {"role": "user", "content": "More."}], [])
    body = {**PARENT["request"], "messages": record["request"]["messages"], **request}
    usage = {"input_tokens": 40, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 90}
    return {**record, "request": body, "response": {**record["response"], "usage": usage}}


@pytest.mark.parametrize(
    ("request_", "place", "before", "after"),
    [
        ({"model": "claude-opus-4-5"}, "model", "claude-sonnet-4-6", "claude-opus-4-5"),
        ({"tools": [TOOLS[0], {**TOOLS[1], "description": "new"}, TOOLS[2]]}, "tool 1", '"d"', '"new"'),
        ({"tools": TOOLS[:2]}, "tool 2", "t2", "(gone)"),
        ({"tools": [*TOOLS, {"name": "t3"}]}, "tool 3", "(none)", "t3"),
        (
            {"system": [{"type": "text", "text": "You are a sailor. It is 08:01."}, SYSTEM[1]]},
            "system 0",
            "08:00",
            "08:01",
        ),
        ({"temperature": 0.3}, "parameter temperature", "(none)", "0.3"),
        ({"messages": [{"role": "user", "content": "How deep is the sea?"}]}, "message 0", "it?", "the sea?"),
        ({"messages": [USER]}, "message 1", "Six.", "(gone)"),
    ],
)
def test_the_first_difference_is_the_reason(request_: dict[str, Any], place: str, before: str, after: str) -> None:
    """Requirement: model, parameter, tool n, system, message n, with both values shortened."""
    found = cache_miss(changed(**request_), PARENT)

    assert found.place == place
    assert before in found.before
    assert after in found.after
    assert (found.expected, found.cached, found.lost) == (110, 0, 110)


def test_a_mark_is_no_difference_and_other_reasons_are_told() -> None:
    marked = [*SYSTEM[:1], {**SYSTEM[1], "cache_control": {"type": "ephemeral"}}]
    keeps = {**PARENT, "request": {**PARENT["request"], "system": marked}}
    later = {**changed(), "timestamp": "2026-01-05T09:00:00Z"}
    read = {**changed(), "response": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 110}}}
    silent = openai_record(2, [USER], "x")

    notes = [
        cache_miss(changed(), PARENT).note,
        cache_miss(later, keeps).note,
        cache_miss(changed(), keeps).note,
        cache_miss(read, keeps).note,
        cache_miss(silent, openai_record(1, [USER], "x")).note,
        cache_miss(changed(), None).note,
    ]

    said = ("no cache_control", "expired", "too short", "read from the cache", "does not say", "continues no earlier")
    assert [word in note for word, note in zip(said, notes, strict=True)] == [True] * 6
    assert cache_miss(changed(), keeps).place is None


def test_streams_tell_their_usage() -> None:
    start = {
        "type": "message_start",
        "message": {"id": "m", "usage": {"input_tokens": 7, "cache_read_input_tokens": 3}},
    }
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}

    facts = facts_of({**claude_record(1, [USER], []), "response": sse(start, end)})

    assert (facts.tokens.input, facts.tokens.output, facts.is_stream, facts.stop_reason) == (10, 9, True, "end_turn")
