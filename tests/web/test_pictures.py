"""Pictures inside recordings and tools' results: shown out of what was recorded, and out of nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import weft
from tests.support.traces import claude, gemini, openai
from tests.support.viewing import Page, running_viewer
from weft.web import ThreadsSource, open_recorded

PNG = b"\x89PNG\r\n\x1a\n" + Random(1).randbytes(40)
OTHER = b"\xff\xd8\xff\xe0" + Random(2).randbytes(40)
DATA = base64.b64encode(PNG).decode()
SOURCE = {"type": "base64", "media_type": "image/png", "data": DATA}


@contextmanager
def shown(path: Path, *records: Any) -> Iterator[Page]:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    source = open_recorded("f1", path)
    while source.is_loading:
        source.poll()
    with running_viewer([source]) as page:
        yield page


def heads_of(page: Page, row: str, source: str = "f1") -> list[dict[str, Any]]:
    view = page.get(f"/api/sources/{source}/rows/{row}")
    return [*(item["message"] for run in view["diff"]["runs"] for item in run["items"]), *view["response"]]


URL = {"url": f"data:image/png;base64,{DATA}"}
INLINE = {"mimeType": "image/png", "data": base64.urlsafe_b64encode(PNG).decode()}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "image", "source": SOURCE}]}
CASES = {
    "claude": claude({"role": "user", "content": [{"type": "image", "source": SOURCE}]}),
    "a tool's, claude": claude({"role": "user", "content": [RESULT]}),
    "openai": openai({"role": "user", "content": [{"type": "image_url", "image_url": URL}]}),
    "a tool's, openai": openai(
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image_url", "image_url": URL}]}
    ),
    "gemini": gemini({"role": "user", "parts": [{"text": "See "}, {"inlineData": INLINE}]}),
    "an answer, gemini": gemini(
        {"role": "user", "parts": [{"text": "Draw."}]},
        response={"candidates": [{"content": {"role": "model", "parts": [{"inlineData": INLINE}]}}]},
    ),
    "ollama": openai({"role": "user", "content": "See", "images": [DATA]}, path="/api/chat"),
    "responses": {
        "id": "q",
        "path": "/v1/responses",
        "request": {
            "model": "m",
            "input": [{"role": "user", "content": [{"type": "input_image", "image_url": URL["url"]}]}],
        },
        "response": None,
    },
    "bedrock": {
        "id": "q",
        "path": "/model/m/converse",
        "request": {
            "messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": DATA}}}]}]
        },
        "response": None,
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_picture_that_a_request_carries_is_shown(case: str, tmp_path: Path) -> None:
    """W-09: in every dialect, with its bytes as they were and the type that it says, if that is safe to show."""
    with shown(tmp_path / "t.jsonl", CASES[case]) as page:
        [blob] = [blob for head in heads_of(page, "r0") for blob in head["blobs"]]
        answer = page.client.get(f"/api/sources/f1/blobs/{blob['id']}")

    assert blob["is_image"] is True
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, PNG, "image/png")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_two_pictures_are_two_pictures(tmp_path: Path) -> None:
    """G-10: also in one result, and in a later request that has the first in its history."""
    other = {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(OTHER).decode()}
    images = [{"type": "image", "source": SOURCE}, {"type": "text", "text": "and"}, {"type": "image", "source": other}]
    first = {"role": "user", "content": [{"type": "image", "source": SOURCE}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": images}]}
    with shown(tmp_path / "t.jsonl", claude(first, at=1), claude(first, result, at=2)) as page:
        blobs = [blob["id"] for head in heads_of(page, "r1") for blob in head["blobs"]]
        first_ones = [blob["id"] for head in heads_of(page, "r0") for blob in head["blobs"]]
        found = [page.client.get(f"/api/sources/f1/blobs/{blob}").content for blob in (*first_ones, *blobs)]

    assert found == [PNG, PNG, OTHER]


HOSTILE = {
    "svg": ({"type": "base64", "media_type": "image/svg+xml", "data": base64.b64encode(b"<svg/>").decode()}, 200),
    "html": ({"type": "base64", "media_type": "text/html", "data": base64.b64encode(b"<script>").decode()}, 200),
    "a lie": ({"type": "base64", "media_type": "image/png; x=<b>", "data": base64.b64encode(b"<svg/>").decode()}, 200),
    "no base64": ({"type": "base64", "media_type": "image/png", "data": "%%%"}, 404),
    "an address": ({"type": "url", "url": "https://example.org/x.png"}, 404),
    "a file": ({"type": "file", "file_id": "../../etc/passwd"}, 404),
    "nothing": (None, 404),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_picture_never_comes_as_one(case: str, tmp_path: Path) -> None:
    """W-08, W-09: what is not on the list only downloads, under nosniff; an address is never fetched."""
    source, status = HOSTILE[case]
    with shown(
        tmp_path / "t.jsonl", claude({"role": "user", "content": [{"type": "image", "source": source}]})
    ) as page:
        [blob] = [blob for head in heads_of(page, "r0") for blob in head["blobs"]]
        answer = page.client.get(f"/api/sources/f1/blobs/{blob['id']}")

    assert answer.status_code == status
    if status == 200:
        is_png = answer.headers["content-type"] == "image/png"
        assert is_png is (case == "a lie")  # pixels or nothing: an <img> runs no script, and nothing is sniffed
        assert answer.headers["content-disposition"].startswith("inline" if is_png else "attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("blob", ["m0", "m0.1", "m0.x", "m9.0", "x", "m0.0.0", "m-1.0", "m99999999999999.0"])
def test_a_blob_that_is_not_there_is_not_found(blob: str, tmp_path: Path) -> None:
    record = claude({"role": "user", "content": [{"type": "image", "source": SOURCE}]})
    with shown(tmp_path / "t.jsonl", record) as page:
        assert page.refused(f"/api/sources/f1/blobs/{blob}") == (404, "not_found")


def test_words_that_look_like_a_placeholder_are_words(tmp_path: Path) -> None:
    with shown(tmp_path / "t.jsonl", claude({"role": "user", "content": "[image]"})) as page:
        assert heads_of(page, "r0")[0]["blobs"] == []


def test_pictures_that_a_tool_gave_to_a_thread_are_shown(small_store: weft.Store) -> None:
    """W-09: as an MCP server gives them, and as Claude takes them."""
    content = [
        {"type": "text", "text": "two"},
        {"type": "image", "mimeType": "image/png", "data": DATA},
        {"type": "image", "source": SOURCE},
    ]
    turn = small_store.add_turn(
        [{"type": "tool_result", "name": "f", "tool_use_id": "c", "content": content}], json=True
    )
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        [head] = heads_of(page, turn.id, "t1")
        answers = [page.client.get(f"/api/sources/t1/blobs/{blob['id']}") for blob in head["blobs"]]

    assert head["gist"].replace("\n", " ") == "two [image] [image]"
    assert [blob["size_bytes"] for blob in head["blobs"]] == [len(PNG)] * 2
    assert [(answer.content, answer.headers["content-type"]) for answer in answers] == [(PNG, "image/png")] * 2


def test_base64_that_is_none_is_not_found(small_store: weft.Store) -> None:
    """J-06: kept as given, and no fault of the server's."""
    source = {"type": "base64", "media_type": "image/png", "data": "a"}
    turn = small_store.add_turn([{"type": "image", "source": source}], json=True)
    with running_viewer([ThreadsSource("t1", "threads", small_store)]) as page:
        [head] = heads_of(page, turn.id, "t1")

        assert page.refused(f"/api/sources/t1/blobs/{head['blobs'][0]['id']}") == (404, "not_found")


def test_an_exported_file_has_the_pictures_of_its_requests(tmp_path: Path) -> None:
    """W-13: they are in the file, and nothing else is asked for; what is no picture stays out."""
    evil = {"type": "base64", "media_type": "image/svg+xml", "data": base64.b64encode(b"<svg/>").decode()}
    blocks = [{"type": "image", "source": SOURCE}, {"type": "image", "source": evil}]
    with shown(tmp_path / "t.jsonl", claude({"role": "user", "content": blocks})) as page:
        answer = page.client.post("/api/export", json={"source_id": "f1", "scope": "source"})

    assert answer.status_code == 200
    assert answer.text.count(f"data:image/png;base64,{DATA}") == 1
    assert "image/svg" not in answer.text
