"""Recorded requests as turns: shared beginnings once, forks as branches, and the same request again on demand."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

import weft
from tests.support.agents import agent_trace, claude_record, openai_record, sse
from tests.support.components import COMPONENTS
from weft import jsontext
from weft.canon import RunSpec
from weft.errors import TurnNotFoundError, UnknownBookmarkError
from weft.threads import tree_of
from weft.trace import ImportReport, import_exchanges, open_record
from weft.wire import FAITHFUL, dialect, put_back, put_forms, read_parts, take_off

USER: dict[str, Any] = {"role": "user", "content": "How deep is it?"}
SAID: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "Six metres."}]}


def taken_in(store: weft.Store, records: list[dict[str, Any]]) -> ImportReport:
    return import_exchanges(store.frames, records, now_ms=1)


def rewritten(store: weft.Store, turn_id: str, *, has_answer: bool) -> dict[str, Any]:
    """Write the request of an imported exchange again, from what the store has of it."""
    thread = store.thread(turn_id)
    options = thread.options
    about = jsontext.loads(store.frames.payload(options["request"]))
    spec = RunSpec.from_dict(about["spec"])
    spec = replace(spec, model="") if spec.model == "?" else spec
    context = thread.context()
    messages = read_parts(context.messages)
    sent = messages[:-1] if has_answer else messages
    spoken = dialect(about["dialect"])
    body = copy.deepcopy(spoken.encode_request(sent, spec, context.blob_store, FAITHFUL).body)
    put_forms(body, dict(options.get("forms") or []))
    put_back(body, options.get("marks"))
    return body


def has_answer(record: dict[str, Any]) -> bool:
    reply = open_record({**record, "request": take_off(record["request"])[0]}).reply
    return reply is not None and reply.message is not None


# -- what becomes of a trace -------------------------------------------------------------------------------------------


def test_every_request_becomes_turns_with_what_they_share_once(store: weft.Store) -> None:
    """R-13: a session of n requests is one tree; the fork in it is a branch."""
    records = agent_trace(10)

    report = taken_in(store, records)

    messages = {json.dumps(take_off(record["request"])[0]["messages"][:n]) for record in records for n in range(1, 99)}
    assert (report.imported, report.problems) == (10, [])
    assert store.stats().turns == report.new_turns < 2 * len(records) + len(messages)
    assert len(list(store.threads(limit=50))) == 2
    assert store.fsck() == []


def test_importing_twice_adds_nothing(store: weft.Store) -> None:
    records = [*agent_trace(8), *agent_trace(4, seed=2)]

    first = taken_in(store, records)
    again = taken_in(store, records)

    assert again.new_turns == 0
    assert [one.turn_id for one in again.requests] == [one.turn_id for one in first.requests]


def test_a_trace_imported_in_two_parts_gives_the_same_tree(store: weft.Store, tmp_path: Any) -> None:
    """A session is imported while it goes on: what came later finds what came before."""
    records = agent_trace(9)
    with weft.open_store(tmp_path / "other") as other:
        whole = taken_in(other, records).new_turns

        parts = [taken_in(store, records[:4]), taken_in(store, records)]

        assert sum(part.new_turns for part in parts) == whole


def test_each_request_has_a_name_to_continue_from(store: weft.Store) -> None:
    """Requirement: a request's id, or the beginning of it, is a headish; nothing carries it on as a bookmark."""
    records = [{**record, "id": f"0b1e{n}f3a-77aa"} for n, record in enumerate(agent_trace(3))]
    report = taken_in(store, records)

    turn = store.add_turn("try again", continues=records[1]["id"])

    assert store.find(records[1]["id"]) == report.requests[1].turn_id
    assert store.find("0b1e2", prefix=True) == report.requests[2].turn_id
    assert store.parent_ids(turn.id) == [report.requests[1].turn_id]
    assert "head" not in turn.meta
    assert store.find(records[1]["id"]) == report.requests[1].turn_id
    with pytest.raises(UnknownBookmarkError, match="more than one"):
        store.find("0b1e", prefix=True)
    with pytest.raises((UnknownBookmarkError, TurnNotFoundError)):
        store.find("0b1e9", prefix=True)


def test_a_bookmark_wins_over_a_request_of_its_name(store: weft.Store) -> None:
    report = taken_in(store, [claude_record(1, [USER], SAID["content"])])
    turn = store.add_turn("mine", bookmark="c1")

    assert store.find("c1") == turn.id != report.requests[0].turn_id


# -- the same request again --------------------------------------------------------------------------------------------


def test_the_same_request_can_be_written_again(store: weft.Store) -> None:
    """Requirement: same dialect, equal as JSON: tools, system, settings, marks and spelling included."""
    records = agent_trace(8)
    report = taken_in(store, records)

    again = [rewritten(store, str(one.turn_id), has_answer=True) for one in report.requests]

    assert again == [record["request"] for record in records]


def test_each_of_several_requests_over_the_same_messages_keeps_its_own_settings(store: weft.Store) -> None:
    """The same words to two models, at two temperatures, with and without tools: one conversation, four requests."""
    tool = {"name": "depth", "description": "d", "input_schema": {"type": "object"}}
    variations: list[dict[str, Any]] = [{}, {"temperature": 0.5}, {"model": "claude-opus-4-5"}, {"tools": [tool]}]
    same = [claude_record(n, [USER], SAID["content"], request=more) for n, more in enumerate(variations)]
    failed = [{**claude_record(9, [USER], [], request={"top_p": 0.1}), "response": None, "error": "timed out"}]

    report = taken_in(store, [*same, *failed])
    again = taken_in(store, [*same, *failed])

    bodies = [
        rewritten(store, str(one.turn_id), has_answer=has_answer(record))
        for one, record in zip(report.requests, [*same, *failed], strict=True)
    ]
    assert bodies == [record["request"] for record in [*same, *failed]]
    assert again.new_turns == 0
    assert len([node for node in tree_of(store, str(report.requests[0].turn_id)) if not node.parents]) == 1


def test_an_answer_is_kept_as_its_client_sends_it_back(store: weft.Store) -> None:
    """OpenAI's answers have fields that no client echoes; the thread goes on all the same, in one line."""
    first = openai_record(1, [{"role": "user", "content": "a"}], "b")
    echo = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    second = openai_record(2, echo, "d")

    report = taken_in(store, [first, second])

    assert report.new_turns == 4
    assert store.thread(report.requests[1].turn_id).records()[1]["id"] == report.requests[0].turn_id
    model = store.turn(str(report.requests[0].turn_id)).meta["message"]
    assert (model["model"], model["usage"]["input_tokens"]) == ("gpt-5", 50)


def test_a_stream_and_a_whole_answer_become_the_same_turn(store: weft.Store) -> None:
    start = {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "claude-sonnet-4-6", "role": "assistant", "content": []},
    }
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in ("Six ", "metres.")
    ]
    ends: list[dict[str, Any]] = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    whole = claude_record(1, [USER], SAID["content"])
    streamed = {**claude_record(2, [USER], []), "response": sse(start, block, *deltas, *ends)}
    cut = {**claude_record(3, [USER], []), "response": sse(start, block, deltas[0])}

    report = taken_in(store, [whole, streamed, cut])

    assert report.requests[0].turn_id == report.requests[1].turn_id
    assert store.turn(str(report.requests[2].turn_id)).meta["unfinished"] is True


def test_a_request_that_names_the_answer_it_continues_goes_on_from_it(store: weft.Store) -> None:
    """C-3: OpenAI's Responses keep the conversation on their side; the id of the answer leads to it."""

    def answered(number: int, text: str) -> dict[str, Any]:
        item = {"type": "message", "id": f"m{number}", "role": "assistant", "status": "completed"}
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {
            "id": f"resp_{number}",
            "object": "response",
            "model": "gpt-5",
            "status": "completed",
            "output": [{**item, "content": content}],
        }

    base = {"timestamp": "2026-01-05T08:00:00Z", "duration_ms": 1, "error": None}
    first = {**base, "id": "p1", "request": {"model": "gpt-5", "input": "How deep?"}, "response": answered(1, "Six.")}
    body = {"model": "gpt-5", "input": "And there?", "previous_response_id": "resp_1"}
    second = {**base, "id": "p2", "request": body, "response": answered(2, "Nine.")}

    taken_in(store, [first])
    report = taken_in(store, [first, second])
    again = taken_in(store, [first, second])

    texts = [record["content"][0]["text"] for record in store.list(report.requests[1].turn_id)]
    assert texts == ["How deep?", "Six.", "And there?", "Nine."]
    assert again.new_turns == 0


# -- what is not a conversation ----------------------------------------------------------------------------------------


def test_what_is_no_conversation_is_told_and_left_out(store: weft.Store) -> None:
    """J-08: each with its line and the reason; the rest is imported."""
    good = claude_record(1, [USER], SAID["content"])
    embedding = {**good, "id": "e", "request": {"model": "text-embedding-3", "input": {"odd": 1}}, "response": None}
    raw = {**good, "id": "w", "request": None, "error": "reset by peer"}
    broken = {
        **good,
        "id": "b",
        "request": {"model": "claude", "system": "s", "messages": [{"role": "critic", "content": "x"}]},
    }

    report = taken_in(store, [embedding, good, raw, broken])

    assert [(one.line, one.id) for one in report.problems] == [(1, "e"), (3, "w"), (4, "b")]
    assert all(one.problem for one in report.problems)
    assert "reset by peer" in str(report.problems[1].problem)
    assert report.imported == 1


def test_imported_turns_that_were_removed_come_again(store: weft.Store) -> None:
    record = claude_record(1, [USER], SAID["content"])
    first = taken_in(store, [record])
    store.rm(str(first.requests[0].turn_id))

    again = taken_in(store, [record])

    assert again.new_turns == 2
    assert store.find("c1") == again.requests[0].turn_id


@pytest.mark.corpus
@pytest.mark.soak
def test_recorded_traffic_can_be_written_again(tmp_path: Any) -> None:
    """Same dialect in and out, through the store, over all recorded exchanges: equal as JSON but for a handful."""
    folder = COMPONENTS["corpus"].find()
    assert folder is not None
    records = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            held = jsontext.loads(line)
            if isinstance(held.get("request"), dict):
                records.append({**{key: held.get(key) for key in ("id", "request", "response")}, "duration_ms": 1})
    with weft.open_store(tmp_path / "store") as opened:
        report = taken_in(opened, records)
        pairs = [(one, record) for one, record in zip(report.requests, records, strict=True) if one.turn_id]
        differing = [
            one.id
            for one, record in pairs
            if "previous_response_id" not in record["request"]
            and rewritten(opened, str(one.turn_id), has_answer=has_answer(record)) != record["request"]
        ]
        again = taken_in(opened, records)

    assert len(pairs) > 3500
    assert len(differing) <= 3
    assert again.new_turns == 0
