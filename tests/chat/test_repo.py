"""`prep gr`: files of a repository as one element (threads.md, section 12)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from weft.chat import repo_context
from weft.chat.repo import BINARY, CAVEATS


def test_t66_the_facts_come_in_order(tmp_path: Path) -> None:
    """T-66: type, path, origin, caveats, and instructions only if given."""
    plain = repo_context(tmp_path, [], origin="git@example.org:tides.git")
    told = repo_context(tmp_path, [], instructions="Read it.")

    assert plain == (
        f'<context type="git-repo" path="{tmp_path}" origin="git@example.org:tides.git" '
        f'caveats="{CAVEATS.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}">\n</context>'
    )
    assert list(ET.fromstring(told).attrib) == ["type", "path", "origin", "caveats", "instructions"]  # noqa: S314


def test_t67_files_stand_in_the_order_given_and_nothing_is_added(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("if a < b: pass\n")
    (tmp_path / "a.py").write_text("x")

    lines = repo_context(tmp_path, ["b.py", "a.py", "./a.py"])

    assert lines.partition("\n")[2] == (
        '<file name="b.py">if a &lt; b: pass\n</file>\n<file name="a.py">x</file>\n'
        '<file name="./a.py">x</file>\n</context>'
    )


def test_t68_escaping_is_minimal(tmp_path: Path) -> None:
    """T-68: & < > in text; in attributes the delimiting quote too."""
    text = "a & b < c > d \"quoted\" 'too'"
    (tmp_path / 'q"<.txt').write_text(text)

    written = repo_context(tmp_path, ['q"<.txt'])

    assert '<file name="q&quot;&lt;.txt">a &amp; b &lt; c &gt; d "quoted" \'too\'</file>' in written
    assert ET.fromstring(written)[0].text == text  # noqa: S314


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", None])
def test_t69_what_is_no_text_is_said_to_be_binary(tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / "logo.bin").write_bytes(data)

    assert f'<file name="logo.bin">{BINARY}</file>' in repo_context(tmp_path, ["logo.bin"])


def test_t69_another_way_to_read_may_be_given(tmp_path: Path) -> None:
    assert '<file name="a">A!</file>' in repo_context(tmp_path, ["a"], content=lambda path: f"{path.name.upper()}!")


def test_t70_without_an_origin_the_attribute_is_empty(tmp_path: Path) -> None:
    assert ' origin="" ' in repo_context(tmp_path, [])
