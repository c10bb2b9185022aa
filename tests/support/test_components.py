from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.outcomes import Failed, Skipped

from tests.support.components import COMPONENTS, require

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEFT_CORPUS", str(tmp_path))
    monkeypatch.delenv("WEFT_TEST_REQUIRE", raising=False)


@pytest.mark.usefixtures("no_corpus")
def test_a_missing_component_skips_and_says_what_to_do() -> None:
    with pytest.raises(Skipped, match="corpus not found: set WEFT_CORPUS"):
        require("corpus")


@pytest.mark.parametrize("wanted", ["all", "postgres,corpus"])
@pytest.mark.usefixtures("no_corpus")
def test_a_missing_component_fails_when_it_is_required(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("WEFT_TEST_REQUIRE", wanted)

    with pytest.raises(Failed, match="WEFT_TEST_REQUIRE"):
        require("corpus")


@pytest.mark.usefixtures("no_corpus")
def test_a_component_that_is_there_is_returned(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text("")

    assert require("corpus") == COMPONENTS["corpus"].find() == tmp_path
