"""Recording into a store: real traffic, both databases, one session a run; what a killed process left is not lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.recordings import Agent
from tests.support.sim import running_simulator
from weft.store import Exchanges
from weft.trace import (
    Capture,
    Meta,
    Recorder,
    StoreFollower,
    StoreSink,
    find_recording,
    masker_for,
    open_sink,
    records_of,
)


def lines(store: weft.Store) -> list[dict[str, Any]]:
    return [json.loads(line) for _, line in records_of(Exchanges(store.frames))]


def finished(body: bytes, answer: bytes, name: str = "e1", answer_type: str = "application/json") -> Capture:
    capture = Capture(
        Meta(id=name, request_type="application/json", status=200, path="/v1/messages"),
        masker_for(()),
        None,
        limit_bytes=1 << 30,
    )
    capture.meta.response_type = answer_type
    capture.request_body, capture.response_body = body, answer
    return capture


def test_an_agents_run_is_a_session_kept_once(store_url: str, store: weft.Store) -> None:
    """Requirement: --output takes a store's address; each request is there whole, its history once."""
    with running_simulator() as sim:
        url = store_url if "://" in store_url else f"sqlite:///{store_url}"
        agent = Agent(sim, url)
        for n in range(6):
            agent.ask(f"Question {n}. " + "All about tides. " * 40, stream=n % 2 == 0)
        agent.close()

    records = lines(store)
    (session,) = Exchanges(store.frames).sessions()
    recording = find_recording(store, session.id[:8])
    assert [len(record["request"]["messages"]) for record in records] == [1, 3, 5, 7, 9, 11]
    assert {record["state"] for record in records} == {"complete"}
    assert recording.refresh() == 6
    assert [request.parent_id for request in recording.cooked().requests] == [None, *(r["id"] for r in records[:-1])]
    sent = sum(len(json.dumps(record)) for record in records)
    assert Exchanges(store.frames).counts()["chunk_bytes"] < sent * 0.7  # half of it are streams, which nobody repeats
    assert store.fsck() == []


def test_the_same_capture_twice_is_one_exchange(store_url: str, store: weft.Store) -> None:
    """A batch that failed comes again; so may a part of the journal that was written before the kill."""
    sink = StoreSink(store_url, journal=Path("unused"))
    one, two = finished(b'{"model":"m","messages":[]}', b"{}"), finished(b'{"model":"m"}', b"{}", "e2")
    sink.write([one])
    sink.write([one, two, two])
    sink.close()
    other = StoreSink(store_url, journal=Path("unused"))
    other.write([one])
    other.close()

    assert [record["id"] for record in lines(store)] == ["e1", "e2"]
    assert (sink.count, other.count) == (2, 0)


def test_another_process_goes_on_with_the_session(store_url: str, store: weft.Store) -> None:
    """A large exchange is written by a process of its own, which is given the name of the output."""
    sink = open_sink(store_url if "://" in store_url else f"sqlite:///{store_url}")
    assert isinstance(sink, StoreSink)
    sink.write([finished(b'{"model":"m"}', b"{}")])
    sink.note(command="agent --fast")
    other = open_sink(sink.output)
    other.write([finished(b'{"model":"n"}', b"{}", "e2")])
    for each in (sink, other):
        each.close()

    (session,) = Exchanges(store.frames).sessions()
    assert (session.exchanges, session.meta) == (2, {"kind": "proxy", "command": "agent --fast"})


def test_bytes_that_are_no_text_are_kept_beside(store_url: str, store: weft.Store) -> None:
    """X-28: a picture is content of its own, by its hash."""
    picture = bytes(range(256)) * 10
    sink = StoreSink(store_url, journal=Path("unused"))
    sink.write([finished(b'{"model":"m"}', picture, answer_type="image/png")])
    sink.close()

    (record,) = lines(store)
    frame = store.frame(record["response_blob"]["id"])
    assert store.frames.payload(str(frame.hash)) == picture
    assert frame.meta["media_type"] == "image/png"
    assert store.fsck() == []


def test_what_is_nested_past_reading_is_kept_as_text() -> None:
    """J-01: a body nested a hundred thousand deep breaks no recording."""
    from weft.trace.storesink import _new

    deep = b'{"id":"d","request":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    new = _new(deep, "t", "d")

    assert json.loads(new.request)["raw"].startswith('{"id":"d"')
    assert "nested" in str(new.meta["notes"])


def test_what_a_killed_process_left_is_recovered(tmp_path: Path) -> None:
    """X-06: request and answer as far as they came are stored, incomplete: killed, by the next who records there."""
    home = tmp_path / "store"
    program = (
        "import os, sys, time\n"
        "from weft.trace import Meta, Recorder, masker_for, open_sink\n"
        "recorder = Recorder(open_sink(sys.argv[1]), tick_seconds=0.05)\n"
        "capture = recorder.begin(Meta(id='k1', request_type='application/json'), masker_for(()))\n"
        'capture.request_data(b\'{"model":"m","messages":[],"stream":true}\')\n'
        "capture.response_head(200, 'text/event-stream', '')\n"
        "capture.response_data(b'data: {\"choices\":[]}\\n\\n')\n"
        "time.sleep(0.6)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, f"sqlite:///{home}"], check=False)
    assert ended.returncode == -9
    with weft.open_store(home) as store:
        (waiting,) = StoreFollower(store.frames).under_way()
        assert (waiting.id, waiting.model) == ("k1", "m")
        recorder = Recorder(open_sink(f"sqlite:///{home}"))
        tally = recorder.close()

        (record,) = lines(store)
        assert tally.recovered == 1
        assert (record["id"], record["state"], record["reason"]) == ("k1", "incomplete", "killed")
        assert record["response"]["sse_lines"] == ['data: {"choices":[]}']
        assert StoreFollower(store.frames).under_way() == []


@pytest.mark.needs_postgres
def test_a_store_on_a_server_journals_on_this_machine(
    postgres_store_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running_simulator() as sim:
        sink = open_sink(postgres_store_url)
        assert sink.journal.is_relative_to(tmp_path)
        sink.close()
        agent = Agent(sim, postgres_store_url)
        agent.ask("How deep?")
        agent.close()

    with weft.open_store(postgres_store_url) as store:
        assert len(lines(store)) == 1
