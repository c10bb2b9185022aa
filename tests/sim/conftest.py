"""A simulator for each test, and a fixed set of things to ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sim import clients
from tests.support.sim import running_simulator
from weft.sim import Simulator

__all__ = ["clients", "sim"]  # the clients first: what they warn about when imported is kept from the tests


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with running_simulator() as simulator:
        yield simulator
