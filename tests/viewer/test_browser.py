"""The viewer in a real browser, over the real server and real recordings. Scenarios are sentences in browser/*.mjs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

BROWSER = Path(__file__).with_name("browser")


def scenarios_of(*files: Path) -> list[str]:
    """The sentences of the scenarios, read from where they stand."""
    pattern = re.compile(r'^  "((?:[^"\\]|\\.)+)": (?:\{|looks\()', re.MULTILINE)
    return [name for file in files for name in pattern.findall(file.read_text(encoding="utf-8"))]


FILES = sorted(BROWSER.glob("*.mjs"))
SCENARIOS = scenarios_of(*(file for file in FILES if file.stem != "scale"))


@pytest.mark.needs_chromium
@pytest.mark.timeout(500)
@pytest.mark.xdist_group("viewer")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_page_does_it_in_a_browser(scenario: str, results: dict[str, Any]) -> None:
    found = results[scenario]

    assert found["ok"], found["error"]


@pytest.mark.needs_chromium
@pytest.mark.timeout(500)
@pytest.mark.xdist_group("viewer")
def test_no_scenario_goes_unnoticed(results: dict[str, Any]) -> None:
    """The sentences are read with a pattern; one that it misses would never be looked at."""
    assert sorted(results) == sorted(SCENARIOS)
