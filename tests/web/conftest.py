"""A store with two branches and a document, and the viewer over it, shared by the tests that only look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import weft
from tests.support.viewing import Page, running_viewer
from weft.web import ThreadsSource

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")


class Harbour(NamedTuple):
    """Some turns of a store: a question, its answer, two ways on, a document, an image."""

    page: Page
    question: str
    answer: str
    left: str
    right: str
    joined: str
    document: str
    image: str


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    folder = tmp_path_factory.mktemp("harbour")
    with weft.open_store(folder / "store") as store:
        question = store.add_turn("How deep is it?", bookmark="pier", provider_ptr="kilo").id
        blocks = [
            {"type": "thinking", "thinking": "The sonar knows."},
            {"type": "text", "text": "I ask."},
            {"type": "tool_use", "id": "c1", "name": "depth", "input": {"pier": 4, "big": 2**70}},
        ]
        answer = store.add_turn(blocks, json=True, role="assistant", continues="pier").id
        result = [
            {
                "type": "tool_result",
                "name": "depth",
                "tool_use_id": "c1",
                "is_error": True,
                "content": [{"type": "text", "text": "no\u202e sonar"}, {"type": "image"}, {"type": "x"}],
            }
        ]
        left = store.add_turn(result, json=True, continues=answer, bookmark="doubt").id
        right = store.add_turn("Are you sure?", continues=answer, bookmark="sure").id
        joined = store.merge(left, right).id
        page_file = folder / "evil.html"
        page_file.write_text("<script>alert(1)</script>")
        with pytest.warns(UserWarning, match="html"):
            document = store.document(page_file).id
        png = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        image = store.add_turn([{"type": "image", "source": png}], json=True).id
        with running_viewer([ThreadsSource("t1", "threads", store)]) as page:
            yield Harbour(page, question, answer, left, right, joined, document, image)


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[weft.Store]:
    with weft.open_store(tmp_path / "store") as store:
        yield store
