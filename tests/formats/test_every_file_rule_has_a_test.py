from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = ("test_wire_files.py", "test_stf.py")
DOCSTRINGS = "\n".join(re.findall(r'"""(.*?)"""', "\n".join((HERE / name).read_text() for name in FILES), re.DOTALL))
NAMED = set(re.findall(r"\bW-\d+\b", DOCSTRINGS))


@pytest.mark.parametrize("rule", [f"W-{number}" for number in range(36, 66)])
def test_every_rule_is_named_by_a_test(rule: str) -> None:
    """Of message-codecs.md sections 7 and 8, in the docstring of a test."""
    assert rule in NAMED
