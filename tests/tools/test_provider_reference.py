from __future__ import annotations

from tools.provider_reference import PAGE, page


def test_the_reference_of_providers_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/reference/providers.md is stale: make fix"
