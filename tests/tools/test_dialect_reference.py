"""The page of dialects says what the code does."""

from __future__ import annotations

from tools.dialect_reference import PAGE, page


def test_the_page_of_dialects_is_what_the_code_does() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/reference/dialects.md is stale: make fix"
