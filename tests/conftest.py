"""What every test may use: the real components, and nothing of the developer's own home or environment."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from tests.support.components import COMPONENTS, require
from tests.support.postgres import (
    postgres,
    postgres_database,
    postgres_store_database,
    postgres_store_url,
    postgres_url,
)

__all__ = [
    "postgres",
    "postgres_database",
    "postgres_store_database",
    "postgres_store_url",
    "postgres_url",
]

NEEDS = {"needs_postgres": "postgres", "needs_chromium": "chromium", "corpus": "corpus"}

# A shared 2-core machine may pause any example for longer than hypothesis' default of 200 ms. `thorough` is for soaks.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("WEFT_HYPOTHESIS", "default"))

# Started in the background, a shell has its children ignore ctrl-c, and they hand that on; tests that stop a program
# with it need it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, component in NEEDS.items():
        if item.get_closest_marker(marker) is not None:
            require(component)


@pytest.fixture(autouse=True)
def _nothing_of_the_developers_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep stores, settings and keys of whoever runs the tests out of them, and the tests out of those."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or (name.startswith("WEFT_") and name not in ("WEFT_CORPUS", "WEFT_TEST_REQUIRE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WEFT_HOME", str(tmp_path_factory.getbasetemp() / "weft-home"))
    monkeypatch.setenv("NO_COLOR", "1")


def pytest_report_header() -> list[str]:
    return [f"{name}: {part.find() or 'not found'}" for name, part in COMPONENTS.items()]
