"""What the tests of `weft ask` and `weft chat` share: a simulator, and the environment that leads to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.sim import running_simulator
from weft.sim import Simulator

__all__ = ["CLAUDE", "GEMINI", "GPT", "sim", "simulator"]

CLAUDE, GEMINI, GPT = "anthropic/claude-sonnet-4-6", "gemini/gemini-3-pro-preview", "openai/gpt-5.2"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture
def sim(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """A simulator to which every provider's address leads, in this process and those it starts."""
    simulator.seen.clear()
    for name, value in simulator.environment().items():
        monkeypatch.setenv(name, value)
    return simulator
