"""What the command line hands to the viewer: who can be called, a chat, prices, requests to paste."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.support.chatting import CLAUDE
from tests.support.sim import running_simulator
from weft import config
from weft.cli.viewing import chat_opener, choices_of, planner, pricing
from weft.sim import Simulator
from weft.tools import Server, register
from weft.web import Asked, Verdict


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[weft.Store]:
    for name, value in {"WEFT_HOME": str(tmp_path / "home"), **simulator.environment()}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with weft.open_store() as opened:
        yield opened


def answered(store: weft.Store, turn_id: str, verdict: Verdict) -> tuple[Any, list[Asked], list[str]]:
    """Have a turn processed as a run of the page would; every tool call gets the same verdict."""
    asked: list[Asked] = []
    said: list[str] = []

    async def ask(question: Asked) -> Verdict:
        asked.append(question)
        return verdict

    async def run() -> Any:
        async with chat_opener(store)(
            on_event=lambda _: None, on_turn=lambda _: None, say=said.append, ask=ask
        ) as chat:
            return await chat.process(turn_id, model=CLAUDE)

    return asyncio.run(run()), asked, said


def test_a_run_uses_the_servers_of_this_place_and_asks_about_each_call(store: weft.Store) -> None:
    """M-12: the call is shown in full and runs when someone agrees."""
    command = (sys.executable, "-m", "weft.cli.demo_tools")
    register(config.config_folder() / "config.toml", Server(name="harbour", command=command))
    turn = store.add_turn('[[tool harbour___depth {"pier": 4}]] How deep?', servers=["harbour"])

    outcome, asked, _ = answered(store, turn.id, Verdict("yes"))

    assert outcome.stopped == ""
    assert [(each.tool, each.server, each.arguments) for each in asked] == [("depth", "harbour", '{"pier":4}')]
    assert "harbour" in asked[0].text
    assert any("6.2 m at pier 4" in each.text for each in outcome.turn.thread.turns)


def test_a_projects_server_is_not_started_from_a_page(store: weft.Store) -> None:
    """M-01: consent is given at a terminal, where the command is shown; a page cannot give it."""
    Path(".mcp.json").write_text('{"mcpServers": {"evil": {"command": "touch", "args": ["started"]}}}')
    turn = store.add_turn("Hello", servers=["evil"])

    _, _, said = answered(store, turn.id, Verdict("yes"))

    assert any("agree to it in a terminal" in line for line in said)
    assert not Path("started").exists()


def test_who_can_be_asked_is_listed_those_with_a_key_first(store: weft.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_MODEL", CLAUDE)
    (config.config_folder() / "config.toml").write_text('[pointers]\nkilo = "openai/gpt-5.2"\n')
    Path(".mcp.json").write_text('{"mcpServers": {"sonar": {"command": "ping", "args": ["pier 4"]}}}')

    choices = choices_of(store)()

    assert [(each["name"], each["has_key"]) for each in choices["providers"][:2]] == [(CLAUDE, True), ("kilo", True)]
    keyed = [each["has_key"] for each in choices["providers"][2:]]
    assert keyed == sorted(keyed, reverse=True)
    assert [each["name"] for each in choices["servers"]] == ["sonar"]
    assert "ping" in choices["servers"][0]["shown"]


def test_a_thread_becomes_the_request_it_would_be_without_its_key(store: weft.Store) -> None:
    """K-01: the variable's name stands for the key."""
    turn = store.add_turn("Hello", provider_ptr=CLAUDE)

    request = planner(store)(store.resolve(turn.id))

    assert request.url.endswith("/v1/messages")
    assert (request.key, request.key_header[0]) == ("ANTHROPIC_API_KEY", "x-api-key")
    assert request.body["messages"][0]["role"] == "user"
    assert "x-api-key" not in {name.lower() for name in request.headers}
    with pytest.raises(weft.UsageError, match="nobody is named"):
        planner(store)({"messages": [], "options": {}})


def test_prices_are_known_where_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft import providers

    price = pricing()
    assert price is not None
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}

    assert (price("anthropic", "claude-sonnet-4-5", usage, 1_790_000_000_000) or 0) > 0
    assert price("anthropic", "no-such-model", usage, 1_790_000_000_000) is None
    assert price("anthropic", "claude-sonnet-4-5", usage, 10**18) is None
    monkeypatch.setattr(providers, "have_prices", lambda: False)
    assert pricing() is None
