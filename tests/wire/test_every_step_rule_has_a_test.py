from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = ("test_messages.py", *(path.name for path in sorted(HERE.glob("test_steps*.py"))), "test_step_streams.py")
DOCSTRINGS = "\n".join(re.findall(r'"""(.*?)"""', "\n".join((HERE / name).read_text() for name in FILES), re.DOTALL))
NAMED = set(re.findall(r"\b[RW]-\d+\b", DOCSTRINGS))


@pytest.mark.parametrize("rule", ["R-3", "R-11", "R-12", *(f"W-{number}" for number in range(1, 36))])
def test_every_rule_is_named_by_a_test(rule: str) -> None:
    """Of message-codecs.md sections 1 to 6, in the docstring of a test."""
    assert rule in NAMED
