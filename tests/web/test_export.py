"""Sharing: one HTML file, redacted unless asked otherwise, that needs no server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

import weft
from tests.support.viewing import Page, running_viewer
from tests.web.conftest import Harbour
from weft.web import ThreadsSource

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
    assert data["format"] == "weft-export-1"
    assert len(data["graph"]["rows"]) == len(data["views"]) == 7
    assert data["is_redacted"] is True


def test_a_file_holds_every_message_it_shows(harbour: Harbour) -> None:
    _, data = exported(harbour.page, scope="branch", row_id=harbour.left)

    shown = [item["message"]["id"] for run in data["views"][harbour.left]["diff"]["runs"] for item in run["items"]]
    assert len(shown) == 5
    assert set(shown) <= data["messages"].keys()
    assert [row["id"] for row in data["graph"]["rows"]] == [harbour.question, harbour.answer, harbour.left]
    assert (data["selected_id"], data["source"]["rows"]) == (harbour.left, 3)


def test_one_row_or_its_tree_can_be_shared(harbour: Harbour) -> None:
    _, one = exported(harbour.page, scope="row", row_id=harbour.image)
    _, tree = exported(harbour.page, scope="tree", row_id=harbour.right, compare=f"t1:{harbour.left}")

    assert list(one["views"]) == [harbour.image]
    assert list(one["blobs"].values()) == ["data:image/png;base64,iVBORw0KGgo="]
    assert len(tree["views"]) == 5
    assert tree["compare"]["diff"]["added"] == 1
    assert all(run["items"] for run in tree["compare"]["diff"]["runs"])


def test_secrets_are_masked_unless_that_is_switched_off(small_store: weft.Store) -> None:
    """K-01, K-03: an exported file leaves the machine."""
    call = [{"type": "tool_use", "id": "c", "name": "f", "input": {"key": KEY}}]
    small_store.add_turn(f"my key is {KEY}, keep it")
    small_store.add_turn(f"{'far ' * 40}{KEY}", respond=True)  # cut in the middle of the key where it is one line
    turn = small_store.add_turn(call, json=True, role="assistant", respond=True).id
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        masked, data = exported(page, scope="source", row_id=turn)
        whole, open_data = exported(page, scope="source", redact=False)

    assert KEY[:20] not in masked
    assert data["redactions"] > 0
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
        for name in ("_MOST_ROWS", "_MOST_ITEMS", "_MOST_BYTES"):
            with monkeypatch.context() as less:
                less.setattr(export, name, 2)
                answer = page.client.post("/api/export", json={"source_id": "t1", "scope": "source"})

            assert answer.status_code == 413
    assert len(turns) == 4
