"""The threads of a store as a source: rows, messages, diffs, search, sums."""

from __future__ import annotations

import json
from typing import Any

import pytest

import weft
from tests.support.viewing import running_viewer
from tests.web.conftest import Harbour
from weft.web import ThreadsSource


def test_every_turn_is_a_row_with_its_names_and_branches(harbour: Harbour) -> None:
    graph = harbour.page.get("/api/sources/t1/graph")
    rows = {row["id"]: row for row in graph["rows"]}

    assert graph["total"] == len(rows) == 7
    assert [rows[one]["role"] for one in (harbour.question, harbour.answer, harbour.left)] == [
        "user",
        "tool_use",
        "tool_result",
    ]
    assert rows[harbour.left]["bookmarks"] == ["doubt"]
    assert rows[harbour.joined]["merges"] == [harbour.right]
    assert rows[harbour.joined]["gist"] == "[joins threads]"
    assert rows[harbour.document]["gist"].startswith("[document evil.html")
    assert rows[harbour.answer]["parent_row"] == rows[harbour.question]["row"]
    assert rows[harbour.question]["child_id"] == harbour.answer
    assert rows[harbour.image]["isolated"] is True


def test_a_tree_is_shown_alone_and_counted_from_its_first_row(harbour: Harbour) -> None:
    page = harbour.page
    graph = page.get("/api/sources/t1/graph", tree=harbour.right)

    assert [row["id"] for row in graph["rows"]][:2] == [harbour.question, harbour.answer]
    assert (graph["total"], graph["tree_id"]) == (5, harbour.question)
    assert page.get(f"/api/sources/t1/rows/{harbour.answer}/place", tree=harbour.left) == {
        "id": harbour.answer,
        "row": 1,
        "total": 5,
    }
    assert page.refused("/api/sources/t1/graph", tree="nothing") == (404, "not_found")


def test_a_window_of_rows_comes_with_the_lines_that_pass_it(harbour: Harbour) -> None:
    whole = harbour.page.get("/api/sources/t1/graph")
    part = harbour.page.get("/api/sources/t1/graph", offset=2, limit=2)

    assert part["rows"] == whole["rows"][2:4]
    assert {line["branch"] for line in part["lines"]} <= {line["branch"] for line in whole["lines"]}
    assert any(line["curve"] for line in part["lines"])
    assert harbour.page.get("/api/sources/t1/graph", offset=1000)["rows"] == []
    assert harbour.page.refused("/api/sources/t1/graph", offset="-1") == (400, "parameter")
    assert harbour.page.refused("/api/sources/t1/graph", limit="many") == (400, "parameter")


def test_a_turn_shows_what_it_adds_and_the_options_of_its_thread(harbour: Harbour) -> None:
    view = harbour.page.get(f"/api/sources/t1/rows/{harbour.answer}")

    assert {key: view["diff"][key] for key in ("unchanged", "added", "deleted")} == {
        "unchanged": 1,
        "added": 3,
        "deleted": 0,
    }
    folded, new = view["diff"]["runs"]
    assert (folded["op"], folded["count"], folded["items"]) == ("unchanged", 1, [])
    assert [item["message"]["role"] for item in new["items"]] == ["thinking", "assistant", "tool_use"]
    assert json.loads(view["header"]["options"]) == {"provider_ptr": "kilo"}
    assert view["against_id"] == harbour.question
    assert sorted(view["children"]) == sorted([harbour.left, harbour.right])


def test_any_window_of_a_diff_can_be_asked_for(harbour: Harbour) -> None:
    items = harbour.page.get(f"/api/sources/t1/rows/{harbour.answer}/diff", start=0, count=2)

    assert items["total"] == 4
    assert [item["op"] for item in items["items"]] == ["unchanged", "added"]
    assert harbour.page.get(f"/api/sources/t1/rows/{harbour.answer}/diff", start=99)["items"] == []


def test_joined_threads_have_the_turns_of_both(harbour: Harbour) -> None:
    view = harbour.page.get(f"/api/sources/t1/rows/{harbour.joined}")

    assert view["against_id"] == harbour.left
    assert (view["diff"]["unchanged"], view["diff"]["added"]) == (5, 1)


def test_bodies_are_fetched_by_id_and_are_exact(harbour: Harbour) -> None:
    page = harbour.page
    items = page.get(f"/api/sources/t1/rows/{harbour.left}/diff")["items"]
    ids = [item["message"]["id"] for item in items]

    messages = page.get("/api/sources/t1/messages", ids=",".join([*ids, "u-unknown.0", "x.y"]))["messages"]

    assert [message["id"] for message in messages] == ids
    assert messages[2]["content"] == "I ask."
    assert messages[3]["tool_calls"][0] == {
        "name": "depth",
        "id": "c1",
        "arguments": '{"pier":4,"big":1180591620717411303424}',
        "size": 39,
        "is_cut": False,
    }
    assert messages[4]["content"] == 'no\u202e sonar\n[image]\n{"type":"x"}'
    assert (messages[4]["is_error"], messages[4]["tool_use_id"]) == (True, "c1")
    assert page.refused("/api/sources/t1/messages", ids=",".join("a" for _ in range(101))) == (400, "parameter")


def test_equal_content_is_one_message_in_every_branch(small_store: weft.Store) -> None:
    first = small_store.add_turn("same").id
    second = small_store.add_turn("same").id
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        ids = [
            page.get(f"/api/sources/t1/rows/{turn}")["diff"]["runs"][0]["items"][0]["message"]["id"]
            for turn in (first, second)
        ]

    assert ids[0] == ids[1]


def test_a_long_text_is_cut_and_read_on_in_pieces(small_store: weft.Store) -> None:
    text = "".join(chr(0x1F600 + n % 60) for n in range(70_000))
    call = [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": "x" * 1000}}]
    small_store.add_turn(text)
    turn = small_store.add_turn(call, json=True, role="assistant", respond=True).id
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        items = page.get(f"/api/sources/t1/rows/{turn}/diff")["items"]
        long_id, call_id = (item["message"]["id"] for item in items)
        message = page.get("/api/sources/t1/messages", ids=long_id, max=100)["messages"][0]
        pieces: list[str] = []
        at: Any = 0
        while at is not None:
            piece = page.get(f"/api/sources/t1/messages/{long_id}/content", start=at, count=30_000)
            pieces.append(piece["text"])
            at = piece["next"]
        arguments = page.get(f"/api/sources/t1/messages/{call_id}/content", part="call-0", count=5)
        cut = page.get("/api/sources/t1/messages", ids=call_id, max=10)["messages"][0]["tool_calls"][0]
        refusals = [
            page.refused(f"/api/sources/t1/messages/{call_id}/content", part="call-1"),
            page.refused(f"/api/sources/t1/messages/{call_id}/content", part="file"),
            page.refused("/api/sources/t1/messages/none/content"),
        ]

    assert (message["size"], message["is_cut"], len(message["content"])) == (70_000, True, 100)
    assert "".join(pieces) == text
    assert arguments == {"text": '{"a":', "start": 0, "next": 5, "size": 1008}
    assert (cut["is_cut"], cut["size"]) == (True, 1008)
    assert refusals == [(404, "not_found"), (400, "parameter"), (404, "not_found")]


def test_images_are_shown_and_documents_only_saved(harbour: Harbour) -> None:
    """W-09, the good half: pixels may be shown in the page."""
    page = harbour.page
    view = page.get(f"/api/sources/t1/rows/{harbour.image}")
    blob = view["diff"]["runs"][0]["items"][0]["message"]["blobs"][0]
    answer = page.client.get(f"/api/sources/t1/blobs/{blob['id']}")
    document = page.get(f"/api/sources/t1/rows/{harbour.document}")["diff"]["runs"][0]["items"][0]["message"]

    assert (blob["media_type"], blob["is_image"], blob["size_bytes"]) == ("image/png", True, 8)
    assert (answer.content, answer.headers["content-type"]) == (b"\x89PNG\r\n\x1a\n", "image/png")
    assert (document["blobs"][0]["name"], document["blobs"][0]["is_image"]) == ("evil.html", False)
    assert page.refused("/api/sources/t1/blobs/none") == (404, "not_found")
    assert page.refused(f"/api/sources/t1/blobs/d{harbour.question}") == (404, "not_found")


def test_ends_of_threads_are_listed_page_by_page(harbour: Harbour) -> None:
    page = harbour.page
    first = page.get("/api/sources/t1/threads", limit=1)
    rest = page.get("/api/sources/t1/threads", limit=50, after=first["next"])

    assert first["threads"][0]["id"] == harbour.image
    assert [each["id"] for each in rest["threads"]] == [harbour.document, harbour.joined]
    assert rest["threads"][1]["title"] == "How deep is it?"
    assert rest["next"] is None


def test_search_finds_turns_and_marks_the_words(harbour: Harbour) -> None:
    page = harbour.page
    hits = page.get("/api/sources/t1/search", q="SONAR")["hits"]

    assert [(hit["row_id"], hit["role"]) for hit in hits] == [
        (harbour.left, "tool_result"),
        (harbour.answer, "thinking"),
    ]
    start, end = hits[1]["marks"][0]
    assert hits[1]["snippet"][start:end] == "sonar"
    assert [hit["row_id"] for hit in page.get("/api/sources/t1/search", q="sonar", error=1)["hits"]] == [harbour.left]
    assert [hit["role"] for hit in page.get("/api/sources/t1/search", q="depth", tool="depth")["hits"]] == ["tool_use"]
    assert page.get("/api/sources/t1/search", q="deep", role="assistant")["hits"] == []
    assert page.get("/api/sources/t1/search", q="deep", until="2020-01-01")["hits"] == []
    assert len(page.get("/api/sources/t1/search", q="deep", since="2020-01-01T00:00:00+00:00")["hits"]) == 1
    assert page.refused("/api/sources/t1/search", q="deep", since="yesterday") == (400, "parameter")


def test_search_goes_on_where_the_last_page_ended(small_store: weft.Store) -> None:
    turns = [small_store.add_turn(f"needle {n}").id for n in range(5)]
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        found: list[str] = []
        after: Any = ""
        while after is not None:
            answer = page.get("/api/sources/t1/search", q="needle", limit=2, after=after)
            found += [hit["row_id"] for hit in answer["hits"]]
            after = answer["next"]

    assert found == turns[::-1]


def test_any_two_turns_are_compared(harbour: Harbour) -> None:
    page = harbour.page
    sides = {"left": f"t1:{harbour.left}", "right": f"t1:{harbour.right}"}
    compared = page.get("/api/compare", **sides)
    items = page.get("/api/compare/diff", **sides, start=4)

    assert [(run["op"], run["count"]) for run in compared["diff"]["runs"]] == [
        ("unchanged", 4),
        ("deleted", 1),
        ("added", 1),
    ]
    assert [item["op"] for item in items["items"]] == ["deleted", "added"]
    assert compared["left"]["row"]["id"] == harbour.left
    assert page.refused("/api/compare", left="t1", right="t1:x") == (400, "parameter")
    assert page.refused("/api/compare", left="no:x", right="t1:x") == (404, "not_found")
    assert page.refused("/api/compare", left=f"t1:{harbour.left}", right="t1:x") == (404, "not_found")


def test_options_that_differ_are_named(small_store: weft.Store) -> None:
    left = small_store.add_turn("a", provider_ptr="kilo").id
    right = small_store.add_turn("a", search=True).id
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        compared = page.get("/api/compare", left=f"t1:{left}", right=f"t1:{right}")

    assert compared["options"] == [
        {"name": "provider_ptr", "left": '"kilo"', "right": None},
        {"name": "search", "left": None, "right": "true"},
    ]


@pytest.mark.parametrize(
    "path", ["rows/none", "rows/none/diff", "rows/none/tools", "rows/none/copy", "rows/none/place"]
)
def test_what_is_not_there_is_said_so(harbour: Harbour, path: str) -> None:
    assert harbour.page.refused(f"/api/sources/t1/{path}") == (404, "not_found")


def test_a_thread_is_copied_as_json_and_needs_a_provider_for_more(harbour: Harbour) -> None:
    page = harbour.page
    copied = json.loads(page.get(f"/api/sources/t1/rows/{harbour.question}/copy")["text"])

    assert copied["messages"] == [{"role": "user", "content": [{"type": "text", "text": "How deep is it?"}]}]
    assert page.refused(f"/api/sources/t1/rows/{harbour.question}/copy", **{"as": "curl"}) == (409, "no_runs")
    assert page.refused(f"/api/sources/t1/rows/{harbour.question}/copy", **{"as": "cobol"}) == (400, "parameter")


def test_what_answers_used_is_added_up_by_day_thread_and_model(small_store: weft.Store) -> None:
    from weft.jsontext import dumps
    from weft.threads import Addition

    prices = {"anthropic": 0.5, "openai": None}
    question = small_store.add_turn("q").id
    parent = question
    usages = [
        ("anthropic", {"input_tokens": 100, "cache_read_input_tokens": 2000, "output_tokens": 5}, "message"),
        ("anthropic", {"input_tokens": 2200, "cache_read_input_tokens": 0, "output_tokens": 6}, "message"),
        ("openai", {"input_tokens": 10, "output_tokens": 7}, None),
    ]
    turns = []
    for provider, usage, kind in usages:
        message = {"model": f"{provider}-1", "provider": provider, "usage": usage, "type": kind}
        added = Addition(dumps([{"type": "text", "text": "a"}]), "assistant", [parent], extra={"message": message})
        parent = small_store.add(added).id
        turns.append(parent)
    source = ThreadsSource("t1", "threads", small_store, price=lambda provider, *_: prices.get(provider))
    with running_viewer([source]) as page:
        stats = page.get("/api/sources/t1/stats")
        models = page.get("/api/sources/t1/stats/model")["groups"]
        calls = page.get("/api/sources/t1/stats/request", offset=1, limit=1)
        threads = page.get("/api/sources/t1/stats/thread")["groups"]
        misses = page.get("/api/sources/t1/misses")["misses"]
        view = page.get(f"/api/sources/t1/rows/{turns[1]}")
        later = small_store.add(
            Addition(b"[]", "assistant", [parent], extra={"message": {"model": "m", "usage": {"output_tokens": 1}}})
        )
        after = page.get(f"/api/sources/t1/rows/{later.id}")["header"]["usage"]
        again = page.get("/api/sources/t1/stats")
        unknown = page.refused("/api/sources/t1/stats/week")

    assert (stats["scanned"], stats["total"], stats["misses"]) == (3, 3, 1)
    assert stats["totals"]["input_tokens"] == 2100 + 2200 + 10
    assert (stats["totals"]["cached_tokens"], stats["totals"]["cost_usd"]) == (2000, 1.0)
    assert [group["key"] for group in models] == ["anthropic-1", "openai-1"]
    assert [group["key"] for group in calls["groups"]] == [turns[1]]
    assert calls["total"] == 3
    assert [(group["key"], group["totals"]["requests"]) for group in threads] == [(question, 3)]
    assert (calls["groups"][0]["label"], threads[0]["label"]) == ("a", "q")
    assert [(miss["row_id"], miss["reason"], miss["expected_tokens"]) for miss in misses] == [
        (turns[1], "unknown", 2100)
    ]
    assert view["header"]["cache_miss"]["reason"] == "unknown"
    assert after["output_tokens"] == 1
    assert again["totals"]["requests"] == 4
    assert unknown == (404, "not_found")
