"""Sharing: one HTML file, redacted unless asked otherwise, that needs no server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.traces import agent_records, openai, write_trace
from tests.support.viewing import Page, running_viewer
from tests.web.conftest import Harbour
from weft.web import ThreadsSource, open_recorded

KEY = "sk-ant-api03-" + base64.urlsafe_b64encode(hashlib.sha512(b"made up").digest())[:80].decode() + "-AA"


def exported(page: Page, **wanted: Any) -> tuple[str, dict[str, Any]]:
    answer = page.client.post("/api/export", json={"source_id": "t1", **wanted})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert "sandbox" in answer.headers["content-security-policy"]
    found = re.search(r'<script type="application/json" id="weft-export">(.*?)</script>', answer.text, re.DOTALL)
    assert found is not None
    return answer.text, json.loads(found[1])


def test_a_file_holds_the_page_and_the_data_and_allows_nothing_else(harbour: Harbour) -> None:
    text, data = exported(harbour.page, scope="source")
    policy = re.search(r'content-security-policy" content="([^"]*)"', text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert policy is not None
    assert script is not None

    assert "'sha256-" + base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode() + "'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert text.count("</script>") == 2
    assert "<!--" not in text
    assert not re.search(r"(?:src|href)=", text)
    assert data["format"] == "weft-export-2"
    assert len(data["graph"]["rows"]) == len(data["rows"]) == 7
    assert data["is_redacted"] is True


def test_a_file_holds_every_message_it_shows(harbour: Harbour) -> None:
    _, data = exported(harbour.page, scope="branch", row_id=harbour.left)

    shown = [name for row in data["rows"].values() for name in (*row["more"], *row["answered"])]
    assert len(shown) == 5
    assert set(shown) == data["messages"].keys() == data["heads"].keys()
    assert data["rows"][harbour.left]["runs"] == [["unchanged", 4], ["added", 1]]
    assert [row["id"] for row in data["graph"]["rows"]] == [harbour.question, harbour.answer, harbour.left]
    assert (data["selected_id"], data["source"]["rows"]) == (harbour.left, 3)


def test_one_row_or_its_tree_can_be_shared(harbour: Harbour) -> None:
    _, one = exported(harbour.page, scope="row", row_id=harbour.image)
    _, tree = exported(harbour.page, scope="tree", row_id=harbour.right, compare=f"t1:{harbour.left}")

    assert list(one["rows"]) == [harbour.image]
    assert list(one["blobs"].values()) == ["data:image/png;base64,iVBORw0KGgo="]
    assert len(tree["rows"]) == 5
    assert tree["compare"]["diff"]["added"] == 1
    assert all(run["items"] for run in tree["compare"]["diff"]["runs"])


def test_secrets_are_masked_unless_that_is_switched_off(small_store: weft.Store, tmp_path: Path) -> None:
    """K-01, K-03: an exported file leaves the machine."""
    call = [{"type": "tool_use", "id": "c", "name": "f", "input": {"key": KEY}}]
    small_store.add_turn(f"my key is {KEY}, keep it")
    small_store.add_turn(f"{'far ' * 40}{KEY}", respond=True)  # cut in the middle of the key where it is one line
    paper = tmp_path / f"{KEY}.txt"
    paper.write_text("six metres")
    document = small_store.document(paper).id
    small_store.add_turn("read it", continues=document, bookmark=f"with {KEY}")
    turn = small_store.add_turn(call, json=True, role="assistant", respond=True).id
    source = ThreadsSource("t1", "threads", small_store)
    source.problems.append(f"line 3 is no record: {KEY}")
    with running_viewer([source]) as page:
        masked, data = exported(page, scope="source", row_id=turn)
        whole, open_data = exported(page, scope="source", redact=False)

    assert KEY[:20] not in masked
    assert data["redactions"] > 0
    assert ["with [redacted:anthropic]"] in [row["bookmarks"] for row in data["graph"]["rows"]]
    assert data["source"]["problems"] == ["line 3 is no record: [redacted:anthropic]"]
    assert "keep it" in masked
    assert KEY in whole
    assert (open_data["is_redacted"], open_data["redactions"]) == (False, 0)


def test_no_text_can_end_the_data_it_is_in(small_store: weft.Store) -> None:
    """W-07: in the exported file, too."""
    small_store.add_turn("</script><script>alert(1)</script><!-- \u2028")
    with running_viewer([ThreadsSource("t1", "</title><script>x", small_store)]) as page:
        text, data = exported(page, scope="source")

    assert text.count("<script") == 2
    assert "\u2028" not in text
    assert [message["content"] for message in data["messages"].values()] == [
        "</script><script>alert(1)</script><!-- \u2028"
    ]


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"scope": "all"}, 400),
        ({"scope": "row"}, 404),
        ({"scope": "row", "row_id": "none"}, 404),
        ({"scope": "source", "source_id": "none"}, 404),
        ({"scope": "source", "source_id": "../x"}, 404),
    ],
)
def test_what_cannot_be_shared_is_refused(harbour: Harbour, wanted: dict[str, Any], status: int) -> None:
    answer = harbour.page.client.post("/api/export", json={"source_id": "t1", **wanted})

    assert answer.status_code == status


def test_a_file_that_would_be_too_large_is_refused(small_store: weft.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.web import export

    turns = [small_store.add_turn("x", respond=bool(n)).id for n in range(4)]
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        for name in ("_MOST_ROWS", "_MOST_BYTES"):
            with monkeypatch.context() as less:
                less.setattr(export, name, 2)
                answer = page.client.post("/api/export", json={"source_id": "t1", "scope": "source"})

            assert answer.status_code == 413
    assert len(turns) == 4


def said_by(rows: dict[str, Any], row_id: str) -> list[str]:
    """Put together what a row sent, as the page does (viewer/src/api/history.ts)."""
    row = rows[row_id]
    above = row["against_id"]
    before = row["before"] or ([*said_by(rows, above), *rows[above]["answered"]] if above is not None else [])
    return [*before[: row["kept"]], *row["more"]]


@pytest.mark.parametrize("seed", [3, 4])
def test_a_file_has_each_history_once_and_whole(seed: int, tmp_path: Path) -> None:
    """What a row sent and how that differs from its parent follow from what is in the file, forks included."""
    path = write_trace(tmp_path / "t.jsonl", agent_records(60, seed, rewinds=0.3))
    source = open_recorded("t1", path)
    while source.is_loading:
        source.poll()
    with running_viewer([source]) as page:
        text, data = exported(page, scope="source", redact=False)
        views = {row["id"]: page.get(f"/api/sources/t1/rows/{row['id']}") for row in data["graph"]["rows"]}
        lists = {row: page.get(f"/api/sources/t1/rows/{row}/diff?start=0&count=10000")["items"] for row in views}

    rows = data["rows"]
    assert any(["deleted", 1] in row["runs"] for row in rows.values())
    for row_id, view in views.items():
        sent = [item["message"]["id"] for item in lists[row_id] if item["op"] != "deleted"]
        assert said_by(rows, row_id) == sent
        assert rows[row_id]["runs"] == [[run["op"], run["count"]] for run in view["diff"]["runs"]]
        assert rows[row_id]["header"] == view["header"]
        assert [data["heads"][each] for each in rows[row_id]["answered"]] == view["response"]
        assert len(rows[row_id]["tools"]) == view["tools"]
    assert len(text) < 2 * path.stat().st_size + 1_000_000


def test_a_row_alone_brings_what_it_is_compared_with(harbour: Harbour) -> None:
    """What its parent had is in the file although the parent is not: deleted messages and all."""
    _, data = exported(harbour.page, scope="row", row_id=harbour.left)
    view = harbour.page.get(f"/api/sources/t1/rows/{harbour.left}")

    [row] = data["rows"].values()
    assert row["against_id"] == harbour.answer
    assert len(row["before"]) == row["kept"] == 4
    assert row["runs"] == [[run["op"], run["count"]] for run in view["diff"]["runs"]]
    assert set(row["before"]) < data["messages"].keys()
    assert row["tools_before"] == []


def test_a_file_may_have_thousands_of_rows(tmp_path: Path) -> None:
    """A long recording is shared whole, at the cost of what is new in each request."""
    said = [{"role": "user", "content": f"depth at pier {number}?"} for number in range(2_100)]
    records = [openai(*said[max(0, number - 5) : number + 1], at=number) for number in range(2_100)]
    path = write_trace(tmp_path / "t.jsonl", records)
    source = open_recorded("t1", path)
    while source.is_loading:
        source.poll()
    with running_viewer([source]) as page:
        answer = page.client.post("/api/export", json={"source_id": "t1", "scope": "source"}, timeout=60)

    assert answer.status_code == 200
    assert len(answer.content) < 8_000_000
