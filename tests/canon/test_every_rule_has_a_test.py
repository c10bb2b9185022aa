from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def told_by(path: Path) -> str:
    """The names and docstrings of the tests in a file."""
    functions = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test_")]
    return "\n".join(f"{test.name} {ast.get_docstring(test)}" for test in tests)


TOLD = "\n".join(told_by(path) for folder in (".", "canon", "blobs") for path in (TESTS / folder).glob("test_*.py"))
NAMED = {f"{letter}-{number}" for letter, number in re.findall(r"\b([A-Z])-(\d+)\b", TOLD)} | {
    f"{letter.upper()}-{number}" for letter, number in re.findall(r"test_([a-z])(\d+)_", TOLD)
}


@pytest.mark.parametrize(
    "rule",
    [
        *(f"M-{number}" for number in range(1, 41)),
        *(f"W-{number}" for number in range(30, 36)),
        *(f"T-{number}" for number in (2, 5, 6, 7, 8, 9)),
        *(f"B-{number:02}" for number in range(1, 12)),
        *(f"J-{number:02}" for number in (1, 2, 3, 5, 6, 7)),
    ],
)
def test_every_rule_is_named_by_a_test(rule: str) -> None:
    """In its docstring, or in its name as `w30`."""
    assert rule in NAMED
