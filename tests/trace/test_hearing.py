"""Answers under way, heard from a recorder's journal while another reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.recordings import Agent
from tests.support.sim import running_simulator
from weft.sim import Simulator
from weft.trace import Heard, Hearing


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


def heard_during(simulator: Simulator, path: Path, prompt: str) -> list[Heard]:
    """Ask, and listen at the journal as the answer is read."""
    agent = Agent(simulator, path)
    hearing = Hearing(path.with_name(f"{path.name}.journal"))
    heard: list[Heard] = []
    with agent.stream(prompt) as answer:
        for _ in answer.iter_bytes():
            heard += hearing.poll()
    agent.close()
    return heard + hearing.poll()


def test_thinking_words_and_calls_are_heard_as_they_come(tmp_path: Path, simulator: Simulator) -> None:
    prompt = '[[slow 120ms]] [[think It is deep here]] [[tool depth {"pier": 4}]] How deep is it?'

    heard = heard_during(simulator, tmp_path / "run.jsonl", prompt)

    assert heard[0].what == "begun"
    assert (heard[0].model, heard[0].text.endswith("How deep is it?")) == ("claude-sonnet-4-6", True)
    assert heard[-1].what == "ended"
    assert len({each.id for each in heard}) == 1
    assert "It is deep here".startswith("".join(each.text for each in heard if each.what == "thinking"))
    assert {each.name for each in heard if each.what == "tool_use"} <= {"depth"}
    assert {"thinking", "tool_use"} & {each.what for each in heard}


def test_what_is_no_stream_of_a_model_is_only_begun_and_ended(tmp_path: Path) -> None:
    """An error, a body that is no JSON, a part that is damaged: nothing is told of them, and nothing falls over."""
    journal = tmp_path / "journal" / "1-ab"
    journal.mkdir(parents=True)
    (journal / "torn.part").write_bytes(b"\x00\x00\x00\x00\xffnot all of it")
    (journal / "empty.part").touch()
    hearing = Hearing(tmp_path / "journal")

    assert hearing.poll() == []
    (journal / "torn.part").unlink()
    assert hearing.poll() == []
    assert Hearing(tmp_path / "nothing").poll() == []
