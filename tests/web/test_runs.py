"""Fork and run: the same loop as on the command line, seen from the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import weft
from tests.support.chatting import CLAUDE, GEMINI
from tests.support.recordings import line
from tests.support.sim import running_simulator
from tests.support.viewing import Page, events_of, running_viewer, until
from weft.chat import Chat
from weft.cli.viewing import _asked, _decision
from weft.client import Client, Registry, RetryPolicy
from weft.providers import KeyPlaces
from weft.sim import Simulator
from weft.tools import Approval, Toolbox, tool
from weft.trace import cook
from weft.web import Runs, ThreadsSource, open_recorded

QUESTION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How deep?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "k1", "type": "function", "function": {"name": "depth", "arguments": '{"pier": 4}'}}],
    },
    {"role": "tool", "tool_call_id": "k1", "content": "6.2 m"},
    {"role": "user", "content": "And now?"},
]
CAPTURED = line(0, QUESTION, "6.4 m") + line(1, [], {"error": {"message": "no"}})
CHOICES: Any = {"providers": [{"name": "kilo"}], "servers": []}


@tool
def depth(pier: int) -> str:
    """Tell how deep it is."""
    return f"6.2 m at {pier}"


class Bench(NamedTuple):
    """A viewer whose runs are answered by the simulator."""

    page: Page
    store: weft.Store
    simulator: Simulator

    def begin(self, row_id: str, **rest: Any) -> dict[str, Any]:
        body = {"source_id": "t1", "row_id": row_id, "model": CLAUDE, **rest}
        run: dict[str, Any] = self.page.post("/api/runs", body, status=201)
        return run

    def refused(self, row_id: str, **rest: Any) -> tuple[int, str]:
        body = {"source_id": "t1", "row_id": row_id, "model": CLAUDE, **rest}
        answer = self.page.client.post("/api/runs", json=body)
        return answer.status_code, answer.json()["error"]["code"]

    def ended(self, run: dict[str, Any]) -> dict[str, Any]:
        def is_over() -> Any:
            now = self.page.get(f"/api/runs/{run['id']}")
            return now if now["state"] not in ("running", "asking") else None

        over: dict[str, Any] = until(is_over)
        return over

    def show(self, source_id: str, path: Path, record: dict[str, Any]) -> None:
        """Let the page see one more recording."""
        path.write_text(json.dumps(record) + "\n")
        source = open_recorded(source_id, path)
        while source.is_loading:
            source.poll()
        self.page.viewer._sources[source_id] = source

    def named(self, source_id: str, gist: str) -> str:
        """Give the id of a message of the first request."""
        items = self.page.get(f"/api/sources/{source_id}/rows/r0/diff")["items"]
        return next(str(item["message"]["id"]) for item in items if item["message"]["gist"] == gist)

    def texts(self, turn_id: str) -> list[str]:
        return [turn.text for turn in self.store.thread(turn_id).turns]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path, simulator: Simulator) -> Iterator[Bench]:
    with weft.open_store(tmp_path / "store") as store:
        environ = simulator.environment()

        @asynccontextmanager
        async def open_chat(*, on_event: Any, on_turn: Any, say: Any, ask: Any) -> AsyncIterator[Chat]:
            async def decide(question: Any) -> Any:
                return _decision(await ask(_asked(question)))

            async with (
                Client({}, retries=RetryPolicy(attempts=1)) as client,
                Toolbox([], functions=[depth]) as toolbox,
            ):
                registry = Registry(KeyPlaces(environ, use_keyring=False), environ)
                yield Chat(
                    store,
                    registry,
                    client,
                    toolbox=toolbox,
                    approval=Approval(decide),
                    on_event=on_event,
                    on_turn=on_turn,
                    say=say,
                )

        source = ThreadsSource("t1", "threads", store)
        trace, cooked = tmp_path / "trace.jsonl", tmp_path / "cooked.json"
        trace.write_bytes(CAPTURED)
        cooked.write_text(json.dumps(cook(CAPTURED.splitlines()).to_dict()))
        sources = [source, open_recorded("f1", trace), open_recorded("c1", cooked)]
        while sources[1].is_loading:
            sources[1].poll()
        with running_viewer(sources, runs=Runs(source, open_chat, lambda: CHOICES)) as page:
            yield Bench(page, store, simulator)
        assert store.fsck() == []


def test_a_question_is_answered_beside_the_answer_it_has(bench: Bench) -> None:
    question = bench.store.add_turn("Hello", provider_ptr=CLAUDE).id
    old = bench.store.add_turn("old answer", role="assistant", continues=question).id
    events = events_of(bench.page)
    next(events)

    run = bench.begin(question, model=GEMINI)
    over = bench.ended(run)

    assert over["state"] == "done"
    assert bench.texts(over["turn_id"]) == ["Hello", "You said: Hello"]
    assert bench.store.turn(old).text == "old answer"
    assert bench.page.get(f"/api/sources/t1/rows/{over['turn_id']}")["row"]["model"].startswith("gemini")
    seen = []
    for _, event in events:
        seen.append(event)
        if event["type"] == "run_ended":
            break
    events.close()
    kinds = [event["type"] for event in seen if event["type"] != "graph"]
    assert kinds[0] == "run_begun"
    assert kinds[-2:] == ["run_turn", "run_ended"]
    assert "".join(event["text"] for event in seen if event["type"] == "run_delta") == "You said: Hello"
    assert [event["turn_id"] for event in seen if event["type"] == "run_turn"] == [over["turn_id"]]
    assert bench.page.get("/api/runs")["runs"][0]["id"] == run["id"]


def test_an_answer_is_asked_again_or_gone_on_from(bench: Bench) -> None:
    question = bench.store.add_turn("Hello").id
    answer = bench.store.add_turn("old", role="assistant", continues=question).id

    again = bench.ended(bench.begin(answer))
    on = bench.ended(bench.begin(answer, append="And then?"))

    assert bench.texts(again["turn_id"]) == ["Hello", "You said: Hello"]
    assert bench.texts(on["turn_id"]) == ["Hello", "old", "And then?", "You said: And then?"]
    lonely = bench.store.add_turn("x", role="assistant").id
    assert bench.refused(lonely) == (400, "base")


def test_an_edit_makes_a_new_chain_and_the_old_one_stays(bench: Bench) -> None:
    first = bench.store.add_turn("One", bookmark="notes", provider_ptr=CLAUDE).id
    middle = bench.store.add_turn("Two", role="assistant", continues="notes").id
    last = bench.store.add_turn("Three", continues="notes").id
    items = bench.page.get(f"/api/sources/t1/rows/{last}/diff")["items"]
    ids = [item["message"]["id"] for item in items]

    over = bench.ended(bench.begin(last, edits=[{"message_id": ids[0], "text": "Eins"}]))
    dropped = bench.ended(bench.begin(last, edits=[{"message_id": ids[1], "text": "", "drop": True}]))

    assert bench.texts(over["turn_id"]) == ["Eins", "Two", "Three", "You said: Three"]
    assert bench.texts(dropped["turn_id"])[:2] == ["One", "Three"]
    assert bench.texts(last) == ["One", "Two", "Three"]
    assert {row.name: row.id for row in bench.store.bookmarks()} == {
        "notes": last,
        "notes-2": over["turn_id"],
        "notes-3": dropped["turn_id"],
    }
    assert (first, middle) != (over["base_id"], over["turn_id"])
    assert bench.refused(last, edits=[{"message_id": "none.0", "text": "x"}]) == (404, "not_found")
    assert bench.refused(last, edits=[{"message_id": ids[0]}]) == (400, "parameter")
    assert bench.refused(last, edits="x") == (400, "parameter")
    assert bench.refused(last, append=1) == (400, "parameter")
    assert bench.refused(last, servers=[1]) == (400, "parameter")
    for name in ("\x1b[31mred", " ", "0" * 25):  # G-06, T-12: with an edit as without one
        assert bench.refused(last, bookmark=name, edits=[{"message_id": ids[0], "text": "x"}]) == (400, "usage")
    assert bench.refused("none") == (404, "not_found")


def test_a_name_goes_along_when_the_thread_goes_on_and_stays_when_it_forks(bench: Bench) -> None:
    question = bench.store.add_turn("Hello", bookmark="notes", provider_ptr=CLAUDE).id
    on = bench.ended(bench.begin(question, append="More", model=""))
    fork = bench.ended(bench.begin(question))
    named = bench.ended(bench.begin(question, append="Mine", bookmark="mine"))

    assert {row.name: row.id for row in bench.store.bookmarks()} == {
        "notes": on["turn_id"],
        "notes-2": fork["turn_id"],
        "mine": named["turn_id"],
    }


def test_arguments_and_results_of_tools_can_be_edited_but_not_thinking(bench: Bench) -> None:
    question = bench.store.add_turn("q").id
    blocks = [{"type": "thinking", "thinking": "t"}, {"type": "tool_use", "id": "c", "name": "depth", "input": {}}]
    call = bench.store.add_turn(blocks, json=True, role="assistant", continues=question).id
    result = [{"type": "tool_result", "name": "depth", "tool_use_id": "c", "content": [{"type": "text", "text": "1"}]}]
    last = bench.store.add_turn(result, json=True, continues=call).id
    ids = [item["message"]["id"] for item in bench.page.get(f"/api/sources/t1/rows/{last}/diff")["items"]]

    edits = [{"message_id": ids[2], "text": '{"pier": 9}'}, {"message_id": ids[3], "text": "2"}]
    over = bench.ended(bench.begin(last, edits=edits))

    turns = bench.store.thread(over["turn_id"]).turns
    assert turns[1].content[1]["input"] == {"pier": 9}
    assert turns[2].content[0]["content"] == [{"type": "text", "text": "2"}]
    assert bench.refused(last, edits=[{"message_id": ids[1], "text": "x"}]) == (400, "edit")
    assert bench.refused(last, edits=[{"message_id": ids[2], "text": "not json"}]) == (400, "edit")
    assert bench.refused(last, edits=[{"message_id": ids[2], "text": "[]"}]) == (400, "edit")


def test_a_tool_call_asks_the_page_and_waits(bench: Bench) -> None:
    """M-12: name and full arguments are shown; nothing runs before someone agrees."""
    question = bench.store.add_turn('[[tool depth {"pier": 4}]] How deep?').id
    run = bench.begin(question)
    asking = until(lambda: (now := bench.page.get(f"/api/runs/{run['id']}"))["question"] and now)
    asked = asking["question"]
    path = f"/api/runs/{run['id']}/approvals/{asked['question_id']}"

    assert (asking["state"], asked["tool"], asked["arguments"]) == ("asking", "depth", '{"pier":4}')
    assert "Tell how deep it is." in asked["description"]
    assert bench.page.post(path, {"choice": "perhaps"}, status=400)
    bench.page.post(path, {"choice": "yes"})
    over = bench.ended(run)

    assert over["state"] == "done"
    assert any("6.2 m at 4" in text for text in bench.texts(over["turn_id"]))
    assert bench.page.post(path, {"choice": "yes"}, status=409)


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        ({"choice": "no"}, "stopped", None),
        ({"choice": "different", "text": "Use a rope."}, "done", "Use a rope."),
        ({"choice": "yolo"}, "done", "6.2 m at 4"),
    ],
)
def test_the_other_answers_to_a_tool_call(bench: Bench, answer: dict[str, str], state: str, said: str | None) -> None:
    run = bench.begin(bench.store.add_turn('[[tool depth {"pier": 4}]] How deep?').id)
    asked = until(lambda: bench.page.get(f"/api/runs/{run['id']}")["question"])
    bench.page.post(f"/api/runs/{run['id']}/approvals/{asked['question_id']}", answer)
    over = bench.ended(run)

    assert over["state"] == state
    assert said is None or any(said in text for text in bench.texts(over["turn_id"]))


def test_a_run_is_stopped_and_what_arrived_is_kept(bench: Bench) -> None:
    run = bench.begin(bench.store.add_turn("[[slow 200ms]] one two three four five six").id)
    until(lambda: bench.page.get(f"/api/runs/{run['id']}")["answer"])

    stopped = bench.page.post(f"/api/runs/{run['id']}/stop", {})

    assert (stopped["state"], stopped["turn_id"] != stopped["base_id"]) == ("stopped", True)
    row = bench.page.get(f"/api/sources/t1/rows/{stopped['turn_id']}")["row"]
    assert row["state"] == "incomplete"
    assert bench.page.post(f"/api/runs/{run['id']}/stop", {})["state"] == "stopped"


def test_a_call_that_fails_says_why(bench: Bench) -> None:
    failed = bench.ended(bench.begin(bench.store.add_turn("[[error 529]] x").id))
    nobody = bench.ended(bench.begin(bench.store.add_turn("x").id, model=""))
    wrong = bench.ended(bench.begin(bench.store.add_turn("x").id, model="nobody/none"))

    assert failed["state"] == "failed"
    assert "529" in failed["error"]
    assert "nobody is named" in nobody["error"]
    assert "no provider is called" in wrong["error"]
    assert bench.page.refused("/api/runs/none") == (404, "not_found")


@pytest.mark.parametrize("source", ["f1", "c1"])
def test_a_captured_request_is_continued_on_any_provider(bench: Bench, source: str) -> None:
    """What no other tool has: a captured run and a conversation typed by hand are the same kind of thing."""
    again = bench.ended(bench.begin("r0", source_id=source, model=CLAUDE))
    on = bench.ended(bench.begin("r0", source_id=source, append="Thanks", model=GEMINI))

    assert again["state"] == on["state"] == "done", (again, on)
    said = [turn.role for turn in bench.store.thread(again["turn_id"]).turns]
    assert (said[:3], said[-2:]) == (["system", "user", "assistant"], ["user", "assistant"])
    assert bench.texts(again["turn_id"])[-2].endswith("And now?")
    assert bench.texts(again["turn_id"])[-1]
    assert bench.texts(on["turn_id"])[-3:] == ["6.4 m", "Thanks", "You said: Thanks"]
    assert bench.refused("r1", source_id=source)[0] == 400
    assert bench.refused("r9", source_id=source) == (404, "not_found")


@pytest.mark.parametrize("source", ["f1", "c1"])
def test_a_captured_request_is_continued_with_other_words(bench: Bench, source: str) -> None:
    items = bench.page.get(f"/api/sources/{source}/rows/r0/diff")["items"]
    ids = {item["message"]["gist"]: item["message"]["id"] for item in items}
    edits = [
        {"message_id": ids["And now?"], "text": "And later?"},
        {"message_id": ids['depth({"pier":4})'], "text": '{"pier": 5}'},
        {"message_id": ids["6.2 m"], "text": "7 m"},
        {"message_id": ids["Be brief."], "text": "", "drop": True},
    ]

    over = bench.ended(bench.begin("r0", source_id=source, edits=edits))

    turns = bench.store.thread(over["turn_id"]).turns
    blocks = [(turn.role, block) for turn in turns for block in turn.content]
    assert [role for role, _ in blocks] == ["user", "assistant", "user", "user", "assistant"]
    assert blocks[1][1]["input"] == {"pier": 5}
    assert blocks[2][1]["content"] == [{"type": "text", "text": "7 m"}]
    assert blocks[3][1]["text"] == "And later?"
    assert bench.refused("r0", source_id=source, edits=[{"message_id": "m99", "text": "x"}]) == (400, "usage")
    drops = [{"message_id": message_id, "drop": True} for message_id in ids.values()]
    assert bench.refused("r0", source_id=source, edits=drops) == (400, "base")


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
SOUND = {"name": "sound", "description": "Sounds.", "input_schema": {"type": "object", "properties": {}}}
LOOKED: dict[str, Any] = {
    "id": "q",
    "timestamp": 1,
    "path": "/v1/messages",
    "provider": "anthropic",
    "request": {
        "model": "claude-sonnet-4-6",
        "max_tokens": 77,
        "temperature": 0.25,
        "system": "Be brief.",
        "tools": [SOUND],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "How deep?"}, IMAGE]}],
    },
    "response": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "Six."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
PARTED: dict[str, Any] = {
    "id": "g",
    "timestamp": 1,
    "path": "/v1beta/models/gemini-3-pro-preview:generateContent",
    "request": {
        "contents": [{"role": "user", "parts": [{"text": "How "}, {"text": "deep?"}]}],
        "generationConfig": {"temperature": 0.25},
    },
    "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Six."}]}, "finishReason": "STOP"}]},
}


@pytest.mark.parametrize("append", [None, "And now?"])
@pytest.mark.parametrize("text", [None, "How shallow?"])
def test_a_captured_request_keeps_its_tools_settings_and_pictures(
    bench: Bench, tmp_path: Path, append: str | None, text: str | None
) -> None:
    """Issue 7: asked again, gone on from or edited, everything but the edit is sent as the program sent it."""
    bench.show("x1", tmp_path / "looked.jsonl", LOOKED)
    wanted: dict[str, Any] = {"append": append} if append else {}
    if text is not None:
        wanted["edits"] = [{"message_id": bench.named("x1", "How deep?"), "text": text}]

    over = bench.ended(bench.begin("r0", source_id="x1", **wanted))

    assert over["state"] == "done", over
    body = bench.simulator.seen[-1].body
    assert (body["max_tokens"], body["temperature"], body["system"]) == (77, 0.25, "Be brief.")
    assert body["tools"][0] == SOUND
    assert body["messages"][0]["content"] == [{"type": "text", "text": text or "How deep?"}, IMAGE]
    assert body["messages"][-1]["content"][0]["text"] == (append or text or "How deep?")


def test_what_a_captured_request_said_besides_outlives_the_message_it_was_said_with(
    bench: Bench, tmp_path: Path
) -> None:
    """Issue 7: tools and settings hold at the end of a captured request, and that message is left out here."""
    bench.show("x1", tmp_path / "looked.jsonl", LOOKED)
    (answer,) = bench.page.get("/api/sources/x1/rows/r0")["response"]

    drop = [{"message_id": answer["id"], "drop": True}]
    over = bench.ended(bench.begin("r0", source_id="x1", edits=drop, append="And now?"))

    assert over["state"] == "done", over
    body = bench.simulator.seen[-1].body
    assert (body["max_tokens"], body["temperature"], body["tools"][0]) == (77, 0.25, SOUND)
    assert "Six." not in json.dumps(body["messages"])


def test_servers_are_chosen_whatever_is_left_out(bench: Bench) -> None:
    """Issue 7: the last message is left out, and what was chosen for the run holds at the one before it."""
    first = bench.store.add_turn("One", provider_ptr=CLAUDE).id
    last = bench.store.add_turn("Two", continues=first, provider_ptr=GEMINI).id
    items = bench.page.get(f"/api/sources/t1/rows/{last}/diff")["items"]

    over = bench.ended(bench.begin(last, edits=[{"message_id": items[1]["message"]["id"], "drop": True}], servers=[]))

    assert bench.texts(over["turn_id"]) == ["One", "You said: One"]
    options = bench.store.thread(over["turn_id"]).options
    assert (options["servers"], options["provider_ptr"]) == ([], GEMINI)


@pytest.mark.parametrize("append", [None, "And now?"])
def test_what_is_shown_in_one_piece_and_kept_in_two_is_edited_as_it_is_shown(
    bench: Bench, tmp_path: Path, append: str | None
) -> None:
    """Issue 7: Gemini's texts are shown together; the edited request has the settings of the captured one."""
    bench.show("x1", tmp_path / "parted.jsonl", PARTED)
    edits = [{"message_id": bench.named("x1", "How deep?"), "text": "How shallow?"}]
    more = {"append": append} if append else {}

    over = bench.ended(bench.begin("r0", source_id="x1", model=GEMINI, edits=edits, **more))

    assert over["state"] == "done", over
    body = bench.simulator.seen[-1].body
    assert body["contents"][0]["parts"] == [{"text": "How shallow?"}]
    assert body["contents"][-1]["parts"] == [{"text": append or "How shallow?"}]
    assert body["generationConfig"]["temperature"] == 0.25


def test_a_document_goes_along_and_is_not_edited(bench: Bench, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("six metres")
    first = bench.store.add_turn("Read this").id
    document = bench.store.document(paper).id
    joined = bench.store.add_turn("And?", continues=[first, document]).id
    items = bench.page.get(f"/api/sources/t1/rows/{joined}/diff")["items"]
    ids = {item["message"]["gist"]: item["message"]["id"] for item in items}

    over = bench.ended(bench.begin(joined, edits=[{"message_id": ids["Read this"], "text": "Read it"}]))

    assert over["state"] == "done", over
    assert [turn.content[0]["type"] for turn in bench.store.thread(over["turn_id"]).turns][:3] == [
        "text",
        "document",
        "text",
    ]
    assert bench.refused(joined, edits=[{"message_id": ids["six metres"], "text": "x"}]) == (400, "edit")

    without = bench.ended(bench.begin(joined, edits=[{"message_id": ids["six metres"], "drop": True}]))

    assert bench.texts(without["turn_id"])[:2] == ["Read this", "And?"]


@pytest.mark.parametrize(
    ("edited", "texts"),
    [
        ({"B": "b"}, ["A", "b", "C", "J"]),
        ({"C": "c"}, ["A", "B", "c", "J"]),
        ({"J": None}, ["A", "B", "C"]),
        ({"A": None, "C": None}, ["B", "J"]),
    ],
)
def test_an_edit_of_one_of_two_joined_threads_keeps_the_other(
    bench: Bench, edited: dict[str, str | None], texts: list[str]
) -> None:
    """Issue 7: a thread that joins others is run with all of them, whichever of its messages is edited."""
    first = bench.store.add_turn("A").id
    second = bench.store.add_turn("C", continues=bench.store.add_turn("B").id).id
    joined = bench.store.add_turn("J", continues=[first, second]).id
    items = bench.page.get(f"/api/sources/t1/rows/{joined}/diff")["items"]
    ids = {item["message"]["gist"]: item["message"]["id"] for item in items}
    edits = [
        {"message_id": ids[said], "drop": True} if text is None else {"message_id": ids[said], "text": text}
        for said, text in edited.items()
    ]

    over = bench.ended(bench.begin(joined, edits=edits))

    assert over["state"] == "done", over
    assert bench.texts(over["turn_id"])[:-1] == texts


def test_the_page_learns_whom_it_can_ask(bench: Bench) -> None:
    assert bench.page.get("/api/run-choices") == CHOICES
    assert bench.page.get("/api/sources")["run_source_id"] == "t1"


def test_without_a_store_nothing_is_run(harbour: Any) -> None:
    body = {"source_id": "t1", "row_id": harbour.question, "model": "kilo"}

    assert harbour.page.client.post("/api/runs", json=body).json()["error"]["code"] == "no_runs"
    assert harbour.page.get("/api/runs") == {"runs": []}
    assert harbour.page.refused("/api/run-choices") == (409, "no_runs")
