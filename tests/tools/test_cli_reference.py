from __future__ import annotations

from tools.cli_reference import PAGE, page


def test_the_reference_of_commands_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/reference/cli.md is stale: make fix"
