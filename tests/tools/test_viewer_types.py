from __future__ import annotations

from typing import Any

import pytest

from tools.viewer_types import FILE, text, typescript


def test_the_types_of_the_viewer_are_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "viewer/src/api/types.gen.ts is stale: make fix"


@pytest.mark.parametrize(
    ("hint", "written"),
    [
        (str, "string"),
        (int | None, "number | null"),
        (list[str], "string[]"),
        (list[int | None], "(number | null)[]"),
        (list[tuple[int, int]], "[number, number][]"),
        (dict[str, float], "Record<string, number>"),
    ],
)
def test_a_type_is_written_as_the_page_reads_it(hint: Any, written: str) -> None:
    assert typescript(hint, {}, {}) == written


def test_a_type_the_page_has_no_form_for_is_an_error() -> None:
    with pytest.raises(TypeError, match="no TypeScript form"):
        typescript(set[str], {}, {})
