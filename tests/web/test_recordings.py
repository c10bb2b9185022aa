"""Traces, cooked files and sessions of a store as sources: what is recorded is shown."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.recordings import DEPTH, Agent, line
from tests.support.sim import running_simulator
from tests.support.viewing import Page, events_of, running_viewer, until
from weft.errors import UsageError
from weft.sim import Simulator
from weft.trace import cook
from weft.trace.decoding import zstd_module
from weft.web import Source, ThreadsSource, open_recorded, session_sources
from weft.web.values import Filters


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


def loaded(source: Source) -> Source:
    """Read all there is, as the server does a slice at a time."""
    while source.is_loading:
        source.poll()
    return source


@pytest.fixture(scope="module")
def agent_run(tmp_path_factory: pytest.TempPathFactory, simulator: Simulator) -> Iterator[tuple[Page, Path]]:
    """An agent's run: three questions in one thread, a fork, another thread with a tool, an error."""
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    agent = Agent(simulator, path)
    agent.ask("How deep is it?")
    agent.ask("And the tide?", temperature=0.5)
    forked = agent.messages[:2]
    agent.ask("Thanks")
    agent.messages = list(forked)
    agent.ask("Are you sure?", stream=False)
    agent.messages = []
    agent.ask("Other <script>alert(1)</script>", tools=[DEPTH], system="Be brief.")
    agent.messages = []
    agent.ask("[[error 529]] please")
    agent.flush()
    agent.close()
    with running_viewer([loaded(open_recorded("f1", path))]) as page:
        yield page, path


def test_requests_are_rows_with_branches_as_the_layout_has_them(agent_run: tuple[Page, Path]) -> None:
    """C-50: what the page draws is the layout, row for row."""
    from weft.trace import layout

    page, path = agent_run
    cooked = cook(path.read_bytes().splitlines())
    graph = page.get("/api/sources/f1/graph")
    rows = graph["rows"]

    assert [(row["record_id"], row["row"], row["column"], row["branch"]) for row in rows] == [
        (each.id, each.row, each.column, each.branch) for each in layout(cooked.requests)
    ]
    assert [row["gist"] for row in rows] == [
        "How deep is it?",
        "And the tide?",
        "Thanks",
        "Are you sure?",
        "Other <script>alert(1)</script>",
        "[[error 529]] please",
    ]
    assert [row["parent_row"] for row in rows] == [None, 0, 1, 0, None, None]
    assert [row["state"] for row in rows] == ["complete"] * 5 + ["failed"]
    assert {row["model"] for row in rows} == {"claude-sonnet-4-6"}
    assert {row["provider"] for row in rows} == {"anthropic"}
    assert any(each["curve"] for each in graph["lines"])


def test_a_request_shows_its_diff_header_and_answer(agent_run: tuple[Page, Path]) -> None:
    """C-51, C-52 and section 11."""
    page, _ = agent_run
    view = page.get("/api/sources/f1/rows/r1")

    assert (view["against_id"], view["diff"]["unchanged"], view["diff"]["added"]) == ("r0", 2, 1)
    assert [head["gist"] for head in view["response"]] == ["You said: And the tide?"]
    assert view["header"]["status"] == 200
    assert view["header"]["endpoint"] == "POST /v1/messages"
    assert view["header"]["stop_reason"] == "end_turn"
    assert json.loads(view["header"]["options"]) == {"max_tokens": 100, "stream": True, "temperature": 0.5}
    assert view["header"]["usage"]["output_tokens"] > 0
    assert view["children"] == ["r2"]
    failed = page.get("/api/sources/f1/rows/r5")
    assert (failed["header"]["status"], failed["row"]["state"]) == (529, "failed")
    assert "verloaded" in failed["header"]["error"]


def test_tools_of_a_request_are_listed_with_what_changed(agent_run: tuple[Page, Path]) -> None:
    page, _ = agent_run
    tools = page.get("/api/sources/f1/rows/r4/tools")["tools"]

    assert [(tool["name"], tool["description"], tool["change"]) for tool in tools] == [
        ("depth", "How deep it is", "unchanged")
    ]
    assert json.loads(tools[0]["parameters"]) == DEPTH["input_schema"]
    compared = page.get("/api/compare", left="f1:r0", right="f1:r4")
    assert [tool["change"] for tool in compared["tools"]] == ["added"]
    assert compared["diff"]["unchanged"] == 0


def test_a_tree_of_requests_is_a_conversation(agent_run: tuple[Page, Path]) -> None:
    page, _ = agent_run
    threads = page.get("/api/sources/f1/threads", limit=2)
    rest = page.get("/api/sources/f1/threads", after=threads["next"])

    assert [(each["title"], each["rows"]) for each in threads["threads"] + rest["threads"]] == [
        ("[[error 529]] please", 1),
        ("Other <script>alert(1)</script>", 1),
        ("How deep is it?", 4),
    ]
    tree = page.get("/api/sources/f1/graph", tree=rest["threads"][0]["id"])
    assert [row["id"] for row in tree["rows"]] == ["r0", "r1", "r2", "r3"]
    assert page.refused("/api/sources/f1/graph", tree="r99") == (404, "not_found")


def test_recordings_are_searched_with_every_filter(agent_run: tuple[Page, Path]) -> None:
    page, _ = agent_run

    def rows(**filters: Any) -> list[tuple[str, str]]:
        hits = page.get("/api/sources/f1/search", **filters)["hits"]
        return [(hit["row_id"], hit["role"]) for hit in hits]

    assert rows(q="TIDE") == [("r1", "assistant"), ("r1", "user")]
    assert rows(q='"the tide"', role="user") == [("r1", "user")]
    assert rows(q="tide", model="sonnet") == rows(q="tide")
    assert rows(q="tide", model="gpt") == []
    assert rows(q="tide", since="2100-01-01") == []
    assert rows(q="tide", until="2100-01-01") == rows(q="tide")
    assert rows(error=1) == [("r5", "assistant")]
    assert page.refused("/api/sources/f1/search") == (400, "query")
    first = page.get("/api/sources/f1/search", q="said", limit=1)
    second = page.get("/api/sources/f1/search", q="said", limit=1, after=first["next"])
    assert first["hits"][0]["message_id"] != second["hits"][0]["message_id"]
    start, end = first["hits"][0]["marks"][0]
    assert first["hits"][0]["snippet"][start:end] == "said"


def test_what_is_looked_at_first_is_ready_when_the_last_record_is_read(agent_run: tuple[Page, Path]) -> None:
    """W-11: who opens a page does not wait for the layout of all rows, nor for the prices to be read."""
    priced: list[str] = []

    def price(provider: str, *_rest: object) -> float:
        priced.append(provider)
        return 1.0

    source = loaded(open_recorded("f1", agent_run[1], price=price))
    drawn = source.drawn()

    assert drawn is not None
    assert (len(drawn.spots), drawn.version) == (6, source.version)
    assert source.picture() is drawn
    assert len(priced) == 1


def test_recordings_are_added_up(agent_run: tuple[Page, Path]) -> None:
    page, _ = agent_run
    stats = page.get("/api/sources/f1/stats")

    assert (stats["scanned"], stats["total"], stats["totals"]["requests"], stats["totals"]["failed"]) == (6, 6, 6, 1)
    assert stats["totals"]["with_usage"] == 5
    rows = [(row["id"], row["gist"]) for row in page.get("/api/sources/f1/graph")["rows"]]
    requests = page.get("/api/sources/f1/stats/request")["groups"]
    threads = page.get("/api/sources/f1/stats/thread")["groups"]
    assert [(group["key"], group["label"]) for group in requests] == rows
    assert (threads[0]["key"], threads[0]["label"]) == ("r0", "How deep is it?")
    assert page.get("/api/sources/f1/misses")["misses"] == []


def test_a_request_is_copied_without_its_key(agent_run: tuple[Page, Path]) -> None:
    """K-01: a variable stands for the key."""
    import shlex

    page, _ = agent_run
    curl = page.get("/api/sources/f1/rows/r4/copy", **{"as": "curl"})["text"]
    words = shlex.split(curl.replace("\\\n", " "))
    python = page.get("/api/sources/f1/rows/r4/copy", **{"as": "python"})["text"]

    assert words[:2] == ["curl", "https://api.anthropic.com/v1/messages"]
    assert "x-api-key: $ANTHROPIC_API_KEY" in words
    assert json.loads(words[-1])["system"] == "Be brief."
    compile(python, "copied", "exec")
    assert "os.environ['ANTHROPIC_API_KEY']" in python
    assert json.loads(page.get("/api/sources/f1/rows/r0/copy")["text"])["max_tokens"] == 100


def test_the_whole_file_is_given_cooked_by_its_id_alone(agent_run: tuple[Page, Path]) -> None:
    """C-53, C-55: /_local serves what was named on the command line, and takes no path."""
    page, path = agent_run

    assert page.get("/_local", source="f1") == cook(path.read_bytes().splitlines()).to_dict()
    assert page.refused("/_local") == (400, "parameter")
    assert page.refused(f"/_local?path={path}") == (400, "parameter")
    assert page.refused("/_local", source="f2") == (404, "not_found")


def test_a_recording_in_progress_appears_with_its_words(tmp_path: Path, simulator: Simulator) -> None:
    path = tmp_path / "live.jsonl"
    path.touch()
    agent = Agent(simulator, path)
    with running_viewer([open_recorded("f1", path)]) as page:
        events = (event for _, event in events_of(page))
        assert next(events)["type"] == "hello"
        with agent.stream("[[slow 60ms]] one two three four five six seven eight nine ten") as answer:
            seen = []
            for _ in answer.iter_bytes():
                pass
        agent.flush()
        for event in events:
            if event["type"] in ("begun", "delta", "ended"):
                seen.append(event)
            if event["type"] == "graph" and event["total"] == 1:
                break
        if seen[-1]["type"] != "ended":
            seen += [next(event for event in events if event["type"] == "ended")]
        row = page.get("/api/sources/f1/graph")["rows"][0]
    agent.close()

    assert [seen[0]["type"], seen[-1]["type"]] == ["begun", "ended"]
    assert seen[0]["model"] == "claude-sonnet-4-6"
    assert seen[0]["gist"].endswith("nine ten")
    said = "".join(event["text"] for event in seen if event["type"] == "delta")
    assert len(said) > 5
    assert "You said: one two three four five six seven eight nine ten".startswith(said)
    assert row["state"] == "complete"


def test_lines_are_taken_in_as_they_are_written(tmp_path: Path) -> None:
    """A line that is half there is waited for; a file that is replaced is begun anew."""
    path = tmp_path / "trace.jsonl"
    hello = [{"role": "user", "content": "hello"}]
    first, second = line(0, hello), line(1, [*hello, {"role": "assistant", "content": "ok"}, *hello])
    path.write_bytes(first)
    source = loaded(open_recorded("f1", path))
    version = source.version

    assert source.counts() == (1, 2)
    assert source.poll() is False
    with path.open("ab") as file:
        file.write(second[:20])
    assert source.poll() is False
    with path.open("ab") as file:
        file.write(second[20:-1])
    assert source.poll() is True  # all of it but its end
    with path.open("ab") as file:
        file.write(b"\n" + b"not json\n\n" + line(2, hello))
    assert source.poll() is True
    assert source.counts()[0] == 3
    assert source.version > version
    assert [problem for problem in source.problems if "not JSON" in problem]
    path.unlink()
    assert source.poll() is False
    path.write_bytes(line(5, hello))
    assert source.poll() is True
    assert source.counts()[0] == 1
    assert [row["record_id"] for row in source.graph(0, 10, None)["rows"]] == ["q5"]


def test_what_comes_late_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    hello: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    longer = [*hello, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "more"}]
    path.write_bytes(line(9, longer))
    source = loaded(open_recorded("f1", path))
    before = source.picture()
    with path.open("ab") as file:
        file.write(line(1, hello))
    source.poll()
    rows = source.graph(0, 10, None)["rows"]

    assert [(row["id"], row["record_id"], row["parent_id"]) for row in rows] == [("r1", "q1", None), ("r0", "q9", "r1")]
    assert source.first_change(before) == 0
    assert source.view("r0", None)["diff"]["added"] == 1


@pytest.mark.parametrize("form", ["list", "object", "pretty", "lines"])
def test_every_form_of_a_trace_is_read(tmp_path: Path, form: str) -> None:
    """C-13."""
    record = json.loads(line(0, [{"role": "user", "content": "hello"}]))
    texts = {
        "list": json.dumps([record]),
        "object": json.dumps(record),
        "pretty": json.dumps(record, indent=1),
        "lines": f"\n{json.dumps(record)}\n",
    }
    path = tmp_path / "trace.json"
    path.write_text(texts[form])
    source = loaded(open_recorded("f1", path))

    assert source.counts() == (1, 2)
    view = source.view("r0", None)
    assert view["row"]["gist"] == "hello"
    assert json.loads(source.copy_of("r0", "json"))["model"] == "mint-1"


@pytest.mark.parametrize("name", ["trace.jsonl.zst", "trace.jsonl"])
def test_a_trace_in_zstd_is_read(tmp_path: Path, name: str) -> None:
    """C-13: by its name, or by what it begins with."""
    path = tmp_path / name
    path.write_bytes(zstd_module().compress(line(0, [{"role": "user", "content": "packed"}])))
    source = loaded(open_recorded("f1", path))

    assert source.view("r0", None)["row"]["gist"] == "packed"
    assert json.loads(source.copy_of("r0", "json"))["messages"][0]["content"] == "packed"


def test_the_last_line_of_a_file_may_be_long_and_lack_its_end(tmp_path: Path) -> None:
    """C-5: as other programs write it, with a mark at the beginning; the whole file is not held for it."""
    path = tmp_path / "t.jsonl"
    records = [{"id": name, "request": {"messages": [{"role": "user", "content": "x" * 1_500_000}]}} for name in "ab"]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(json.dumps(record) for record in records).encode())
    source = loaded(open_recorded("f1", path))

    assert source.counts()[0] == 2
    assert [source.header(row)["options"] for row in ("r0", "r1")] == ["{}", "{}"]
    with running_viewer([source]) as page:
        copied = page.get("/api/sources/f1/rows/r0/copy?as=json")["text"]
    assert json.loads(copied) == records[0]["request"]


def test_a_long_first_record_does_not_have_the_whole_file_read(tmp_path: Path) -> None:
    """W-11: what a file is, its first line tells, however long that is."""
    path = tmp_path / "t.jsonl"
    line = json.dumps({"id": "a", "request": {"messages": [{"role": "user", "content": "x" * 200_000}]}}) + "\n"
    path.write_text(line * 100)
    tracemalloc.start()
    try:
        open_recorded("f1", path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 10 * len(line)


def test_damage_in_a_packed_trace_is_told(tmp_path: Path) -> None:
    """J-08."""
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(zstd_module().compress(b'{"id": "a", "request": {"messages": []}}\n') + b"no zstd")
    source = loaded(open_recorded("f1", path))

    assert source.counts()[0] == 1
    assert [problem.partition(":")[0] for problem in source.problems] == ["damaged"]


def test_a_result_in_an_object_of_its_own_is_told_as_it_is(tmp_path: Path) -> None:
    """Section 11: the row shows what was said; Gemini wants results as objects."""
    path = tmp_path / "t.jsonl"
    parts = [{"functionResponse": {"name": "depth", "response": {"result": "6 m"}}}]
    path.write_text(json.dumps({"id": "a", "request": {"contents": [{"role": "user", "parts": parts}]}}) + "\n")
    source = loaded(open_recorded("f1", path))

    assert [facts.gist for facts in source.facts(["r0"])] == ["6 m"]
    assert source.bodies(["m0"])[0].content == '{"result": "6 m"}'


def test_a_cooked_file_is_shown_as_it_is(agent_run: tuple[Page, Path], tmp_path: Path) -> None:
    """C-15."""
    page, trace = agent_run
    path = tmp_path / "cooked.json"
    cooked = cook(trace.read_bytes().splitlines()).to_dict()
    path.write_text(json.dumps(cooked, indent=2))
    with running_viewer([open_recorded("c1", path)]) as shown:
        rows = shown.get("/api/sources/c1/graph")["rows"]
        view = shown.get("/api/sources/c1/rows/r1")
        hits = shown.get("/api/sources/c1/search", q="tide")["hits"]
        local = shown.get("/_local", source="c1")
        copied = json.loads(shown.get("/api/sources/c1/rows/r0/copy")["text"])
        no_curl = shown.refused("/api/sources/c1/rows/r0/copy", **{"as": "curl"})
        source = shown.get("/api/sources/c1")

    theirs = page.get("/api/sources/f1/graph")["rows"]
    for row in (*rows, *theirs):
        for key in ("provider", "state"):  # what only a record tells
            row.pop(key)
    assert rows == theirs
    assert view["diff"] == page.get("/api/sources/f1/rows/r1")["diff"]
    assert view["header"]["usage"] is None
    assert {hit["row_id"] for hit in hits} == {"r1"}
    assert local == cooked
    assert copied["request_messages"][0]["content"] == "How deep is it?"
    assert no_curl == (409, "no_record")
    assert (source["is_live"], source["is_loading"]) == (False, False)


def test_ids_of_a_cooked_file_are_nothing_but_names(tmp_path: Path) -> None:
    """W-06, W-07: ids that are paths or markup never reach an address."""
    evil = "../../etc/passwd?<script>alert(1)</script>"
    message = {"id": evil, "role": "<b>", "content": "x", "tool_calls": None, "tool_use_id": None, "is_error": None}
    request = {
        "id": evil,
        "parent_id": evil,
        "timestamp": "soon",
        "request_messages": [evil, "gone"],
        "response_messages": [],
        "model": evil,
        "tools": [],
        "duration_ms": None,
    }
    path = tmp_path / "cooked.json"
    path.write_text(json.dumps({"messages": [message], "tools": [], "requests": [request]}))
    source = open_recorded("c1", path)
    view = source.view("r0", None)

    assert view["row"]["record_id"] == evil
    assert (view["row"]["id"], view["row"]["parent_id"], view["row"]["timestamp_ms"]) == ("r0", None, 0)
    assert [item["message"]["id"] for item in view["diff"]["runs"][0]["items"]] == ["m0"]
    assert "not in the file" in source.problems[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"just words\nand more\n", "no recording"),
        (b'{"messages": {}, "tools": [], "requests": []}', "not a cooked trace"),
        (b'{"a": 1}\n{"b": 2}\n', "no recording"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=said):
        open_recorded("f1", path)


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    """W-06."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "nothing"):
        with pytest.raises(UsageError):
            open_recorded("f1", path)


def test_calls_and_results_of_one_tool_are_found(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    call = {"id": "k1", "function": {"name": "dig", "arguments": '{"n": 2}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "k1", "content": "ok"},
    ]
    path.write_bytes(line(0, messages))
    source = loaded(open_recorded("f1", path))
    found = source.search(Filters("", tool="dig"), None, 10)
    view = source.view("r0", None)

    assert [hit["role"] for hit in found["hits"]] == ["tool_result", "tool_use"]
    assert [item["message"]["gist"] for item in view["diff"]["runs"][0]["items"]][1] == 'dig({"n":2})'
    assert source.search(Filters("n", tool="saw"), None, 10)["hits"] == []
    assert view["row"]["role"] == "tool_result"


def test_records_of_odd_shapes_are_shown_or_told_of(tmp_path: Path) -> None:
    """C-16, G-08: good ones are cooked, bad ones listed, and nothing falls over."""
    path = tmp_path / "trace.jsonl"
    hello = [{"role": "user", "content": "hello"}]
    late = json.loads(line(0, hello))
    reordered = {key: late[key] for key in ("response", "id", "timestamp", "duration_ms", "error", "request")}
    path.write_bytes(
        json.dumps(reordered).encode()
        + b"\n"
        + line(1, hello, None, error="timed out")
        + line(2, hello, {"raw": "<html>"}, status=502, method="POST", path="/v1/chat/completions?x=1")
        + line(3, hello, None, state="incomplete", reason="killed", turn_id="03h8o4xqrabo925srrmkeeifg")
        + b'[1, 2]\n{"a": 1}\n{"messages": [], "tools": [], "requests": []}\n'
    )
    source = loaded(open_recorded("f1", path))
    rows = source.graph(0, 10, None)["rows"]

    assert [row["state"] for row in rows] == ["complete", "failed", "failed", "incomplete"]
    assert len(source.problems) == 3
    headers = [source.header(row["id"]) for row in rows]
    assert [header["error"] for header in headers] == [None, "timed out", "status 502", "incomplete: killed"]
    assert headers[2]["endpoint"] == "POST /v1/chat/completions?x=1"
    assert headers[3]["turn_id"] == "03h8o4xqrabo925srrmkeeifg"
    assert "https://api.openai.com/v1/chat/completions?x=1" in source.copy_of(rows[2]["id"], "curl")


def test_an_empty_trace_has_no_requests_yet(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.touch()
    source = loaded(open_recorded("f1", path))

    assert source.graph(0, 10, None)["rows"] == []
    assert source.describe()["rows"] == 0
    path.write_bytes(line(0, [{"role": "user", "content": "x"}]))
    assert source.poll() is True


def test_recordings_in_a_store_are_sources_and_grow(tmp_path: Path, simulator: Simulator) -> None:
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        agent = Agent(simulator, f"sqlite:///{folder}")
        agent.ask("How deep is it?")
        agent.flush()
        sources = session_sources("s1", store)
        with running_viewer(sources) as page:
            source_id = sources[0].id
            until(lambda: page.get(f"/api/sources/{source_id}")["rows"] == 1)
            agent.ask("And the tide?")
            agent.flush()
            until(lambda: page.get(f"/api/sources/{source_id}")["rows"] == 2)
            view = page.get(f"/api/sources/{source_id}/rows/r1")
        agent.close()
        again = session_sources("s1", store, known=[source_id])

    assert [source.kind for source in sources] == ["session"]
    assert view["diff"]["unchanged"] == 2
    assert view["header"]["stop_reason"] == "end_turn"
    assert again == []


def test_a_trace_and_a_thread_are_compared(agent_run: tuple[Page, Path], small_store: weft.Store) -> None:
    _, path = agent_run
    small_store.add_turn("How deep is it?")
    small_store.add_turn("You said: How deep is it?", role="assistant", respond=True)
    turn = small_store.add_turn("And the ebb?", respond=True).id
    sources = [loaded(open_recorded("f1", path)), ThreadsSource("t1", "threads", small_store)]
    with running_viewer(sources) as page:
        compared = page.get("/api/compare", left="f1:r1", right=f"t1:{turn}")
        items = page.get("/api/compare/diff", left="f1:r1", right=f"t1:{turn}")["items"]

    assert [(run["op"], run["count"]) for run in compared["diff"]["runs"]] == [
        ("unchanged", 2),
        ("deleted", 2),
        ("added", 1),
    ]
    assert items[-1]["message"]["gist"] == "And the ebb?"
    assert items[2]["message"]["id"].startswith("m")


def test_why_a_prompt_cache_was_missed(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"

    def told(number: int, messages: list[str], cached: int | None, minute: int = 0, **rest: Any) -> bytes:
        usage: dict[str, Any] = {"prompt_tokens": 2000 + number, "completion_tokens": 1}
        if cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        answer = {"choices": [{"message": {"role": "assistant", "content": "ok"}}], "usage": usage}
        said = [{"role": "user" if n else "system", "content": text} for n, text in enumerate(messages)]
        record = json.loads(line(number, said, answer))
        record["timestamp"] = f"2026-01-01T00:{minute:02d}:{number:02d}+00:00"
        record["request"] |= rest
        return json.dumps(record).encode() + b"\n"

    tool = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    base = ["sys", *(f"m{n}" for n in range(8))]
    path.write_bytes(
        told(0, base, 0)
        + told(1, [*base, "a"], 1900)  # a hit
        + told(2, [*base, "a", "b"], 0)
        + told(3, [*base, "a", "b", "c"], 0, tools=tool)
        + told(4, ["other", *base[1:], "a", "b", "c", "d"], 0, tools=tool)
        + told(5, ["other", *base[1:], "x", "b", "c", "d", "e"], 0, tools=tool)
        + told(6, ["other", *base[1:], "x", "b", "c", "d", "e", "f"], 0, minute=20, tools=tool)
        + told(7, ["other", *base[1:], "x", "b", "c", "d", "e", "f", "g"], None, minute=20, tools=tool)
    )
    source = loaded(open_recorded("f1", path, price=lambda *_: 0.25))
    page = source.misses(0, 10)

    assert [(miss["row_id"], miss["reason"]) for miss in page["misses"]] == [
        ("r2", "unknown"),
        ("r3", "tools_changed"),
        ("r4", "system_changed"),
        ("r5", "history_changed"),
        ("r6", "expired"),
    ]
    assert page["misses"][3]["message_id"] is not None
    assert source.view("r6", None)["header"]["cache_miss"] is not None
    assert source.view("r1", None)["header"]["cache_miss"] is None
    assert source.tally().stats()["totals"]["cost_usd"] == 2.0
